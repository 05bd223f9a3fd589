/**
 * Watches a job to its end.
 *
 * @module
 */
import { within } from "../within.ts";
import type { GatewayClient, JobEntry } from "./gateway_client.ts";
import type { Io } from "./io.ts";
import { jobLine } from "./job_text.ts";

/** States in which a job stays. */
const OVER: readonly string[] = ["completed", "failed", "cancelled"];
const EVERY_MILLIS = 500;
/** Back to the beginning of the line, which is cleared. */
const AFRESH = "\r\x1b[K";

/**
 * Shows how a job gets on, until it has ended or a stop signal comes: in one line of a terminal,
 * elsewhere in a line for every state.
 *
 * @returns The job as it was at last.
 */
export async function followJob(
  gateway: GatewayClient,
  submitted: JobEntry,
  io: Io,
  everyMillis: number = EVERY_MILLIS,
): Promise<JobEntry> {
  const stopped = Promise.withResolvers<void>();
  using _signals = io.onStopSignal(() => stopped.resolve());
  let job = submitted;
  for (let shown = ""; !OVER.includes(job.state); shown = job.state) {
    if (io.interactive) io.err(AFRESH + jobLine(job).slice(0, io.columns - 1));
    else if (job.state !== shown) io.err(`${jobLine(job)}\n`);
    if (await within(everyMillis, stopped.promise)) break;
    const next = await Promise.race([gateway.job(job.id), stopped.promise]);
    if (next === undefined) break; // a gateway that hangs holds nobody up
    job = next;
  }
  if (io.interactive) io.err(AFRESH);
  return job;
}
