/**
 * `/v2/jobs`: sequences that nobody waits for.
 *
 * @module
 */
import type { Engine } from "../engine/api.ts";
import type { Job } from "../jobs/job.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { AdminGuard } from "./admin.ts";
import { readSmallBody } from "./json_body.ts";
import { decodeJobRequest } from "./jobs_request.ts";
import type { Route, RouteCall } from "./router.ts";
import { jsonBody } from "./status.ts";

/** What the routes need. */
export interface JobsRoutesOptions {
  /** Knows the models. */
  readonly engine: Engine;
  /** What is asked about. */
  readonly jobs: Jobs;
  /** Who may submit, pause, resume and cancel. */
  readonly guard: AdminGuard;
  /** Largest request body. */
  readonly maxBodyBytes: number;
}

/** All of them. Reading is anybody's; changes need admin rights. */
export function jobsRoutes({ engine, jobs, guard, maxBodyBytes }: JobsRoutesOptions): Route[] {
  const submit = async ({ request, info }: RouteCall) => {
    guard(request, info);
    const body = await readSmallBody(request, maxBodyBytes);
    const asked = decodeJobRequest(body, engine);
    return jsonBody(withCurves(await jobs.submit(asked.request, asked.resumeFrom)), 201);
  };
  const show = ({ segments }: RouteCall) => jsonBody(withCurves(jobs.find(segments[2])));
  const changing = (change: (job: Job) => void) => (call: RouteCall) => {
    guard(call.request, call.info);
    change(jobs.find(call.segments[2]));
    return show(call);
  };
  const cancel = changing((job) => job.cancel());
  return [
    {
      methods: ["GET", "POST"],
      path: "/v2/jobs",
      handle: (call) =>
        call.request.method === "POST"
          ? submit(call)
          : jsonBody({ jobs: jobs.list().map(summary) }),
    },
    {
      methods: ["GET", "DELETE"],
      path: "/v2/jobs/:job",
      handle: (call) => call.request.method === "DELETE" ? cancel(call) : show(call),
    },
    {
      methods: ["POST"],
      path: "/v2/jobs/:job/pause",
      handle: changing((job) => job.pause()),
    },
    {
      methods: ["POST"],
      path: "/v2/jobs/:job/resume",
      handle: changing((job) => jobs.resume(job)),
    },
  ];
}

/** A job as the list shows it. */
function summary(job: Job): Readonly<Record<string, unknown>> {
  const { request, metrics, checkpoints, remainingMicros } = job;
  return {
    id: job.id,
    name: request.name,
    model: request.model,
    version: job.version === undefined ? request.version : String(job.version),
    state: job.state,
    error: job.error,
    iterations: request.iterations,
    iterations_done: job.iterationsDone,
    priority: request.priority,
    tenant: request.tenant,
    checkpoint_every: request.checkpointEvery,
    metrics: metrics.last,
    checkpoints: checkpoints?.kept ?? [],
    checkpoint_error: checkpoints?.fault,
    created_ms: job.createdMillis,
    ended_ms: job.endedMillis,
    run_seconds: job.runMicros / 1e6,
    device_seconds: job.attainedMicros / 1e6,
    remaining_seconds: remainingMicros === undefined ? undefined : remainingMicros / 1e6,
  };
}

/** A job with the curves of its metrics. */
function withCurves(job: Job): Readonly<Record<string, unknown>> {
  return { ...summary(job), curves: job.metrics.curves() };
}
