/**
 * A client that sends and reads tensors as decimal numbers.
 *
 * @module
 */
import { type JsonTensor, tensorFromJson } from "../../models/tensor_json.ts";
import type { Tensor } from "../../models/tensor.ts";

/**
 * Runs `model` at the server and gives all outputs, in the model's order. Inputs are FP32 or INT64.
 *
 * @throws {Error} When the server refuses.
 */
export async function inferJson(
  server: string,
  model: string,
  inputs: readonly Tensor[],
  parameters?: Readonly<Record<string, unknown>>,
): Promise<Tensor[]> {
  const body = JSON.stringify({
    parameters,
    inputs: inputs.map(({ name, datatype, shape, data }) => {
      const { buffer } = data.slice();
      const values = datatype === "INT64"
        ? Array.from(new BigInt64Array(buffer), Number)
        : Array.from(new Float32Array(buffer));
      return { name, datatype, shape, data: values };
    }),
  });
  const response = await fetch(`${server}/v2/models/${model}/infer`, { method: "POST", body });
  if (!response.ok) throw new Error(`${model}: ${response.status} ${await response.text()}`);
  const { outputs }: { outputs: JsonTensor[] } = await response.json();
  return outputs.map(tensorFromJson);
}
