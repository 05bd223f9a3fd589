import type { Engine } from "../engine/api.ts";
import type { Route } from "./router.ts";

/**
 * `GET /metrics`, in Prometheus' text format. The library that writes it takes 8 MB: it is loaded
 * with the first scrape.
 */
export function metricsRoute(engine: Engine): Route {
  const open = async () => (await import("./exposition.ts")).openRegistry(engine);
  let opening: ReturnType<typeof open> | undefined;
  return {
    methods: ["GET"],
    path: "/metrics",
    async handle() {
      const registry = await (opening ??= open());
      return new Response(await registry.metrics(), {
        headers: { "content-type": registry.contentType },
      });
    },
  };
}
