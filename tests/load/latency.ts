/**
 * Latencies in HDR histograms: every value within 0.1 %, however many and however far apart.
 *
 * @module
 */
import { build, type Histogram } from "hdr-histogram-js";

/** Milliseconds of some requests. */
export interface LatencySummary {
  /** How many. */
  readonly count: number;
  /** Arithmetic. */
  readonly mean: number;
  /** Median. */
  readonly p50: number;
  /** 90 % are no longer. */
  readonly p90: number;
  /** 95 % are no longer. */
  readonly p95: number;
  /** 99 % are no longer. */
  readonly p99: number;
  /** 99.9 % are no longer. */
  readonly p999: number;
  /** The longest. */
  readonly max: number;
}

/** The percentiles of a plot: ever closer to 100, as far as there are values to tell them apart. */
const PLOTTED = [0, 10, 25, 50, 75, 90, 95, 97.5, 99, 99.5, 99.9, 99.95, 99.99, 99.999];

/** Latencies as they come. */
export class Latencies {
  readonly #histogram: Histogram = build({ numberOfSignificantValueDigits: 3 });

  /** Adds one, in microseconds. */
  record(micros: number): void {
    this.#histogram.recordValue(Math.max(0, Math.round(micros)));
  }

  /** Milliseconds at a percentile; 0 when there are none. */
  percentile(percent: number): number {
    const { totalCount, maxValue } = this.#histogram;
    if (totalCount === 0) return 0;
    // A bucket's upper end may lie above the largest value in it.
    return Math.min(this.#histogram.getValueAtPercentile(percent), maxValue) / 1000;
  }

  /** The usual figures; zeros when there are none. */
  summary(): LatencySummary {
    const { totalCount, mean, maxValue } = this.#histogram;
    return {
      count: totalCount,
      mean: totalCount === 0 ? 0 : mean / 1000,
      p50: this.percentile(50),
      p90: this.percentile(90),
      p95: this.percentile(95),
      p99: this.percentile(99),
      p999: this.percentile(99.9),
      max: maxValue / 1000,
    };
  }

  /** Percentile and milliseconds, for a plot. */
  curve(): (readonly [number, number])[] {
    const count = this.#histogram.totalCount;
    return PLOTTED.filter((percent) => (1 - percent / 100) * count >= 1)
      .map((percent) => [percent, this.percentile(percent)] as const);
  }
}
