/** Models and steps for tests of devices. */
import type { Executable, IterationResult, Lane, Signature, Step } from "../../models/device.ts";
import type { Model } from "../../models/model.ts";
import { decodeOnnx } from "../../models/onnx/decode.ts";
import { signatureOf } from "../../models/onnx/signature.ts";
import type { Tensor, TensorShape } from "../../models/tensor.ts";
import { modelWith } from "../fixtures/model.ts";

/** A model of these bytes whose requests may be joined, 8 rows at most. */
export function modelOf(
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  settings: Partial<Model> = {},
): Model {
  const signature = signatureOf(decodeOnnx(bytes, name), name);
  return modelWith(name, signature, {
    file: { bytes },
    fileBytes: bytes.length,
    ...settings,
  });
}

export function signatureFor(inputs: readonly TensorShape[]): Signature {
  return { key: inputs.map(({ name, shape }) => `${name}:${shape.join("x")}`).join(","), inputs };
}

/** A step whose inputs come in one piece each. */
export function stepOf(inputs: readonly Tensor[], rows = 1): Step {
  return { signature: signatureFor(inputs), rows, inputs: inputs.map((input) => [input.data]) };
}

/** An FP32 tensor. */
export function fp32Tensor(
  name: string,
  shape: readonly number[],
  values: Iterable<number>,
): Tensor {
  return { name, datatype: "FP32", shape, data: new Uint8Array(Float32Array.from(values).buffer) };
}

/** The values of an FP32 tensor. */
export function fp32Values(tensor: Tensor): number[] {
  return Array.from(new Float32Array(tensor.data.slice().buffer));
}

/** Runs one iteration to its end. */
export function iterate(
  executable: Executable,
  lane: Lane,
  step: Step,
  expectedMicros = Infinity,
): Promise<IterationResult> {
  return new Promise((resolve) => executable.start(lane, step, expectedMicros, resolve));
}

/** Runs one iteration and gives copies of its outputs; throws its error. */
export async function outputsOf(
  executable: Executable,
  lane: Lane,
  step: Step,
  expectedMicros = Infinity,
): Promise<Tensor[]> {
  const result = await iterate(executable, lane, step, expectedMicros);
  const outputs = result.outputs.map((tensor) => ({ ...tensor, data: tensor.data.slice() }));
  result.release();
  if (result.error !== undefined) throw result.error;
  return outputs;
}
