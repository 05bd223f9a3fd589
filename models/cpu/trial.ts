/**
 * Trial runs of a model: what its iterations look like before there are any requests.
 *
 * @module
 */
import type { Model } from "../model.ts";
import { type Tensor, type TensorSpec, zeroTensor } from "../tensor.ts";

/** Complete inputs in the model's order. */
export interface Trial {
  /** Without optional ones that the sample leaves out. */
  readonly inputs: readonly Tensor[];
}

/** Sizes that free dimensions get where there is no sample: two, to show how a run grows with them. */
const FREE_DIMS = [1, 8];

/** Trials of the model's samples, or of zeros where it has none. */
export function trialsOf(model: Model): Trial[] {
  const { inputs } = model.signature;
  const anyFree = inputs.some(({ shape }) => shape.some((dim) => dim < 0));
  const samples = model.samples.length > 0
    ? model.samples
    : FREE_DIMS.slice(0, anyFree ? undefined : 1).map((free) => zeros(inputs, free));
  return samples.map((sample) => ({ inputs: inOrder(inputs, sample) }));
}

/** The same trial so many times over, along the batch axis of the inputs that have one. */
export function repeated(trial: Trial, rows: number, model: Model): Trial {
  const { signature, batching } = model;
  const batched = new Set(
    signature.inputs.filter((_, index) => batching.batchedInputs[index]).map(({ name }) => name),
  );
  return {
    inputs: trial.inputs.map((input) => batched.has(input.name) ? repeat(input, rows) : input),
  };
}

function inOrder(specs: readonly TensorSpec[], sample: readonly Tensor[]): Tensor[] {
  return specs.flatMap((spec) => sample.find((tensor) => tensor.name === spec.name) ?? []);
}

function zeros(specs: readonly TensorSpec[], free: number): Tensor[] {
  return specs.filter((spec) => !spec.optional).map((spec) => zeroTensor(spec, free));
}

function repeat(tensor: Tensor, times: number): Tensor {
  const { data, shape } = tensor;
  const joined = new Uint8Array(data.length * times);
  for (let i = 0; i < times; i++) joined.set(data, i * data.length);
  return { ...tensor, shape: [shape[0] * times, ...shape.slice(1)], data: joined };
}
