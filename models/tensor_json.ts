/**
 * Tensors in JSON, for files that people may read and write: small ones with their values, others
 * with their bytes as base64.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { countElements, TextFramer } from "./bytes_elements.ts";
import { byteLength, type Datatype, DATATYPE_BYTES, elementCount, type Tensor } from "./tensor.ts";

/** One value of a tensor. Integers beyond 2^53, NaN and the infinities are written as strings. */
export type JsonValue = number | string | boolean;

/** A tensor in JSON, with either `data` or `base64`. */
export interface JsonTensor {
  /** The tensor's name. */
  readonly name: string;
  /** Any datatype; FP16 and BF16 have no values in JSON, only bytes. */
  readonly datatype: Datatype;
  /** Exact. */
  readonly shape: readonly number[];
  /** All values, row-major. */
  readonly data?: readonly JsonValue[];
  /** The tensor's bytes. */
  readonly base64?: string;
}

/**
 * The tensor that a JSON form stands for.
 *
 * @throws {RangeError} A value or their number does not fit datatype and shape.
 */
export function tensorFromJson({ name, datatype, shape, data, base64 }: JsonTensor): Tensor {
  if ((data === undefined) === (base64 === undefined)) {
    throw new RangeError("has to have either data or base64");
  }
  const bytes = data === undefined
    ? new Uint8Array(Buffer.from(base64!, "base64"))
    : encode(datatype, data);
  checkLength(datatype, shape, bytes);
  return { name, datatype, shape, data: bytes };
}

/** The JSON form of a tensor, with its bytes. */
export function tensorToJson({ name, datatype, shape, data }: Tensor): JsonTensor {
  return { name, datatype, shape, base64: Buffer.from(data).toString("base64") };
}

/** How one value of a datatype is written. FP16 and BF16 have no JSON form. */
const WRITERS: Partial<Record<Datatype, (view: DataView, at: number, value: JsonValue) => void>> = {
  BOOL: (view, at, value) => view.setUint8(at, boolean(value)),
  UINT8: (view, at, value) => view.setUint8(at, Number(unsigned(8, value))),
  UINT16: (view, at, value) => view.setUint16(at, Number(unsigned(16, value)), true),
  UINT32: (view, at, value) => view.setUint32(at, Number(unsigned(32, value)), true),
  UINT64: (view, at, value) => view.setBigUint64(at, unsigned(64, value), true),
  INT8: (view, at, value) => view.setInt8(at, Number(signed(8, value))),
  INT16: (view, at, value) => view.setInt16(at, Number(signed(16, value)), true),
  INT32: (view, at, value) => view.setInt32(at, Number(signed(32, value)), true),
  INT64: (view, at, value) => view.setBigInt64(at, signed(64, value), true),
  FP32: (view, at, value) => view.setFloat32(at, real(value), true),
  FP64: (view, at, value) => view.setFloat64(at, real(value), true),
};

function encode(datatype: Datatype, values: readonly JsonValue[]): Uint8Array<ArrayBuffer> {
  if (datatype === "BYTES") return encodeStrings(values);
  const write = WRITERS[datatype];
  if (write === undefined) throw new RangeError(`${datatype} values have no JSON form; use base64`);
  const size = DATATYPE_BYTES[datatype];
  const view = new DataView(new ArrayBuffer(values.length * size));
  values.forEach((value, index) => write(view, index * size, value));
  return new Uint8Array(view.buffer);
}

function encodeStrings(values: readonly JsonValue[]): Uint8Array<ArrayBuffer> {
  const elements = new TextFramer();
  for (const value of values) {
    if (typeof value !== "string") throw new RangeError(`${value} is no string`);
    elements.add(value);
  }
  return elements.data();
}

function boolean(value: JsonValue): number {
  if (typeof value !== "boolean") throw new RangeError(`${value} is neither true nor false`);
  return value ? 1 : 0;
}

function real(value: JsonValue): number {
  const special = typeof value === "string" && ["NaN", "Infinity", "-Infinity"].includes(value);
  if (typeof value !== "number" && !special) throw new RangeError(`${value} is no number`);
  return Number(value);
}

function unsigned(bits: number, value: JsonValue): bigint {
  const exact = integer(value);
  if (BigInt.asUintN(bits, exact) !== exact) throw new RangeError(`${value} is not in UINT${bits}`);
  return exact;
}

function signed(bits: number, value: JsonValue): bigint {
  const exact = integer(value);
  if (BigInt.asIntN(bits, exact) !== exact) throw new RangeError(`${value} is not in INT${bits}`);
  return exact;
}

function integer(value: JsonValue): bigint {
  if (!/^-?[0-9]+$/.test(String(value))) throw new RangeError(`${value} is no integer`);
  return BigInt(value);
}

function checkLength(
  datatype: Datatype,
  shape: readonly number[],
  data: Uint8Array<ArrayBuffer>,
): void {
  if (datatype === "BYTES") {
    const [expected, given] = [elementCount(shape), countElements(data)];
    if (given === undefined) throw new RangeError("has a string that breaks off");
    if (given !== expected) {
      throw new RangeError(`has ${given} elements; its shape has ${expected}`);
    }
    return;
  }
  const expected = byteLength(datatype, shape);
  if (data.byteLength === expected) return;
  throw new RangeError(`has ${data.byteLength} bytes; its datatype and shape need ${expected}`);
}
