/**
 * What the metrics of a job were: every iteration's at first, then fewer and fewer, evenly spaced, so
 * that a job of any length keeps a curve of bounded size.
 *
 * @module
 */

import { elementCount, type Tensor } from "../../models/tensor.ts";
import { isNumeric, readNumbers } from "../../models/tensor_values.ts";

/** Values of one iteration by metric. */
export type Metrics = Readonly<Record<string, number>>;

/** Values of some iterations. */
export interface MetricCurves {
  /** Ascending. */
  readonly iterations: readonly number[];
  /** By metric, one for each of the iterations. */
  readonly values: Readonly<Record<string, readonly number[]>>;
}

interface Point {
  readonly iteration: number;
  readonly metrics: Metrics;
}

/** Points kept, the last one apart. */
const KEPT = 2000;

/** A job's metrics. The first and the last iteration are always among those kept. */
export class MetricHistory {
  readonly #kept: number;
  #points: Point[] = [];
  #last: Point | undefined;
  /** Every so many iterations one is kept. */
  #spacing = 1;

  /** Empty. */
  constructor(kept = KEPT) {
    this.#kept = kept;
  }

  /** Those of the last iteration; none before the first. */
  get last(): Metrics {
    return this.#last?.metrics ?? {};
  }

  /** Adds those of the next iteration, which has the same metrics as all before it. */
  add(iteration: number, metrics: Metrics): void {
    this.#last = { iteration, metrics };
    if (!this.#isKept(iteration)) return;
    this.#points.push(this.#last);
    if (this.#points.length <= this.#kept) return;
    this.#spacing *= 2;
    this.#points = this.#points.filter((point) => this.#isKept(point.iteration));
  }

  /** All that are kept. */
  curves(): MetricCurves {
    const points = this.#last === this.#points.at(-1)
      ? this.#points
      : [...this.#points, this.#last!];
    return {
      iterations: points.map(({ iteration }) => iteration),
      values: Object.fromEntries(
        Object.keys(this.last).map((name) => [name, points.map(({ metrics }) => metrics[name])]),
      ),
    };
  }

  #isKept(iteration: number): boolean {
    return (iteration - (this.#points[0]?.iteration ?? iteration)) % this.#spacing === 0;
  }
}

/** The values of the outputs that are a single number. */
export function metricsOf(outputs: readonly Tensor[]): Metrics {
  const metrics: Record<string, number> = {};
  for (const { name, datatype, shape, data } of outputs) {
    if (elementCount(shape) !== 1 || !isNumeric(datatype)) continue;
    metrics[name] = Number(readNumbers(datatype, data)[0]);
  }
  return metrics;
}
