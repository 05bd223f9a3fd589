/**
 * Tensors of strings. An element is any bytes, NUL and invalid UTF-8 included, which rules out the
 * calls that take C strings.
 *
 * @module
 */
import type { OnnxRuntime } from "./library.ts";
import { wordArray } from "./memory.ts";
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

/** Replaces element `index` of a string tensor. */
export function writeString(
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
  readonly starts: readonly number[];
}

/** Reads all `count` elements of a string tensor. */
export function readStrings(
  runtime: OnnxRuntime,
  tensor: Deno.PointerObject,
  count: number,
): Strings {
  if (count === 0) return { bytes: new Uint8Array(0), starts: [] };
  const { api } = runtime;
  const length = runtime.word(
    "GetStringTensorDataLength",
    (out) => api.GetStringTensorDataLength.call(tensor, out),
  );
  const bytes = new Uint8Array(Number(length));
  const starts = new BigUint64Array(count);
  runtime.check(
    "GetStringTensorContent",
    api.GetStringTensorContent.call(
      tensor,
      bytes,
      length,
      new Uint8Array(starts.buffer),
      BigInt(count),
    ),
  );
  return { bytes, starts: Array.from(starts, Number) };
}
