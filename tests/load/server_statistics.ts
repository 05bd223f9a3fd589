/**
 * What the server says of the same requests: Triton's statistics before and after a run.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import type { Target } from "./target.ts";

/** Counts that only grow, of one model. */
export interface ServerCounters {
  /** Requests answered. */
  readonly requests: number;
  /** Iterations run. */
  readonly iterations: number;
  /** Rows in them. */
  readonly rows: number;
  /** Time that requests waited. */
  readonly queueNs: number;
  /** Time that requests were in iterations. */
  readonly computeNs: number;
}

/** Means over a run, warm-up included: the server does not know of it. */
export interface ServerFigures {
  /** Requests answered. */
  readonly requests: number;
  /** Milliseconds that a request waited. */
  readonly queueMs: number;
  /** Milliseconds that a request was in its iteration. */
  readonly computeMs: number;
  /** Rows of an iteration. */
  readonly batch: number;
}

interface Duration {
  readonly count: number;
  readonly ns: number;
}

interface StatisticsRow {
  readonly name: string;
  readonly batch_stats: readonly {
    readonly batch_size: number;
    readonly compute_infer: Duration;
  }[];
  readonly inference_stats: Readonly<{ [Kind in "success" | "queue" | "compute_infer"]: Duration }>;
}

interface Statistics {
  readonly model_stats: readonly StatisticsRow[];
}

/** The counters of every model; undefined where the server has no statistics. */
export async function readCounters(
  target: Target,
): Promise<ReadonlyMap<string, ServerCounters> | undefined> {
  let rows: readonly StatisticsRow[];
  try {
    ({ model_stats: rows } = await target.get<Statistics>("/v2/models/stats"));
  } catch (error) {
    // Only the extension is missing, or the server went away in the run that is to be reported.
    if (error instanceof SluiceError) return undefined;
    throw error;
  }
  const counters = new Map<string, ServerCounters>();
  for (const { name, batch_stats, inference_stats } of rows) {
    const { success, queue, compute_infer } = inference_stats;
    const before = counters.get(name); // of another version
    // The counts beside it are of answers, and a sequence is answered once.
    const iterations = batch_stats.map(({ compute_infer }) => compute_infer.count);
    const batchRows = batch_stats.map(({ batch_size }, index) => batch_size * iterations[index]);
    counters.set(name, {
      requests: success.count + (before?.requests ?? 0),
      iterations: sum(iterations) + (before?.iterations ?? 0),
      rows: sum(batchRows) + (before?.rows ?? 0),
      queueNs: queue.ns + (before?.queueNs ?? 0),
      computeNs: compute_infer.ns + (before?.computeNs ?? 0),
    });
  }
  return counters;
}

/** What happened in between; undefined when nothing did, or the server started anew. */
export function difference(
  before: ServerCounters | undefined,
  after: ServerCounters | undefined,
): ServerFigures | undefined {
  if (before === undefined || after === undefined) return undefined;
  const requests = after.requests - before.requests;
  const iterations = after.iterations - before.iterations;
  if (requests <= 0 || iterations <= 0) return undefined;
  return {
    requests,
    queueMs: (after.queueNs - before.queueNs) / requests / 1e6,
    computeMs: (after.computeNs - before.computeNs) / requests / 1e6,
    batch: (after.rows - before.rows) / iterations,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
