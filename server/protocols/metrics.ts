/**
 * `/metrics`.
 *
 * @module
 */
import type { Exposed } from "./metric_sources.ts";
import type { Route } from "./router.ts";

/**
 * `GET /metrics`, in Prometheus' text format. The library that writes it takes 8 MB: it is loaded
 * with the first scrape.
 */
export function metricsRoute(exposed: Exposed): Route {
  const open = async () => (await import("./exposition.ts")).openExposition(exposed);
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
