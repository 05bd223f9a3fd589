/**
 * BYTES tensors as C strings.
 *
 * @module
 */
import { ElementCursor, LENGTH_BYTES } from "../bytes_elements.ts";
import { stableBytes } from "../../ffi/onnxruntime/memory.ts";
import type { CStrings } from "../../ffi/onnxruntime/strings.ts";

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
  const starts = new Float64Array(count);
  const ends = new Float64Array(count);
  let found = 0, offset = 0, rest = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    const cursor = new ElementCursor(piece);
    while (cursor.next()) {
      bytes[offset + cursor.start - LENGTH_BYTES] = 0;
      starts[found] = offset + cursor.start;
      ends[found] = offset + cursor.end;
      found++;
    }
    rest += piece.length - cursor.end;
    offset += piece.length;
  }
  return { bytes, starts, ends, found, rest };
}
