/**
 * The engine's figures in Prometheus' text format. Everything is read from the engine at the scrape;
 * nothing is counted here.
 *
 * @module
 */
import { type Histogram as HdrHistogram, JsHistogram } from "hdr-histogram-js";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Engine } from "../engine/api.ts";
import { LATENCIES, type LatencySource } from "./latency_sources.ts";
import { COUNTERS, type Exposed, GAUGES, labelsOf } from "./metric_sources.ts";

/** An engine's figures, written when they are asked for. */
export interface Exposition {
  /** What {@linkcode Exposition.text} is. */
  readonly contentType: string;
  /** All metrics as they are now. */
  text(): Promise<string>;
}

/** All metrics of a gateway; reads nothing before it is asked for them. */
export function openExposition({ engine, jobs }: Exposed): Exposition {
  const registry = new Registry();
  const registers = [registry];
  for (const { name, help, labelNames, samples } of COUNTERS) {
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [labels, value] of samples(engine, jobs)) this.inc(labels, value);
      },
    });
  }
  for (const { name, help, labelNames, samples } of GAUGES) {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [labels, value] of samples(engine, jobs)) this.set(labels, value);
      },
    });
  }
  for (const source of LATENCIES) {
    registry.registerMetric(new LatencyHistogram(source, engine));
  }
  return { contentType: registry.contentType, text: () => registry.metrics() };
}

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

/** A histogram that is read when it is asked for, instead of being told every value. */
class LatencyHistogram extends Histogram {
  readonly #source: LatencySource;
  readonly #engine: Engine;

  constructor(source: LatencySource, engine: Engine) {
    super({ name: source.name, help: source.help, buckets: [...BOUNDS], registers: [] });
    this.#source = source;
    this.#engine = engine;
  }

  /** What prom-client's registry asks a histogram for. */
  getForPromString() {
    const { name, help, read } = this.#source;
    const values = this.#engine.served().flatMap((served) => {
      const latencies = read(served);
      if (latencies === undefined) return [];
      const { histogram, sumSeconds } = latencies;
      const labels = labelsOf(served);
      return [
        ...buckets(histogram).map(([le, value]) => ({
          metricName: `${name}_bucket`,
          labels: { ...labels, le },
          value,
        })),
        { metricName: `${name}_sum`, labels, value: sumSeconds },
        { metricName: `${name}_count`, labels, value: histogram.totalCount },
      ];
    });
    return Promise.resolve({ name, help, type: "histogram", values });
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
