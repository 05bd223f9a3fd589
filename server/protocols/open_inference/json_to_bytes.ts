/**
 * The `data` of a JSON tensor as little-endian bytes. Nothing is allocated from a declared shape:
 * the elements are counted first, and what does not fit its datatype is refused, never wrapped.
 *
 * @module
 */
import { type Datatype, elementCount, type TensorShape } from "../../../models/tensor.ts";
import { describe } from "../describe.ts";
import { invalid } from "./fields.ts";
import { allocate } from "./slab.ts";
import { frameElements } from "../../../models/bytes_elements.ts";

/** Deepest nesting of `data`; no tensor has so many dimensions. */
const MAX_NESTING = 64;

/** An element that its datatype cannot hold. */
class BadElement {
  constructor(readonly index: number, readonly value: unknown, readonly expected: string) {}
}

/** Elements of one datatype to bytes. `exact`: the text was read by the exact reader. */
type Writer = (
  values: readonly unknown[],
  exact: boolean,
) => Uint8Array<ArrayBuffer> | BadElement;

/**
 * Converts the data of an input.
 *
 * @param data Flat or nested in any way: only the number of elements counts.
 * @param exact Whether infinities in it were written as such; without, they are numbers too large.
 * @throws {SluiceError} `invalid_argument` naming the input, what was given and what was expected.
 */
export function jsonToBytes(
  input: TensorShape,
  data: unknown,
  exact: boolean,
): Uint8Array<ArrayBuffer> {
  const { name, datatype, shape } = input;
  const count = elementCount(shape);
  if (!Array.isArray(data)) {
    throw invalid(`Input '${name}' has ${describe(data)} as 'data', expected an array`);
  }
  const write = WRITERS[datatype];
  if (write === undefined) {
    throw invalid(
      `Input '${name}' has datatype ${datatype}, which has no JSON form; ` +
        "send it as binary data with the parameter 'binary_data_size'",
    );
  }
  let values: readonly unknown[] = data;
  if (data.length !== count || Array.isArray(data[0])) {
    values = flatten(name, data);
    if (values.length !== count) {
      throw invalid(
        `Input '${name}' has ${values.length} elements in 'data', ` +
          `expected ${count} for shape [${shape}]`,
      );
    }
  }
  let result = write(values, exact);
  if (result instanceof BadElement && Array.isArray(result.value)) {
    const flat = flatten(name, data);
    if (flat.length === count) result = write(flat, exact);
  }
  if (result instanceof BadElement) {
    throw invalid(
      `Input '${name}' has ${describe(result.value)} as element ${result.index} of 'data', ` +
        `expected ${result.expected} for datatype ${datatype}`,
    );
  }
  return result;
}

function flatten(name: string, data: readonly unknown[]): unknown[] {
  const flat: unknown[] = [];
  const stack: { readonly array: readonly unknown[]; next: number }[] = [{ array: data, next: 0 }];
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    if (top.next === top.array.length) {
      stack.pop();
      continue;
    }
    const value = top.array[top.next++];
    if (!Array.isArray(value)) {
      flat.push(value);
      continue;
    }
    if (stack.length === MAX_NESTING) {
      throw invalid(`Input '${name}' has 'data' nested deeper than ${MAX_NESTING} levels`);
    }
    stack.push({ array: value, next: 0 });
  }
  return flat;
}

/** A typed array's constructor. */
type View<T> = new (buffer: ArrayBuffer, byteOffset: number, length: number) => T;

function fillFloats(
  Floats: View<Float32Array | Float64Array>,
  size: number,
  values: readonly unknown[],
  exact: boolean,
): Uint8Array<ArrayBuffer> | BadElement {
  const bytes = allocate(values.length * size);
  const into = new Floats(bytes.buffer, bytes.byteOffset, values.length);
  for (let i = 0; i < into.length; i++) {
    const value = values[i];
    if (typeof value === "number") {
      if (!exact && (value === Infinity || value === -Infinity)) {
        return new BadElement(i, value, "a number no larger than 1.8e308");
      }
      into[i] = value;
    } else if (typeof value === "bigint") into[i] = Number(value);
    else return new BadElement(i, value, "a number");
  }
  return bytes;
}

function integers(
  Integers: View<Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array>,
  size: number,
  min: number,
  max: number,
): Writer {
  return (values) => {
    const bytes = allocate(values.length * size);
    const into = new Integers(bytes.buffer, bytes.byteOffset, values.length);
    for (let i = 0; i < into.length; i++) {
      const value = values[i];
      if (typeof value !== "number" || !(value >= min && value <= max) || value % 1 !== 0) {
        return new BadElement(i, value, `an integer from ${min} to ${max}`);
      }
      into[i] = value;
    }
    return bytes;
  };
}

function longIntegers(
  Integers: View<BigInt64Array | BigUint64Array>,
  min: bigint,
  max: bigint,
): Writer {
  return (values) => {
    const bytes = allocate(values.length * 8);
    const into = new Integers(bytes.buffer, bytes.byteOffset, values.length);
    for (let i = 0; i < into.length; i++) {
      const value = values[i];
      const integer = typeof value === "bigint"
        ? value
        : typeof value === "number" && Number.isSafeInteger(value)
        ? BigInt(value)
        : undefined;
      if (integer === undefined || integer < min || integer > max) {
        return new BadElement(i, value, `an integer from ${min} to ${max}, written in digits`);
      }
      into[i] = integer;
    }
    return bytes;
  };
}

const encoder = new TextEncoder();

/** FP16 and BF16 are missing: the protocol gives them no JSON form. */
const WRITERS: { readonly [datatype in Datatype]?: Writer } = {
  BOOL: (values) => {
    const into = allocate(values.length);
    for (let i = 0; i < into.length; i++) {
      const value = values[i];
      if (typeof value !== "boolean") return new BadElement(i, value, "true or false");
      into[i] = value ? 1 : 0;
    }
    return into;
  },
  UINT8: integers(Uint8Array, 1, 0, 0xff),
  UINT16: integers(Uint16Array, 2, 0, 0xffff),
  UINT32: integers(Uint32Array, 4, 0, 0xffffffff),
  UINT64: longIntegers(BigUint64Array, 0n, 2n ** 64n - 1n),
  INT8: integers(Int8Array, 1, -0x80, 0x7f),
  INT16: integers(Int16Array, 2, -0x8000, 0x7fff),
  INT32: integers(Int32Array, 4, -0x80000000, 0x7fffffff),
  INT64: longIntegers(BigInt64Array, -(2n ** 63n), 2n ** 63n - 1n),
  FP32: (values, exact) => fillFloats(Float32Array, 4, values, exact),
  FP64: (values, exact) => fillFloats(Float64Array, 8, values, exact),
  BYTES: (values) => {
    const elements: Uint8Array<ArrayBuffer>[] = [];
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (typeof value !== "string" || !value.isWellFormed()) {
        return new BadElement(i, value, "a string of Unicode text");
      }
      elements.push(encoder.encode(value));
    }
    return frameElements(elements);
  },
};
