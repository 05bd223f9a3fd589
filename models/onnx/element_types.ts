/**
 * ONNX's element types and the protocol's datatypes they correspond to.
 *
 * @see https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3 (TensorProto.DataType)
 * @module
 */
import type { Datatype } from "../tensor.ts";

/** `TensorProto.DataType` number of every datatype of the protocol. */
export const ELEMENT_TYPES: Readonly<Record<Datatype, number>> = {
  FP32: 1,
  UINT8: 2,
  INT8: 3,
  UINT16: 4,
  INT16: 5,
  INT32: 6,
  INT64: 7,
  BYTES: 8,
  BOOL: 9,
  FP16: 10,
  FP64: 11,
  UINT32: 12,
  UINT64: 13,
  BF16: 16,
};

const DATATYPES: ReadonlyMap<number, Datatype> = new Map(
  (Object.keys(ELEMENT_TYPES) as Datatype[]).map((name) => [ELEMENT_TYPES[name], name]),
);

/** Names of the element types that the protocol has no datatype for. */
const OTHERS: ReadonlyMap<number, string> = new Map([
  [14, "COMPLEX64"],
  [15, "COMPLEX128"],
  [17, "FLOAT8E4M3FN"],
  [18, "FLOAT8E4M3FNUZ"],
  [19, "FLOAT8E5M2"],
  [20, "FLOAT8E5M2FNUZ"],
  [21, "UINT4"],
  [22, "INT4"],
  [23, "FLOAT4E2M1"],
  [24, "FLOAT8E8M0"],
]);

/** The protocol's datatype for an ONNX element type; undefined where it has none. */
export function datatypeOf(elementType: number): Datatype | undefined {
  return DATATYPES.get(elementType);
}

/** An element type's name for messages. */
export function elementTypeName(elementType: number): string {
  return DATATYPES.get(elementType) ?? OTHERS.get(elementType) ?? `element type ${elementType}`;
}
