/**
 * The figures of a report by the names that thresholds, CSV and comparisons use.
 *
 * @module
 */
import type { LatencySummary } from "./latency.ts";
import type { ModelReport } from "./report.ts";

/** One figure of a model. */
export interface Metric {
  /** As in `--fail-if`. */
  readonly name: string;
  /** For tables. */
  readonly unit: string;
  /** Whether more of it is better. */
  readonly moreIsBetter: boolean;
  /** Absent where it was not measured. */
  of(model: ModelReport): number | undefined;
}

const PERCENTILES = ["mean", "p50", "p90", "p95", "p99", "p999", "max"] as const;

/** The percentiles of one of a model's latencies. */
function latencies(
  prefix: string,
  of: (model: ModelReport) => LatencySummary | undefined,
): Metric[] {
  return PERCENTILES.map((key) => ({
    name: prefix + key,
    unit: "ms",
    moreIsBetter: false,
    of: (model) => of(model)?.[key],
  }));
}

/** All of them, in the order in which they are shown. */
export const METRICS: readonly Metric[] = [
  { name: "rate", unit: "/s", moreIsBetter: true, of: ({ rate }) => rate },
  { name: "throughput", unit: "/s", moreIsBetter: true, of: ({ throughput }) => throughput },
  { name: "goodput", unit: "/s", moreIsBetter: true, of: ({ goodput }) => goodput },
  { name: "attainment", unit: "", moreIsBetter: true, of: ({ attainment }) => attainment },
  { name: "errors", unit: "", moreIsBetter: false, of: ({ errors }) => errors },
  ...latencies("", ({ intended }) => intended),
  ...latencies("actual_", ({ actual }) => actual),
  ...latencies("lag_", ({ lag }) => lag),
  ...latencies("ttft_", ({ tokens }) => tokens?.ttft),
  ...latencies("actual_ttft_", ({ tokens }) => tokens?.actualTtft),
  ...latencies("tbt_", ({ tokens }) => tokens?.tbt),
  { name: "tokens", unit: "/s", moreIsBetter: true, of: ({ tokensPerSecond }) => tokensPerSecond },
  {
    name: "tokens_per_answer",
    unit: "",
    moreIsBetter: true,
    of: ({ tokens, outcomes: { ok } }) => tokens && (ok > 0 ? tokens.count / ok : 0),
  },
  { name: "slowdown", unit: "x", moreIsBetter: false, of: ({ slowdown }) => slowdown?.mean },
  { name: "slowdown_p99", unit: "x", moreIsBetter: false, of: ({ slowdown }) => slowdown?.p99 },
  { name: "queue", unit: "ms", moreIsBetter: false, of: ({ server }) => server?.queueMs },
  { name: "compute", unit: "ms", moreIsBetter: false, of: ({ server }) => server?.computeMs },
  { name: "batch", unit: "rows", moreIsBetter: true, of: ({ server }) => server?.batch },
];

/** A figure with as many digits as it is worth; a dash where there is none. */
export function formatFigure(value: number | undefined): string {
  if (value === undefined) return "-";
  const size = Math.abs(value);
  const digits = Number.isInteger(value) || size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3;
  return value.toFixed(digits);
}
