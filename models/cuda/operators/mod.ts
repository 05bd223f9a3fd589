/**
 * The table of operators: everything that the cuda device can run.
 *
 * @module
 */
import { add, div, mul, pow, sub } from "./binary.ts";
import { cast } from "./cast.ts";
import { gemm } from "./gemm.ts";
import { concat, constant, constantOfShape, expand, gather, shape, slice } from "./known.ts";
import { matmul } from "./matmul.ts";
import type { Operator } from "./operator.ts";
import { reduceMean } from "./reduce_mean.ts";
import { softmax } from "./softmax.ts";
import { relu, sigmoid, sqrt, tanh } from "./unary.ts";
import { flatten, identity, reshape, squeeze, unsqueeze } from "./views.ts";

/** By their names in ONNX's own operator set. */
export const OPERATORS: Readonly<Record<string, Operator>> = {
  Add: add,
  Cast: cast,
  Concat: concat,
  Constant: constant,
  ConstantOfShape: constantOfShape,
  Div: div,
  Expand: expand,
  Flatten: flatten,
  Gather: gather,
  Gemm: gemm,
  Identity: identity,
  MatMul: matmul,
  Mul: mul,
  Pow: pow,
  ReduceMean: reduceMean,
  Relu: relu,
  Reshape: reshape,
  Shape: shape,
  Sigmoid: sigmoid,
  Slice: slice,
  Softmax: softmax,
  Sqrt: sqrt,
  Squeeze: squeeze,
  Sub: sub,
  Tanh: tanh,
  Unsqueeze: unsqueeze,
};
