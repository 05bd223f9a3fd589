/**
 * MatMul: products of stacks of matrices.
 *
 * @module
 */
import { broadcastShape, broadcastStrides, productShape } from "../../onnx/shapes.ts";
import { elementCount } from "../../tensor.ts";
import type { DeviceOperator } from "./operator.ts";
import { absorbTail, launchProduct, shifted } from "./product.ts";

/** Of one node: a small request could ask for millions. */
const MOST_LAUNCHES = 4096;

/** The row of the table. */
export const matmul: DeviceOperator = {
  infer(call) {
    return {
      datatype: call.real(0).datatype,
      shape: productShape(call.real(0).shape, call.real(1).shape),
    };
  },
  lower(call, type, lowering) {
    const [left, right] = [call.real(0), call.real(1)];
    const a = left.shape.length === 1 ? [1, ...left.shape] : left.shape;
    const b = right.shape.length === 1 ? [...right.shape, 1] : right.shape;
    const [m, k, n] = [a.at(-2)!, a.at(-1)!, b.at(-1)!];
    const [stackA, stackB] = [a.slice(0, -2), b.slice(0, -2)];
    const stack = broadcastShape(stackA, stackB);
    const [countA, countB, batch] = [stackA, stackB, stack].map(elementCount);
    // One right operand for all: the left ones are a single matrix of many rows.
    const joined = countB === 1;
    const isMatrix = joined && left.shape.length > 1 && right.shape.length > 1;
    const tail = absorbTail(call, type, lowering, isMatrix ? [batch * m, n] : undefined);
    const out = lowering.allocate(type);
    lowering.define(tail.output, type, out);
    const product = { a: lowering.place(left), b: lowering.place(right), out, m, n, k };
    if (joined) {
      launchProduct(call, lowering, { ...product, m: batch * m }, tail);
    } else if ([1, batch].includes(countA) && countB === batch) {
      launchProduct(call, lowering, { ...product, batch, ownA: countA > 1, ownB: true }, tail);
    } else {
      if (batch > MOST_LAUNCHES) {
        throw call.unsupported(
          `broadcasts stacks [${stackA}] and [${stackB}], which takes ${batch} launches; the cuda ` +
            `device does ${MOST_LAUNCHES}`,
        );
      }
      const [placesA, placesB] = [stackA, stackB].map((own) => placesIn(own, stack));
      for (let i = 0; i < batch; i++) {
        launchProduct(call, lowering, {
          ...product,
          a: shifted(product.a, placesA[i] * m * k),
          b: shifted(product.b, placesB[i] * k * n),
          out: shifted(out, i * m * n),
        }, tail);
      }
    }
  },
};

/** For every matrix of a stack, which one of a smaller stack it is. */
function placesIn(own: readonly number[], stack: readonly number[]): number[] {
  const strides = broadcastStrides(own, stack);
  return stack.reduce<number[]>(
    (places, dim, axis) =>
      places.flatMap((place) => Array.from({ length: dim }, (_, i) => place + i * strides[axis])),
    [0],
  );
}
