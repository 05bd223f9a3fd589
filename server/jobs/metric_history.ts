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

/** Points kept, the last one apart. */
const KEPT = 2000;

/**
 * A job's metrics. The first and the last iteration are always among those kept. They are kept in
 * columns: objects would take several times the memory.
 */
export class MetricHistory {
  readonly #kept: number;
  #iterations: number[] = [];
  #values: readonly (readonly [name: string, column: number[]])[] = [];
  #lastIteration: number | undefined;
  #last: Metrics = {};
  /** Every so many iterations one is kept. */
  #spacing = 1;

  /** Empty. */
  constructor(kept = KEPT) {
    this.#kept = kept;
  }

  /** Those of the last iteration; none before the first. */
  get last(): Metrics {
    return this.#last;
  }

  /** Adds those of the next iteration, which has the same metrics as all before it. */
  add(iteration: number, metrics: Metrics): void {
    if (this.#lastIteration === undefined) {
      this.#values = Object.keys(metrics).map((name) => [name, []]);
    }
    this.#lastIteration = iteration;
    this.#last = metrics;
    if (!this.#isKept(iteration)) return;
    this.#iterations.push(iteration);
    for (const [name, column] of this.#values) column.push(metrics[name]);
    if (this.#iterations.length > this.#kept) this.#thin();
  }

  /** All that are kept. */
  curves(): MetricCurves {
    const isKept = this.#iterations.at(-1) === this.#lastIteration;
    const withLast = (column: readonly number[], last: number) =>
      isKept ? [...column] : [...column, last];
    return {
      iterations: withLast(this.#iterations, this.#lastIteration!),
      values: Object.fromEntries(
        this.#values.map(([name, column]) => [name, withLast(column, this.#last[name])]),
      ),
    };
  }

  #thin(): void {
    this.#spacing *= 2;
    const isKept = this.#iterations.map((iteration) => this.#isKept(iteration));
    const thinned = (column: readonly number[]) => column.filter((_, index) => isKept[index]);
    this.#iterations = thinned(this.#iterations);
    this.#values = this.#values.map(([name, column]) => [name, thinned(column)]);
  }

  #isKept(iteration: number): boolean {
    return (iteration - (this.#iterations[0] ?? iteration)) % this.#spacing === 0;
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
