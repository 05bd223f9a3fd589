/**
 * Triton's binary tensor data extension, on the way in: bytes after the JSON, in the order of the
 * inputs.
 *
 * @module
 */
import { DATATYPE_BYTES, elementCount, type TensorShape } from "../../../models/tensor.ts";
import { countElements } from "../../../models/bytes_elements.ts";
import { invalid, wholeNumber } from "./fields.ts";

/**
 * An input's data as a view.
 *
 * @param size The input's `binary_data_size`.
 * @param body The whole body.
 * @param at Where in it the data begin.
 * @throws {SluiceError} `invalid_argument` when the body, the datatype or the shape do not fit the size.
 */
export function binaryData(
  input: TensorShape,
  size: unknown,
  body: Uint8Array<ArrayBuffer>,
  at: number,
): Uint8Array<ArrayBuffer> {
  const { name } = input;
  const end = at + wholeNumber(size, "Parameter 'binary_data_size' of input '%s'", name);
  if (end > body.byteLength) {
    throw invalid(
      `Input '${name}' declares ${size} bytes of binary data, ` +
        `but ${body.byteLength - at} are left in the body`,
    );
  }
  const data = body.subarray(at, end);
  checkSize(input, data);
  return data;
}

function checkSize({ name, datatype, shape }: TensorShape, data: Uint8Array<ArrayBuffer>): void {
  const count = elementCount(shape);
  const size = DATATYPE_BYTES[datatype];
  if (size !== 0) {
    if (data.byteLength === count * size) return;
    throw invalid(
      `Input '${name}' has ${data.byteLength} bytes of binary data, ` +
        `expected ${count * size} for ${datatype} of shape [${shape}]`,
    );
  }
  const given = countElements(data);
  if (given === count) return;
  throw invalid(
    given === undefined
      ? `Input '${name}' has BYTES whose element lengths do not add up to its ` +
        `${data.byteLength} bytes of binary data`
      : `Input '${name}' has ${given} elements of BYTES, expected ${count} for shape [${shape}]`,
  );
}
