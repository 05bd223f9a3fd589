/**
 * BYTES tensors in the protocol's binary form: each element a 32-bit little-endian length, then
 * that many bytes.
 *
 * @module
 */
import { stableBytes } from "../../ffi/onnxruntime/memory.ts";
import type { CStrings } from "../../ffi/onnxruntime/strings.ts";

const LENGTH_BYTES = 4;

/** Elements of a BYTES tensor as C strings, and what was found on the way. */
export interface Terminated extends CStrings {
  /** How many whole elements there are; beyond the expected number, `starts` does not have them. */
  readonly found: number;
  /** Bytes that belong to no whole element. */
  readonly rest: number;
}

/**
 * Copies the elements of a BYTES tensor, and ends each with a NUL. The copy keeps the lengths
 * between the elements: the first byte of each makes room for the NUL.
 *
 * @param pieces Pieces of the tensor; no element is split between them.
 * @param count How many elements there should be.
 */
export function terminateElements(
  pieces: readonly Uint8Array<ArrayBuffer>[],
  count: number,
): Terminated {
  let total = 0;
  for (const piece of pieces) total += piece.length;
  const bytes = stableBytes(total + 1);
  const view = new DataView(bytes.buffer);
  const starts = new Float64Array(count);
  const ends = new Float64Array(count);
  let found = 0, offset = 0, rest = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    const limit = offset + piece.length;
    while (offset + LENGTH_BYTES <= limit) {
      const start = offset + LENGTH_BYTES;
      const end = start + view.getUint32(offset, true);
      if (end > limit) break;
      bytes[offset] = 0;
      starts[found] = start;
      ends[found] = end;
      found++;
      offset = end;
    }
    rest += limit - offset;
    offset = limit;
  }
  return { bytes, starts, ends, found, rest };
}

/**
 * A BYTES tensor's data from its elements.
 *
 * @param bytes All elements, one after the other.
 * @param starts Where each element starts; the last one ends with `bytes`.
 */
export function joinElements(
  bytes: Uint8Array<ArrayBuffer>,
  starts: ArrayLike<number>,
): Uint8Array<ArrayBuffer> {
  const data = new Uint8Array(bytes.length + LENGTH_BYTES * starts.length);
  const view = new DataView(data.buffer);
  let offset = 0;
  for (let i = 0; i < starts.length; i++) {
    const end = i + 1 < starts.length ? starts[i + 1] : bytes.length;
    view.setUint32(offset, end - starts[i], true);
    data.set(bytes.subarray(starts[i], end), offset + LENGTH_BYTES);
    offset += LENGTH_BYTES + end - starts[i];
  }
  return data;
}
