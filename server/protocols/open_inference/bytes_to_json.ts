/**
 * A tensor's bytes as the text of its JSON `data`, as Triton writes it: flat, floats with a point or
 * an exponent and the shortest digits of their double value, non-finite numbers bare, 64-bit
 * integers exact.
 *
 * @module
 */
import { SluiceError } from "../../../models/errors.ts";
import { type Datatype, DATATYPE_BYTES, type Tensor } from "../../../models/tensor.ts";
import { unframeElements } from "./bytes_elements.ts";

/** Whether tensors of this datatype can be written as JSON: all but FP16 and BF16. */
export function hasJsonForm(datatype: Datatype): boolean {
  return READERS[datatype] !== undefined;
}

/**
 * The text of `data`, brackets included.
 *
 * @throws {SluiceError} `invalid_argument` when the values have no JSON form.
 */
export function bytesToJson(tensor: Tensor): string {
  const read = READERS[tensor.datatype];
  if (read === undefined) throw noJsonForm(tensor.name, tensor.datatype);
  return "[" + read(tensor.data, tensor.name) + "]";
}

/** The refusal of an output that JSON cannot carry. */
export function noJsonForm(name: string, datatype: Datatype): SluiceError {
  return new SluiceError(
    "invalid_argument",
    `Output '${name}' has datatype ${datatype}, which has no JSON form; ` +
      "ask for it as binary data with the parameter 'binary_data'",
  );
}

type Bytes = Uint8Array<ArrayBuffer>;
type Reader = (data: Bytes, name: string) => string;

/** The bytes at an address where a typed array of this element size may start. */
function aligned(data: Bytes, size: number): Bytes {
  return data.byteOffset % size === 0 ? data : data.slice();
}

function integers<T extends { join(separator: string): string }>(
  datatype: Datatype,
  view: (buffer: ArrayBuffer, offset: number, length: number) => T,
): Reader {
  const size = DATATYPE_BYTES[datatype];
  return (data) => {
    const { buffer, byteOffset, byteLength } = aligned(data, size);
    return view(buffer, byteOffset, byteLength / size).join(",");
  };
}

/** `join` writes whole numbers without a point, `-0` as `0` and exponents with a plus. */
function joinFloats(values: Float32Array | Float64Array): string {
  let whole = false;
  for (let i = 0; i < values.length && !whole; i++) whole = values[i] % 1 === 0;
  if (!whole) return values.join(",");
  let text = "";
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (i > 0) text += ",";
    if (value % 1 !== 0) text += value;
    else if (value >= 1e21 || value <= -1e21) text += String(value).replace("e+", "e");
    else if (value === 0) text += 1 / value < 0 ? "-0.0" : "0.0";
    else text += value + ".0";
  }
  return text;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** FP16 and BF16 are missing: the protocol gives them no JSON form. */
const READERS: { readonly [datatype in Datatype]?: Reader } = {
  BOOL: (data) => {
    let text = "";
    for (let i = 0; i < data.length; i++) {
      text += (i > 0 ? "," : "") + (data[i] !== 0 ? "true" : "false");
    }
    return text;
  },
  UINT8: integers("UINT8", (b, o, n) => new Uint8Array(b, o, n)),
  UINT16: integers("UINT16", (b, o, n) => new Uint16Array(b, o, n)),
  UINT32: integers("UINT32", (b, o, n) => new Uint32Array(b, o, n)),
  UINT64: integers("UINT64", (b, o, n) => new BigUint64Array(b, o, n)),
  INT8: integers("INT8", (b, o, n) => new Int8Array(b, o, n)),
  INT16: integers("INT16", (b, o, n) => new Int16Array(b, o, n)),
  INT32: integers("INT32", (b, o, n) => new Int32Array(b, o, n)),
  INT64: integers("INT64", (b, o, n) => new BigInt64Array(b, o, n)),
  FP32: (data) => {
    const { buffer, byteOffset, byteLength } = aligned(data, 4);
    return joinFloats(new Float32Array(buffer, byteOffset, byteLength / 4));
  },
  FP64: (data) => {
    const { buffer, byteOffset, byteLength } = aligned(data, 8);
    return joinFloats(new Float64Array(buffer, byteOffset, byteLength / 8));
  },
  BYTES: (data, name) => {
    const texts: string[] = [];
    for (const element of unframeElements(data) ?? []) {
      try {
        texts.push(JSON.stringify(decoder.decode(element)));
      } catch {
        throw new SluiceError(
          "invalid_argument",
          `Output '${name}' holds bytes that are no UTF-8 text (element ${texts.length}), which ` +
            "has no JSON form; ask for it as binary data with the parameter 'binary_data'",
        );
      }
    }
    return texts.join(",");
  },
};
