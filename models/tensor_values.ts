/**
 * The values that a tensor's bytes stand for.
 *
 * @module
 */
import { type Datatype, DATATYPE_BYTES } from "./tensor.ts";

/** Datatypes of real numbers. */
export type RealDatatype = "FP16" | "BF16" | "FP32" | "FP64";
/** Datatypes that have an order: all but BOOL and BYTES. */
export type NumericDatatype = Exclude<Datatype, "BOOL" | "BYTES">;

/** Values of a tensor of real numbers. */
export type Reals = Float16Array | Float32Array | Float64Array;
/** Values of any tensor of numbers. */
export type Numbers =
  | Reals
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** Whether its values are real numbers. */
export function isReal(datatype: Datatype): datatype is RealDatatype {
  return datatype === "FP16" || datatype === "BF16" || datatype === "FP32" || datatype === "FP64";
}

/** Whether its values are numbers. */
export function isNumeric(datatype: Datatype): datatype is NumericDatatype {
  return Object.hasOwn(VIEWS, datatype);
}

/** The values of a tensor's data: a view where its alignment allows one. */
export function readNumbers(datatype: RealDatatype, data: Uint8Array<ArrayBuffer>): Reals;
/** The values of a tensor's data: a view where its alignment allows one. */
export function readNumbers(datatype: NumericDatatype, data: Uint8Array<ArrayBuffer>): Numbers;
export function readNumbers(datatype: NumericDatatype, data: Uint8Array<ArrayBuffer>): Numbers {
  const size = DATATYPE_BYTES[datatype];
  const { buffer, byteOffset, byteLength } = data.byteOffset % size === 0 ? data : data.slice();
  return VIEWS[datatype](buffer, byteOffset, byteLength / size);
}

/** BF16 is the upper half of an FP32. */
function widen(halves: Uint16Array): Float32Array {
  const bits = new Uint32Array(halves.length);
  for (let i = 0; i < bits.length; i++) bits[i] = halves[i] << 16;
  return new Float32Array(bits.buffer);
}

type View = (buffer: ArrayBuffer, byteOffset: number, length: number) => Numbers;

const VIEWS: Readonly<Record<NumericDatatype, View>> = {
  UINT8: (b, o, n) => new Uint8Array(b, o, n),
  UINT16: (b, o, n) => new Uint16Array(b, o, n),
  UINT32: (b, o, n) => new Uint32Array(b, o, n),
  UINT64: (b, o, n) => new BigUint64Array(b, o, n),
  INT8: (b, o, n) => new Int8Array(b, o, n),
  INT16: (b, o, n) => new Int16Array(b, o, n),
  INT32: (b, o, n) => new Int32Array(b, o, n),
  INT64: (b, o, n) => new BigInt64Array(b, o, n),
  FP16: (b, o, n) => new Float16Array(b, o, n),
  BF16: (b, o, n) => widen(new Uint16Array(b, o, n)),
  FP32: (b, o, n) => new Float32Array(b, o, n),
  FP64: (b, o, n) => new Float64Array(b, o, n),
};

/** All datatypes of numbers. */
export const NUMERIC_DATATYPES: readonly string[] = Object.keys(VIEWS);
