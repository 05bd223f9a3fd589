/**
 * The largest of many values, by a heap of as many places as are wanted.
 *
 * @module
 */

/** Values of one datatype. */
export type Values = ArrayLike<number> | ArrayLike<bigint>;

/**
 * Places of the largest values, largest first: of equal ones the first comes first, and NaN, which
 * has no order, comes last.
 *
 * @param from Place of the first value to look at.
 * @param width How many values to look at.
 * @param count How many of them are wanted, `width` at most.
 */
export function largest(values: Values, from: number, width: number, count: number): Uint32Array {
  // No place in it comes before one below it: the last of those kept is on top.
  const heap = new Uint32Array(count);
  if (count === 0) return heap;
  for (let i = 0; i < count; i++) heap[i] = from + i;
  for (let i = (count >> 1) - 1; i >= 0; i--) sink(values, heap, i, count);
  for (let place = from + count; place < from + width; place++) {
    if (!isBefore(values, place, heap[0])) continue;
    heap[0] = place;
    sink(values, heap, 0, count);
  }
  for (let end = count - 1; end > 0; end--) {
    const least = heap[0];
    heap[0] = heap[end];
    heap[end] = least;
    sink(values, heap, 0, end);
  }
  return heap;
}

/** Moves the place at `at` down to where all below it come before it. */
function sink(values: Values, heap: Uint32Array, at: number, length: number): void {
  const place = heap[at];
  for (let child = 2 * at + 1; child < length; child = 2 * at + 1) {
    if (child + 1 < length && isBefore(values, heap[child], heap[child + 1])) child++;
    if (!isBefore(values, place, heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = place;
}

function isBefore(values: Values, a: number, b: number): boolean {
  const x = values[a], y = values[b];
  if (x > y) return true;
  if (x < y) return false;
  return x === y || (x !== x && y !== y) ? a < b : y !== y;
}
