/**
 * Gemm: alpha a b + beta c.
 *
 * @module
 */
import { productShape, ShapeFault } from "../../onnx/shapes.ts";
import type { DeviceOperator, OperatorCall } from "./operator.ts";
import { absorbTail, type Bias, biasStrides, launchProduct } from "./product.ts";

/** The row of the table. */
export const gemm: DeviceOperator = {
  infer(call) {
    const [a, b] = [matrix(call, 0, "transA"), matrix(call, 1, "transB")];
    return { datatype: call.real(0).datatype, shape: productShape(a, b) };
  },
  lower(call, type, lowering) {
    const [m, n] = type.shape;
    const matrixShape = [m, n] as const;
    const c = call.optional(2) && call.real(2);
    const beta = call.number("beta", 1);
    let own: Bias | undefined;
    // Zero times c is nothing, whatever c holds.
    if (c !== undefined && beta !== 0) {
      const strides = biasStrides(c.shape, type.shape, matrixShape);
      if (strides === undefined) {
        throw new ShapeFault(`c of shape [${c.shape}] cannot be broadcast to [${type.shape}]`);
      }
      own = { place: lowering.place(c), row: strides[0], column: strides[1] };
    }
    const tail = absorbTail(call, type, lowering, own === undefined ? matrixShape : undefined);
    const out = lowering.allocate(type);
    lowering.define(tail.output, type, out);
    const product = {
      a: lowering.place(call.real(0)),
      b: lowering.place(call.real(1)),
      out,
      m,
      n,
      k: matrix(call, 0, "transA")[1],
      transposedA: call.number("transA", 0) !== 0,
      transposedB: call.number("transB", 0) !== 0,
      alpha: call.number("alpha", 1),
      beta: own === undefined ? 1 : beta,
    };
    launchProduct(call, lowering, product, { ...tail, bias: own ?? tail.bias });
  },
};

/** Rows and columns of an operand as it takes part in the product. */
function matrix(call: OperatorCall, index: number, transposed: string): readonly number[] {
  const { shape } = call.real(index);
  if (shape.length !== 2) throw new ShapeFault(`input ${index} of shape [${shape}] is no matrix`);
  return call.number(transposed, 0) === 0 ? shape : shape.toReversed();
}
