/**
 * The engine's HDR histograms as Prometheus histograms.
 *
 * @module
 */
import { type Histogram as HdrHistogram, JsHistogram } from "hdr-histogram-js";
import { Histogram } from "prom-client";

/** Upper bounds of the buckets, seconds: 100 us to 10 s. */
const BOUNDS: readonly number[] = [
  0.0001,
  0.00025,
  0.0005,
  0.001,
  0.0025,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  5,
  10,
];

/** What is known of one model version's latencies. */
export interface Latencies {
  readonly labels: { readonly model: string; readonly version: string };
  /** Microseconds. */
  readonly histogram: HdrHistogram;
  /** Exact, where the histogram's own sum is rounded to its buckets. */
  readonly sumSeconds: number;
}

/** A histogram that is read when it is asked for, instead of being told every value. */
export class LatencyHistogram extends Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #read: () => Iterable<Latencies>;

  /** @param read All model versions' latencies. */
  constructor(name: string, help: string, read: () => Iterable<Latencies>) {
    super({ name, help, buckets: [...BOUNDS], registers: [] });
    this.#name = name;
    this.#help = help;
    this.#read = read;
  }

  /** What prom-client's registry asks a histogram for. */
  getForPromString() {
    const values = [...this.#read()].flatMap(({ labels, histogram, sumSeconds }) => [
      ...buckets(histogram).map(([le, value]) => ({
        metricName: `${this.#name}_bucket`,
        labels: { ...labels, le },
        value,
      })),
      { metricName: `${this.#name}_sum`, labels, value: sumSeconds },
      { metricName: `${this.#name}_count`, labels, value: histogram.totalCount },
    ]);
    return Promise.resolve({ name: this.#name, help: this.#help, type: "histogram", values });
  }
}

/** Numbers of values up to each bound, within the precision of the HDR histogram. */
function buckets(histogram: HdrHistogram): (readonly [le: number | string, count: number])[] {
  if (!(histogram instanceof JsHistogram)) throw new TypeError("Not a histogram with counts");
  let index = 0, count = 0;
  const counts = BOUNDS.map((bound) => {
    const last = Math.min(histogram.countsArrayIndex(bound * 1e6), histogram.countsArrayLength - 1);
    for (; index <= last; index++) count += histogram.getCountAtIndex(index);
    return [bound, count] as const;
  });
  return [...counts, ["+Inf", histogram.totalCount]];
}
