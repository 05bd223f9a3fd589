/**
 * Tensors as they travel: a name, a datatype, a shape and raw little-endian bytes. This is the
 * binary form of the Open Inference Protocol, so a binary request is never converted on its way to
 * the device.
 *
 * @module
 */

/** Bytes per element of each datatype; 0 marks BYTES, whose elements vary in length. */
export const DATATYPE_BYTES = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  BF16: 2,
  FP32: 4,
  FP64: 8,
  BYTES: 0,
} as const;

/** A datatype of the Open Inference Protocol v2. */
export type Datatype = keyof typeof DATATYPE_BYTES;

/** Whether `name` is a datatype of the protocol. */
export function isDatatype(name: string): name is Datatype {
  return Object.hasOwn(DATATYPE_BYTES, name);
}

/** A tensor's name, datatype and exact shape. */
export interface TensorShape {
  /** As the model declares it. */
  readonly name: string;
  /** The type of every element. */
  readonly datatype: Datatype;
  /** Every dimension is known, 0 or more; empty for a scalar. */
  readonly shape: readonly number[];
}

/**
 * A tensor with its data: row-major, little-endian. For BYTES every element is a 32-bit length
 * followed by that many bytes, as in the protocol's binary extension.
 */
export interface Tensor extends TensorShape {
  /** Often a view of a larger buffer, at any offset: not aligned to the element size. */
  readonly data: Uint8Array<ArrayBuffer>;
}

/** What a model declares of a tensor; a dimension of -1 is free. */
export interface TensorSpec {
  /** Unique among the model's inputs, or outputs. */
  readonly name: string;
  /** Never converted: a tensor of another datatype is refused. */
  readonly datatype: Datatype;
  /** Dimensions, the batch included; -1 where any size goes. */
  readonly shape: readonly number[];
  /** The model declares no shape at all: any rank passes, and `shape` is empty. */
  readonly unranked?: boolean;
  /** Names of the free dimensions, where the model gives any; as long as `shape`. */
  readonly dimNames?: readonly (string | undefined)[];
  /** Inputs only: the model carries a default, so a request may leave it out. */
  readonly optional?: boolean;
}

/** Whether the first axis may be the batch. */
export function leadsWithFreeAxis({ shape }: TensorSpec): boolean {
  return shape[0] === -1;
}

/** Number of elements of a shape; 1 for a scalar. */
export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const dim of shape) count *= dim;
  return count;
}

/** Bytes of a tensor of this datatype and shape. Not defined for BYTES (throws a RangeError). */
export function byteLength(datatype: Datatype, shape: readonly number[]): number {
  const size = DATATYPE_BYTES[datatype];
  if (size === 0) throw new RangeError("The byte length of a BYTES tensor depends on its elements");
  return elementCount(shape) * size;
}

/** Zeros of a declared shape, its free dimensions being `free`; empty strings for BYTES. */
export function zeroTensor({ name, datatype, shape }: TensorSpec, free = 1): Tensor {
  const exact = shape.map((dim) => dim < 0 ? free : dim);
  // An empty string is its length alone: four zero bytes.
  const bytes = elementCount(exact) * (DATATYPE_BYTES[datatype] || 4);
  return { name, datatype, shape: exact, data: new Uint8Array(bytes) };
}
