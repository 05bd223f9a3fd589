/**
 * The histograms that `/metrics` shows and where they come from: Triton has none.
 *
 * @module
 */
import type { Histogram, ServedModel } from "../engine/api.ts";
import { type GenerationStatistics, generationStatistics } from "../generation/statistics.ts";

/** A histogram of every model version and where it comes from. */
export interface LatencySource {
  /** The metric's name. */
  readonly name: string;
  /** What it measures. */
  readonly help: string;
  /** Its values; undefined where a model has none of the kind. */
  read(served: ServedModel): Latencies | undefined;
}

/** Values in microseconds, and their exact sum where one is kept. */
export interface Latencies {
  /** Live. */
  readonly histogram: Histogram;
  /** Of all values. */
  readonly sumSeconds: number;
}

/** Without an exact sum. */
function latencies(histogram: Histogram): Latencies {
  return { histogram, sumSeconds: histogram.mean * histogram.totalCount / 1e6 };
}

/** A histogram of every model version that generates text. */
function textLatency(
  name: string,
  help: string,
  read: (statistics: GenerationStatistics) => Histogram,
): LatencySource {
  return {
    name,
    help,
    read: (served) =>
      served.model.sequence?.generation && latencies(read(generationStatistics(served))),
  };
}

/** Histograms of every model version. */
export const LATENCIES: readonly LatencySource[] = [
  {
    name: "sluice_request_duration_seconds",
    help: "Whole time of answered requests",
    read: ({ statistics: { requestMicros, success } }) => ({
      histogram: requestMicros,
      sumSeconds: success.ns / 1e9,
    }),
  },
  {
    name: "sluice_queue_duration_seconds",
    help: "Time of answered requests in the queue",
    read: ({ statistics: { queueMicros, queue } }) => ({
      histogram: queueMicros,
      sumSeconds: queue.ns / 1e9,
    }),
  },
  {
    name: "sluice_compute_duration_seconds",
    help: "Device time of iterations",
    read: ({ statistics }) => latencies(statistics.computeMicros),
  },
  textLatency(
    "sluice_time_to_first_token_seconds",
    "Time of generations from their arrival to their first token",
    ({ firstTokenMicros }) => firstTokenMicros,
  ),
  textLatency(
    "sluice_time_between_tokens_seconds",
    "Time of generations from one token to the next, without that for which a reader was waited for",
    ({ tokenGapMicros }) => tokenGapMicros,
  ),
];
