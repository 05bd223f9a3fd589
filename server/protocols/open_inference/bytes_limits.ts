/**
 * How many elements of BYTES a request may have. ONNX Runtime takes strings on the event loop: within
 * these bounds one request holds it for no more than some 100 ms.
 *
 * @module
 */
import { countElementsWithNul } from "../../../models/bytes_elements.ts";
import { SluiceError } from "../../../models/errors.ts";
import type { Tensor } from "../../../models/tensor.ts";

/** All of a tensor are handed over in one call, which takes about 50 ns an element. */
const MAX_ELEMENTS = 512 * 1024;
/** One that holds NUL is no C string, and takes a call of its own: about 2.5 us. */
const MAX_ELEMENTS_WITH_NUL = 32 * 1024;

/**
 * Refuses a number of elements, before their data is looked at.
 *
 * @param count Of the inputs up to the one that is named.
 * @throws {SluiceError} `too_large`.
 */
export function checkElementCount(name: string, count: number): void {
  if (count > MAX_ELEMENTS) {
    throw tooMany(`${count} elements of BYTES up to input '${name}'`, MAX_ELEMENTS);
  }
}

/**
 * Refuses more elements that hold NUL than may be. Looks only where there are enough elements.
 *
 * @param count How many elements of BYTES all inputs hold, all of them whole.
 * @throws {SluiceError} `too_large`.
 */
export function checkElementsWithNul(inputs: readonly Tensor[], count: number): void {
  if (count <= MAX_ELEMENTS_WITH_NUL) return;
  let withNul = 0;
  for (const { datatype, data } of inputs) {
    if (datatype === "BYTES") withNul += countElementsWithNul(data);
  }
  if (withNul > MAX_ELEMENTS_WITH_NUL) {
    throw tooMany(`${withNul} elements of BYTES that hold NUL`, MAX_ELEMENTS_WITH_NUL);
  }
}

function tooMany(given: string, limit: number): SluiceError {
  return new SluiceError("too_large", `The request has ${given}, expected at most ${limit}`);
}
