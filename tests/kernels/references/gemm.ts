/**
 * Matrix products in fp64.
 *
 * @module
 */

/** A dense matrix, or one stored transposed. */
export interface Matrix {
  /** Elements, row by row as they lie in memory. */
  readonly data: ArrayLike<number>;
  /** Whether rows and columns change places before use. */
  readonly transposed?: boolean;
  /** Where in `data` the matrix begins. */
  readonly offset?: number;
}

/** `a` (m x k) times `b` (k x n), row-major. */
export function product(a: Matrix, b: Matrix, m: number, n: number, k: number): Float64Array {
  const result = new Float64Array(m * n);
  for (let row = 0; row < m; row++) {
    for (let depth = 0; depth < k; depth++) {
      const left = a.data[(a.offset ?? 0) + (a.transposed ? depth * m + row : row * k + depth)];
      for (let column = 0; column < n; column++) {
        const at = b.transposed ? column * k + depth : depth * n + column;
        result[row * n + column] += left * b.data[(b.offset ?? 0) + at];
      }
    }
  }
  return result;
}
