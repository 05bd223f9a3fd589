/**
 * How far two tensors' values are apart.
 *
 * @module
 */
import type { Datatype } from "./tensor.ts";

/** Raw little-endian values. */
export type Bytes = Uint8Array<ArrayBuffer>;

const REALS: Partial<Record<Datatype, (bytes: Bytes) => ArrayLike<number>>> = {
  FP16: (bytes) => new Float16Array(aligned(bytes)),
  BF16: (bytes) => {
    const upper = new Uint16Array(aligned(bytes));
    return new Float32Array(Uint32Array.from(upper, (bits) => bits << 16).buffer);
  },
  FP32: (bytes) => new Float32Array(aligned(bytes)),
  FP64: (bytes) => new Float64Array(aligned(bytes)),
};

/**
 * Largest difference of two lists of values of one datatype, as a share of the largest finite
 * value. Infinity when the lengths differ, or anything but real numbers differs at all; NaN equals
 * NaN.
 */
export function relativeDifference(datatype: Datatype, a: Bytes, b: Bytes): number {
  if (a.length !== b.length) return Infinity;
  const reals = REALS[datatype];
  if (reals === undefined) return a.every((byte, i) => byte === b[i]) ? 0 : Infinity;
  const left = reals(a), right = reals(b);
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

/** A copy that starts at a multiple of every element's size. */
function aligned(bytes: Bytes): ArrayBuffer {
  return bytes.slice().buffer;
}
