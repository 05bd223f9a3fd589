/**
 * Tensors as ONNX Runtime holds them.
 *
 * @module
 */
import type { Environment } from "./environment.ts";
import type { OnnxRuntime } from "./library.ts";
import { wordArray } from "./memory.ts";

/** `ONNXTensorElementDataType`, the values that models use for tensors of numbers and text. */
export const ELEMENT_TYPES = {
  float: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  double: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
} as const;

/** An element type by ONNX's name. */
export type ElementType = keyof typeof ELEMENT_TYPES;

const NAMES = new Map(
  Object.entries(ELEMENT_TYPES).map(([name, value]) => [value as number, name as ElementType]),
);

/** Element type and dimensions of a tensor. */
export interface TensorInfo {
  /** Undefined when it is a type that this module does not name (4-bit integers, 8-bit floats, complex numbers). */
  readonly elementType: ElementType | undefined;
  /** Empty for a scalar. */
  readonly shape: readonly number[];
}

/**
 * A tensor over the caller's own memory.
 *
 * @param data Stable memory (see `stableBytes`) of exactly the tensor's size. The caller keeps it
 * referenced until the tensor is released.
 * @throws {OnnxRuntimeError}
 */
export function wrapTensor(
  environment: Environment,
  elementType: ElementType,
  shape: readonly number[],
  data: Uint8Array<ArrayBuffer>,
): Deno.PointerObject {
  const { runtime, hostMemory } = environment;
  return runtime.handle(
    "CreateTensorWithDataAsOrtValue",
    (out) =>
      runtime.api.CreateTensorWithDataAsOrtValue.call(
        hostMemory,
        // Of the whole buffer: an empty view has no address.
        Deno.UnsafePointer.of(data.buffer),
        BigInt(data.byteLength),
        wordArray(shape),
        BigInt(shape.length),
        ELEMENT_TYPES[elementType],
        out,
      ),
  );
}

/** Type and shape of a tensor. */
export function tensorInfo(runtime: OnnxRuntime, tensor: Deno.PointerObject): TensorInfo {
  const { api } = runtime;
  const info = runtime.handle(
    "GetTensorTypeAndShape",
    (out) => api.GetTensorTypeAndShape.call(tensor, out),
  );
  try {
    return readTensorInfo(runtime, info);
  } finally {
    api.ReleaseTensorTypeAndShapeInfo.call(info);
  }
}

function readTensorInfo(runtime: OnnxRuntime, info: Deno.PointerObject): TensorInfo {
  const { api } = runtime;
  // The out parameter is a 32-bit enumeration; the word around it starts as zero.
  const elementType = runtime.word(
    "GetTensorElementType",
    (out) => api.GetTensorElementType.call(info, out),
  );
  const rank = Number(
    runtime.word("GetDimensionsCount", (out) => api.GetDimensionsCount.call(info, out)),
  );
  const dims = new BigInt64Array(new ArrayBuffer(rank * 8));
  if (rank > 0) {
    runtime.check(
      "GetDimensions",
      api.GetDimensions.call(info, new Uint8Array(dims.buffer), BigInt(rank)),
    );
  }
  return { elementType: NAMES.get(Number(elementType)), shape: Array.from(dims, Number) };
}

/**
 * Copies a tensor's elements out.
 *
 * @param target As many bytes as the tensor has.
 */
export function copyTensor(
  runtime: OnnxRuntime,
  tensor: Deno.PointerObject,
  target: Uint8Array<ArrayBuffer>,
): void {
  if (target.byteLength === 0) return;
  const data = runtime.handle(
    "GetTensorMutableData",
    (out) => runtime.api.GetTensorMutableData.call(tensor, out),
  );
  new Deno.UnsafePointerView(data).copyInto(target);
}
