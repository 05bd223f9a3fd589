/**
 * Tensors of strings. An element is any bytes, NUL and invalid UTF-8 included. A call an element
 * takes microseconds each, so all are written as C strings in one; only those that hold NUL are
 * written again, one by one.
 *
 * @module
 */
import type { OnnxRuntime } from "./library.ts";
import { addressOf, wordArray } from "./memory.ts";
import { ELEMENT_TYPES } from "./values.ts";

/**
 * A tensor of empty strings in ONNX Runtime's own memory.
 *
 * @throws {OnnxRuntimeError}
 */
export function createStringTensor(
  runtime: OnnxRuntime,
  shape: readonly number[],
): Deno.PointerObject {
  const { api } = runtime;
  const allocator = runtime.handle(
    "GetAllocatorWithDefaultOptions",
    (out) => api.GetAllocatorWithDefaultOptions.call(out),
  );
  return runtime.handle("CreateTensorAsOrtValue", (out) =>
    api.CreateTensorAsOrtValue.call(
      allocator,
      wordArray(shape),
      BigInt(shape.length),
      ELEMENT_TYPES.string,
      out,
    ));
}

/** Elements as C strings, which may hold NULs of their own. */
export interface CStrings {
  /** Stable bytes. A NUL follows every element. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Offset of each element. */
  readonly starts: Float64Array;
  /** Offset of the NUL that follows each element. */
  readonly ends: Float64Array;
}

/**
 * Replaces all elements of a string tensor.
 *
 * @throws {OnnxRuntimeError} Unless there are as many as the tensor has.
 */
export function writeStrings(
  runtime: OnnxRuntime,
  tensor: Deno.PointerObject,
  { bytes, starts, ends }: CStrings,
): void {
  if (starts.length === 0) return;
  const base = addressOf(bytes);
  const addresses = new BigUint64Array(starts.length);
  let length = 0;
  for (let i = 0; i < starts.length; i++) {
    addresses[i] = base + BigInt(starts[i]);
    length += ends[i] - starts[i];
  }
  runtime.check(
    "FillStringTensor",
    runtime.api.FillStringTensor.call(
      tensor,
      new Uint8Array(addresses.buffer),
      BigInt(starts.length),
    ),
  );
  // An element was cut at a NUL of its own if there are fewer bytes than were given.
  if (dataLength(runtime, tensor) === length) return;
  for (let i = 0; i < starts.length; i++) {
    if (bytes.indexOf(0, starts[i]) < ends[i]) {
      writeString(runtime, tensor, i, bytes.subarray(starts[i], ends[i]));
    }
  }
}

function writeString(
  runtime: OnnxRuntime,
  tensor: Deno.PointerObject,
  index: number,
  bytes: Uint8Array<ArrayBuffer>,
): void {
  const address = runtime.word(
    "GetResizedStringTensorElementBuffer",
    (out) =>
      runtime.api.GetResizedStringTensorElementBuffer.call(
        tensor,
        BigInt(index),
        BigInt(bytes.length),
        out,
      ),
  );
  if (bytes.length === 0) return;
  const target = Deno.UnsafePointer.create(address)!;
  new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(target, bytes.length)).set(bytes);
}

/** The elements of a string tensor, one after the other, and where each one starts. */
export interface Strings {
  /** The elements without anything between them. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Offset of each element; the last one ends where the bytes end. */
  readonly starts: Float64Array;
}

/** Reads all `count` elements of a string tensor. */
export function readStrings(
  runtime: OnnxRuntime,
  tensor: Deno.PointerObject,
  count: number,
): Strings {
  if (count === 0) return { bytes: new Uint8Array(0), starts: new Float64Array(0) };
  const { api } = runtime;
  const bytes = new Uint8Array(dataLength(runtime, tensor));
  const offsets = new BigUint64Array(count);
  runtime.check(
    "GetStringTensorContent",
    api.GetStringTensorContent.call(
      tensor,
      bytes,
      BigInt(bytes.length),
      new Uint8Array(offsets.buffer),
      BigInt(count),
    ),
  );
  const starts = new Float64Array(count);
  for (let i = 0; i < count; i++) starts[i] = Number(offsets[i]);
  return { bytes, starts };
}

/** Bytes of all elements together. */
function dataLength(runtime: OnnxRuntime, tensor: Deno.PointerObject): number {
  return Number(runtime.word(
    "GetStringTensorDataLength",
    (out) => runtime.api.GetStringTensorDataLength.call(tensor, out),
  ));
}
