/**
 * How many elements a BYTES tensor may have. ONNX Runtime takes strings on the event loop: within
 * these bounds one tensor holds it for no more than some 100 ms.
 *
 * @module
 */
import { SluiceError } from "../../../models/errors.ts";
import type { Tensor } from "../../../models/tensor.ts";

/** All are handed over in one call, which takes about 50 ns an element. */
const MAX_ELEMENTS = 512 * 1024;
/** One that holds NUL is no C string, and takes a call of its own: about 2.5 us. */
const MAX_ELEMENTS_WITH_NUL = 32 * 1024;

/**
 * Refuses a number of elements, before their data is looked at.
 *
 * @throws {SluiceError} `too_large`.
 */
export function checkElementCount(name: string, count: number): void {
  if (count > MAX_ELEMENTS) throw tooMany(name, `${count} elements`, MAX_ELEMENTS);
}

/**
 * Refuses more elements that hold NUL than may be. Looks only where there are enough elements.
 *
 * @param count How many elements `data` holds, all of them whole.
 * @throws {SluiceError} `too_large`.
 */
export function checkElementsWithNul({ name, data }: Tensor, count: number): void {
  if (count <= MAX_ELEMENTS_WITH_NUL) return;
  const lengths = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let at = 0, withNul = 0;
  for (let i = 0; i < count; i++) {
    const end = at + 4 + lengths.getUint32(at, true);
    const nul = data.indexOf(0, at + 4); // rarely far: the lengths are full of them
    if (nul >= 0 && nul < end) withNul++;
    at = end;
  }
  if (withNul > MAX_ELEMENTS_WITH_NUL) {
    throw tooMany(name, `${withNul} elements that hold NUL`, MAX_ELEMENTS_WITH_NUL);
  }
}

function tooMany(name: string, given: string, limit: number): SluiceError {
  return new SluiceError(
    "too_large",
    `Input '${name}' has BYTES of ${given}, expected at most ${limit} in one request`,
  );
}
