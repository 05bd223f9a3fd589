/**
 * The gateway's HTTP front end as one function: a request in, a response out.
 *
 * @module
 */
import { type Clock, SystemClock } from "../../models/clock.ts";
import type { Engine } from "../engine/api.ts";
import type { Jobs } from "../jobs/jobs.ts";
import { adminGuard } from "./admin.ts";
import { BodyBudget } from "./body_budget.ts";
import { CodecPool } from "./open_inference/codec_pool.ts";
import { infer } from "./open_inference/infer.ts";
import { inferTarget, openInferenceRoutes, type RoutesOptions } from "./open_inference/routes.ts";
import { docsRoutes } from "./docs.ts";
import { jobsRoutes } from "./jobs_routes.ts";
import { metricsRoute } from "./metrics.ts";
import { policyRoutes } from "./policy_routes.ts";
import { createRouter, rawPath, type Route } from "./router.ts";
import { errorResponder } from "./status.ts";

/** What the front end serves and how. */
export interface AppOptions {
  /** Runs the requests. */
  readonly engine: Engine;
  /** Sequences that nobody waits for. */
  readonly jobs: Jobs;
  /** Key for the routes that change anything; without one only loopback may call them. */
  readonly adminKey?: string;
  /** Largest request body in bytes, as sent and unfolded. */
  readonly maxBodyBytes: number;
  /** Bytes of all request bodies being received or answered; those up to 64 KiB are not counted. */
  readonly maxBodiesBytes: number;
  /** Answer a full queue and a passed deadline with Triton's status codes. */
  readonly tritonStatusCodes: boolean;
  /** One broken model makes the server unready. */
  readonly strictReadiness: boolean;
  /** JSON bodies from this size on are parsed in a Worker; 128 KiB when absent. */
  readonly jsonOffLoopBytes?: number;
  /** Ends request bodies that come too slowly, and times tokens; the machine's when absent. */
  readonly clock?: Clock;
}

/** The front end. Disposing it ends its Workers, which keep the process alive once started. */
export interface App extends AsyncDisposable {
  /** Answers one request; give it to `Deno.serve`. Never throws or rejects. */
  (request: Request, info: Deno.ServeHandlerInfo): Response | Promise<Response>;
}

/** Below this a Worker costs more time than it frees on the event loop. */
const JSON_OFF_LOOP_BYTES = 128 * 1024;
const CODEC_WORKERS = 2;

/** Every route of the gateway. */
export function appRoutes(options: RoutesOptions & { readonly jobs: Jobs }): readonly Route[] {
  return [
    ...openInferenceRoutes(options),
    ...policyRoutes(options),
    ...jobsRoutes(options),
    metricsRoute(options),
    ...docsRoutes(),
  ];
}

/** Makes the front end of an engine. Starts nothing. */
export function createApp(options: AppOptions): App {
  const codecs = new CodecPool(CODEC_WORKERS);
  const errorResponse = errorResponder(options.tritonStatusCodes);
  const clock = options.clock ?? new SystemClock();
  const shared = {
    engine: options.engine,
    jobs: options.jobs,
    errorResponse,
    maxBodyBytes: options.maxBodyBytes,
    bodies: new BodyBudget(options.maxBodiesBytes, clock),
    clock,
    jsonOffLoopBytes: options.jsonOffLoopBytes ?? JSON_OFF_LOOP_BYTES,
    codecs,
    guard: adminGuard(options.adminKey),
    strictReadiness: options.strictReadiness,
  };
  const route = createRouter(appRoutes(shared), errorResponse);
  const app = (request: Request, info: Deno.ServeHandlerInfo) => {
    if (request.method === "POST") {
      const target = inferTarget(rawPath(request.url));
      if (target !== undefined) return infer(request, target, shared);
    }
    return route(request, info);
  };
  return Object.assign(app, {
    [Symbol.asyncDispose]: () => Promise.resolve(codecs[Symbol.dispose]()),
  });
}
