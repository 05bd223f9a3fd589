/**
 * Reductions along the middle axis of [outer, axis, inner], in fp64.
 *
 * @module
 */

/** Shape of a tensor seen from one of its axes. */
export interface RowShape {
  /** Product of the dimensions before the axis. */
  readonly outer: number;
  /** Length of the axis. */
  readonly axis: number;
  /** Product of the dimensions behind the axis. */
  readonly inner: number;
}

/** Mean along the axis: [outer, inner]. */
export function mean(x: ArrayLike<number>, shape: RowShape): Float64Array {
  return perRow(x, shape, shape.outer * shape.inner, (row, index, result) => {
    result[index] = row.reduce((sum, value) => sum + value, 0) / shape.axis;
  });
}

/** Softmax along the axis: [outer, axis, inner]. */
export function softmax(x: ArrayLike<number>, shape: RowShape): Float64Array {
  return perRow(x, shape, x.length, (row, _, result, at) => {
    const highest = Math.max(...row);
    const powers = row.map((value) => Math.exp(value - highest));
    const sum = powers.reduce((sum, value) => sum + value, 0);
    powers.forEach((power, index) => result[at(index)] = power / sum);
  });
}

function perRow(
  x: ArrayLike<number>,
  { outer, axis, inner }: RowShape,
  length: number,
  fill: (row: number[], index: number, result: Float64Array, at: (i: number) => number) => void,
): Float64Array {
  const result = new Float64Array(length);
  for (let index = 0; index < outer * inner; index++) {
    const begin = Math.floor(index / inner) * axis * inner + index % inner;
    const at = (i: number) => begin + i * inner;
    fill(Array.from({ length: axis }, (_, i) => x[at(i)]), index, result, at);
  }
  return result;
}

/** Layer normalisation of the rows of a matrix. */
export function layerNorm(
  x: ArrayLike<number>,
  scale: ArrayLike<number>,
  shift: ArrayLike<number>,
  columns: number,
  epsilon: number,
): Float64Array {
  return perRow(x, { outer: x.length / columns, axis: columns, inner: 1 }, x.length, normalise);

  function normalise(row: number[], _: number, result: Float64Array, at: (i: number) => number) {
    const mean = row.reduce((sum, value) => sum + value, 0) / columns;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / columns;
    row.forEach((value, i) => {
      result[at(i)] = (value - mean) / Math.sqrt(variance + epsilon) * scale[i] + shift[i];
    });
  }
}
