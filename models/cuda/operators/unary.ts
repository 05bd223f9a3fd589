/**
 * Functions of single elements.
 *
 * @module
 */
import { elementCount } from "../../tensor.ts";
import { ELEMENTWISE_BLOCK } from "../kernels.ts";
import type { DeviceOperator } from "./operator.ts";

/** Square roots. */
export const sqrt: DeviceOperator = unary("unary_sqrt_f32");
/** max(x, 0). */
export const relu: DeviceOperator = unary("unary_relu_f32");
/** 1 / (1 + exp(-x)). */
export const sigmoid: DeviceOperator = unary("unary_sigmoid_f32");
/** Hyperbolic tangents. */
export const tanh: DeviceOperator = unary("unary_tanh_f32");

type Name = "unary_sqrt_f32" | "unary_relu_f32" | "unary_sigmoid_f32" | "unary_tanh_f32";

function unary(kernel: Name): DeviceOperator {
  return {
    infer: (call) => call.real(0),
    lower(call, output, lowering) {
      const x = call.real(0);
      const count = elementCount(x.shape);
      const out = lowering.output(call, output);
      lowering.launch(
        kernel,
        [Math.ceil(count / ELEMENTWISE_BLOCK), 1, 1],
        lowering.place(x),
        out,
        count,
      );
    },
  };
}
