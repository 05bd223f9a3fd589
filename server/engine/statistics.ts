/**
 * Counters of one model version, with the meanings of Triton's statistics extension.
 *
 * @module
 */
import { build } from "hdr-histogram-js";
import type {
  BatchStatistics,
  Duration,
  FailureReason,
  Histogram,
  ModelStatistics,
} from "./api.ts";
import type { ErrorCode } from "../../models/errors.ts";

/** For microseconds: two significant digits up to an hour, about 1 % error in a few kilobytes. */
export function microsHistogram(): Histogram {
  return build({
    bitBucketSize: 32,
    autoResize: true,
    lowestDiscernibleValue: 1,
    highestTrackableValue: 100_000,
    numberOfSignificantValueDigits: 2,
  });
}

const duration = (): Duration => ({ count: 0, ns: 0 });

/** Counters at zero. */
export function newStatistics(): ModelStatistics {
  return {
    lastInferenceMillis: 0,
    inferenceCount: 0,
    executionCount: 0,
    success: duration(),
    fail: duration(),
    failures: { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 },
    queue: duration(),
    computeInput: duration(),
    computeInfer: duration(),
    computeOutput: duration(),
    batches: new Map(),
    requestMicros: microsHistogram(),
    queueMicros: microsHistogram(),
    computeMicros: microsHistogram(),
    chargedMicros: 0,
  };
}

/** Adds an event that took `micros`, or with `events` 0 what belongs to one that is not over. */
export function add(to: Duration, micros: number, events = 1): void {
  to.count += events;
  to.ns += Math.round(micros * 1000);
}

/** Adds one value to a histogram; below a microsecond counts as none. */
export function record(to: Histogram, micros: number): void {
  to.recordValue(Math.max(0, Math.round(micros)));
}

/** Triton's reason for a failure with this code. */
export function failureReason(code: ErrorCode): FailureReason {
  return FAILURE_REASONS[code] ?? "OTHER";
}

const FAILURE_REASONS: Partial<Record<ErrorCode, FailureReason>> = {
  queue_full: "REJECTED",
  deadline_exceeded: "REJECTED",
  out_of_memory: "REJECTED",
  shutting_down: "REJECTED",
  not_ready: "REJECTED",
  cancelled: "CANCELED",
  execution_failed: "BACKEND",
  device_failed: "BACKEND",
};

/** The counters of one batch size, made at its first use. */
export function batchStatistics(statistics: ModelStatistics, rows: number): BatchStatistics {
  let batch = statistics.batches.get(rows);
  if (batch === undefined) {
    batch = { computeInput: duration(), computeInfer: duration(), computeOutput: duration() };
    statistics.batches.set(rows, batch);
  }
  return batch;
}
