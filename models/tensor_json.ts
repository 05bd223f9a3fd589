/**
 * Tensors in JSON, for files that people may read and write: small ones with their values, others
 * with their bytes as base64.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { byteLength, type Datatype, DATATYPE_BYTES, elementCount, type Tensor } from "./tensor.ts";

const datatypes = Object.keys(DATATYPE_BYTES) as [Datatype, ...Datatype[]];

/** Schema of a tensor in JSON: either `data` or `base64`. It gives a {@linkcode Tensor}. */
export const tensorSchema: z.ZodType<Tensor> = z.strictObject({
  name: z.string(),
  datatype: z.enum(datatypes),
  shape: z.array(z.int().nonnegative()),
  data: z.array(z.union([z.number(), z.string(), z.boolean()])).optional(),
  base64: z.base64().optional(),
}).transform((tensor, context): Tensor => {
  const { name, datatype, shape } = tensor;
  try {
    if ((tensor.data === undefined) === (tensor.base64 === undefined)) {
      throw new RangeError("expected either data or base64");
    }
    const data = tensor.base64 === undefined
      ? encode(datatype, tensor.data!)
      : new Uint8Array(Buffer.from(tensor.base64, "base64"));
    checkLength(datatype, shape, data);
    return { name, datatype, shape, data };
  } catch (error) {
    context.issues.push({
      code: "custom",
      message: error instanceof Error ? error.message : String(error),
      input: tensor,
    });
    return z.NEVER;
  }
});

/** A tensor as {@linkcode tensorSchema} reads it. */
export function tensorToJson({ name, datatype, shape, data }: Tensor): Record<string, unknown> {
  return { name, datatype, shape, base64: Buffer.from(data).toString("base64") };
}

type Value = number | string | boolean;

/** How one value of a datatype is written. FP16 and BF16 have no JSON form. */
const WRITERS: Partial<Record<Datatype, (view: DataView, at: number, value: Value) => void>> = {
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

function encode(datatype: Datatype, values: readonly Value[]): Uint8Array<ArrayBuffer> {
  if (datatype === "BYTES") return encodeStrings(values);
  const write = WRITERS[datatype];
  if (write === undefined) throw new RangeError(`${datatype} values have no JSON form; use base64`);
  const size = DATATYPE_BYTES[datatype];
  const view = new DataView(new ArrayBuffer(values.length * size));
  values.forEach((value, index) => write(view, index * size, value));
  return new Uint8Array(view.buffer);
}

function encodeStrings(values: readonly Value[]): Uint8Array<ArrayBuffer> {
  const parts = values.map((value) => {
    if (typeof value !== "string") throw new RangeError(`${value} is no string`);
    const text = Buffer.from(value);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    return Buffer.concat([length, text]);
  });
  return new Uint8Array(Buffer.concat(parts));
}

function boolean(value: Value): number {
  if (typeof value !== "boolean") throw new RangeError(`${value} is neither true nor false`);
  return value ? 1 : 0;
}

function real(value: Value): number {
  const special = typeof value === "string" && ["NaN", "Infinity", "-Infinity"].includes(value);
  if (typeof value !== "number" && !special) throw new RangeError(`${value} is no number`);
  return Number(value);
}

function unsigned(bits: number, value: Value): bigint {
  const exact = integer(value);
  if (BigInt.asUintN(bits, exact) !== exact) throw new RangeError(`${value} is not in UINT${bits}`);
  return exact;
}

function signed(bits: number, value: Value): bigint {
  const exact = integer(value);
  if (BigInt.asIntN(bits, exact) !== exact) throw new RangeError(`${value} is not in INT${bits}`);
  return exact;
}

/** Integers beyond 2^53 are written as strings. */
function integer(value: Value): bigint {
  if (!/^-?[0-9]+$/.test(String(value))) throw new RangeError(`${value} is no integer`);
  return BigInt(value);
}

function checkLength(
  datatype: Datatype,
  shape: readonly number[],
  data: Uint8Array<ArrayBuffer>,
): void {
  if (datatype === "BYTES") {
    const [expected, given] = [elementCount(shape), countStrings(data)];
    if (given !== expected) {
      throw new RangeError(`has ${given} elements; its shape has ${expected}`);
    }
    return;
  }
  const expected = byteLength(datatype, shape);
  if (data.byteLength === expected) return;
  throw new RangeError(`has ${data.byteLength} bytes; its datatype and shape need ${expected}`);
}

function countStrings(data: Uint8Array<ArrayBuffer>): number {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let count = 0, at = 0;
  while (at + 4 <= data.byteLength) {
    at += 4 + view.getUint32(at, true);
    count++;
  }
  if (at !== data.byteLength) throw new RangeError("has a string that breaks off");
  return count;
}
