/**
 * The answer that requests are checked against.
 *
 * @module
 */
import { InferenceSession, Tensor } from "onnxruntime-node";

/** Runs a model of one FP32 input `x` and one FP32 output `y` by onnxruntime-node. */
export async function plainAnswer(
  file: Uint8Array,
  x: Float32Array,
  shape: readonly number[],
): Promise<Float32Array> {
  const session = await InferenceSession.create(file);
  const { y } = await session.run({ x: new Tensor("float32", x, shape) });
  return Float32Array.from(y.data as Float32Array);
}
