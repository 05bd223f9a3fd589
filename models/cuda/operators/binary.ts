/**
 * Arithmetic on two tensors, element by element, with broadcasting.
 *
 * @module
 */
import { broadcastShape, broadcastStrides } from "../../onnx/shapes.ts";
import { elementCount } from "../../tensor.ts";
import { ELEMENTWISE_BLOCK, type KernelName, MOST_AXES } from "../kernels.ts";
import { broadcastNumbers, isKnownDatatype, tensorOf } from "./numbers.ts";
import type { Lowering } from "../lowering.ts";
import type { DeviceOperator, OperatorCall, Value, ValueType } from "./operator.ts";

/** What a kernel computes, for values that are known. */
type Compute = (a: number, b: number) => number;

/** Addition. */
export const add: DeviceOperator = binary("add", (a, b) => a + b);
/** Subtraction. */
export const sub: DeviceOperator = binary("sub", (a, b) => a - b);
/** Multiplication. */
export const mul: DeviceOperator = binary("mul", (a, b) => a * b);
/** Division. */
export const div: DeviceOperator = binary("div", (a, b) => a / b);

/** Powers; the exponents may be whole numbers that are known. */
export const pow: DeviceOperator = {
  infer: (call) => ({
    datatype: call.real(0).datatype,
    shape: broadcastShape(call.real(0).shape, call.input(1).shape),
  }),
  lower(call, output, lowering) {
    const exponent = call.input(1);
    const { tensor, shape } = exponent;
    const isReal = exponent.datatype === "FP32" || tensor === undefined;
    const real = isReal ? call.real(1) : {
      datatype: "FP32" as const,
      shape,
      tensor: tensorOf("FP32", shape, broadcastNumbers(tensor, shape)),
    };
    launchBinary("pow", [call.real(0), real], output, call, lowering);
  },
};

type Name = "add" | "sub" | "mul" | "div" | "pow";

function binary(name: Name, compute: Compute): DeviceOperator {
  return {
    infer: (call) => ({
      datatype: call.real(0).datatype,
      shape: broadcastShape(call.real(0).shape, call.real(1).shape),
    }),
    evaluate(call) {
      const known = call.known();
      if (known === undefined) return undefined;
      const [a, b] = known;
      if (!isKnownDatatype(a.datatype) || a.datatype !== b.datatype) return undefined;
      const shape = broadcastShape(a.shape, b.shape);
      const [left, right] = [broadcastNumbers(a, shape), broadcastNumbers(b, shape)];
      if (a.datatype !== "FP32" && name === "div" && right.includes(0)) {
        throw call.invalid("divides by zero");
      }
      return tensorOf(a.datatype, shape, left.map((value, i) => compute(value, right[i])));
    },
    lower(call, output, lowering) {
      launchBinary(name, [call.real(0), call.real(1)], output, call, lowering);
    },
  };
}

function launchBinary(
  name: Name,
  [a, b]: readonly [Value, Value],
  type: ValueType,
  call: OperatorCall,
  lowering: Lowering,
): void {
  const out = lowering.output(call, type);
  const count = elementCount(type.shape);
  const axes = joinedAxes(a.shape, b.shape, type.shape);
  const grid = [Math.ceil(count / ELEMENTWISE_BLOCK), 1, 1] as const;
  const pointers = [lowering.place(a), lowering.place(b), out] as const;
  if (axes.length <= 1) {
    const [{ strideA, strideB } = { strideA: 0, strideB: 0 }] = axes;
    const kernel: KernelName = `binary_${name}_f32_flat`;
    lowering.launch(kernel, grid, ...pointers, count, 1 - strideA, 1 - strideB);
    return;
  }
  if (axes.length > MOST_AXES) {
    throw call.unsupported(
      `broadcasts [${a.shape}] and [${b.shape}] along ${axes.length} axes by turns; the cuda ` +
        `device does along ${MOST_AXES}`,
    );
  }
  const padded = (values: number[]) => [...values, ...Array(MOST_AXES - axes.length).fill(0)];
  lowering.launch(`binary_${name}_f32`, grid, ...pointers, count, [
    axes.length,
    ...padded(axes.map(({ dim }) => dim)),
    ...padded(axes.map(({ strideA }) => strideA)),
    ...padded(axes.map(({ strideB }) => strideB)),
  ]);
}

interface Axis {
  dim: number;
  strideA: number;
  strideB: number;
}

/** The axes of a broadcast, without those of size 1, neighbours joined that both operands walk alike. */
function joinedAxes(
  a: readonly number[],
  b: readonly number[],
  shape: readonly number[],
): readonly Axis[] {
  const [stridesA, stridesB] = [broadcastStrides(a, shape), broadcastStrides(b, shape)];
  const axes: Axis[] = [];
  for (const [i, dim] of shape.entries()) {
    if (dim === 1) continue;
    const [strideA, strideB] = [stridesA[i], stridesB[i]];
    const outer = axes.at(-1);
    if (outer?.strideA === strideA * dim && outer.strideB === strideB * dim) {
      outer.dim *= dim;
      outer.strideA = strideA;
      outer.strideB = strideB;
    } else axes.push({ dim, strideA, strideB });
  }
  return axes;
}
