/**
 * The protocol's datatypes as ONNX Runtime's element types.
 *
 * @module
 */
import type { ElementType } from "../../ffi/onnxruntime/values.ts";
import type { Datatype } from "../tensor.ts";

/** ONNX's element type of each datatype. */
export const ELEMENT_TYPE_OF: Readonly<Record<Datatype, ElementType>> = {
  BOOL: "bool",
  UINT8: "uint8",
  UINT16: "uint16",
  UINT32: "uint32",
  UINT64: "uint64",
  INT8: "int8",
  INT16: "int16",
  INT32: "int32",
  INT64: "int64",
  FP16: "float16",
  BF16: "bfloat16",
  FP32: "float",
  FP64: "double",
  BYTES: "string",
};
