/**
 * Whether the figures are the server's, or those of a generator that could not keep up.
 *
 * @module
 */
import type { LatencySummary } from "./latency.ts";
import type { Measurements } from "./recorder.ts";

/**
 * Lag that any generator on a timer of 1 ms has: its p99 stays below this on an idle machine, with
 * room for a garbage collection.
 */
const TIMER_LAG_MS = 5;

/** Part of a latency that its lag may be, above what timers cost. */
const LAG_SHARE = 0.1;

/** What the generator has to say of itself. */
export interface Verdict {
  /** Whether the figures may be used. */
  readonly valid: boolean;
  /** Why not, a sentence for each model. */
  readonly reasons: readonly string[];
}

/**
 * Judges by the 99th percentile of the send lag and of the event loop's lateness: at most 5 ms, or a
 * tenth of the p99 latency from actual send (of text, to its first token) where that is more. Latency
 * from intended send contains the one, and all latencies contain the other.
 */
export function judge(
  models: readonly (Pick<Measurements, "lag" | "actual" | "tokens"> & { readonly name: string })[],
  loopLag: LatencySummary,
): Verdict {
  const reasons: string[] = [];
  for (const { name, lag, actual, tokens } of models) {
    const shortest = Math.min(actual.p99, tokens?.actualTtft.p99 ?? Infinity);
    const most = Math.max(TIMER_LAG_MS, LAG_SHARE * shortest);
    const bound = `at p99; at most ${most.toFixed(1)} ms leaves the latencies usable`;
    if (lag.p99 > most) {
      reasons.push(`${name}: the generator sent late, by ${lag.p99.toFixed(1)} ms ${bound}`);
    } else if (loopLag.p99 > most) {
      reasons.push(`${name}: the generator was busy for ${loopLag.p99.toFixed(1)} ms ${bound}`);
    }
  }
  return { valid: reasons.length === 0, reasons };
}
