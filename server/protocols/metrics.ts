/**
 * `/metrics`.
 *
 * @module
 */
import type { Engine } from "../engine/api.ts";
import type { Route } from "./router.ts";

/**
 * `GET /metrics`, in Prometheus' text format. The library that writes it takes 8 MB: it is loaded
 * with the first scrape.
 */
export function metricsRoute(engine: Engine): Route {
  const open = async () => (await import("./exposition.ts")).openExposition(engine);
  let opening: ReturnType<typeof open> | undefined;
  return {
    methods: ["GET"],
    path: "/metrics",
    async handle() {
      const { contentType, text } = await (opening ??= open());
      return new Response(await text(), { headers: { "content-type": contentType } });
    },
  };
}
