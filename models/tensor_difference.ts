/**
 * How far two tensors' values are apart.
 *
 * @module
 */
import type { Datatype } from "./tensor.ts";
import { isReal, readNumbers } from "./tensor_values.ts";

/** Raw little-endian values. */
export type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Largest difference of two lists of values of one datatype, as a share of the largest finite
 * value. Infinity when the lengths differ, or anything but real numbers differs at all; NaN equals
 * NaN.
 */
export function relativeDifference(datatype: Datatype, a: Bytes, b: Bytes): number {
  if (a.length !== b.length) return Infinity;
  if (!isReal(datatype)) return a.every((byte, i) => byte === b[i]) ? 0 : Infinity;
  const left = readNumbers(datatype, a), right = readNumbers(datatype, b);
  let largest = 0, difference = 0;
  for (let i = 0; i < left.length; i++) {
    if (Object.is(left[i], right[i]) || left[i] === right[i]) {
      if (Number.isFinite(left[i])) largest = Math.max(largest, Math.abs(left[i]));
      continue;
    }
    if (!Number.isFinite(left[i]) || !Number.isFinite(right[i])) return Infinity;
    largest = Math.max(largest, Math.abs(left[i]), Math.abs(right[i]));
    difference = Math.max(difference, Math.abs(left[i] - right[i]));
  }
  return difference === 0 ? 0 : difference / largest;
}
