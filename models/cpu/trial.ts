/**
 * Trial runs of a model: what its iterations look like before there are any requests.
 *
 * @module
 */
import type { BatchingRule, CarriedTensor, Model } from "../model.ts";
import { elementCount, type Tensor, type TensorSpec, zeroTensor } from "../tensor.ts";

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
  const carry = model.sequence?.carry ?? [];
  const anyFree = inputs.some(({ shape }) => shape.some((dim) => dim < 0));
  const samples = model.samples.length > 0
    ? model.samples
    : FREE_DIMS.slice(0, anyFree ? undefined : 1).map((free) => zeros(inputs, carry, free));
  return samples.map((sample) => ({ inputs: completed(inputs, carry, sample) }));
}

/** The same trial so many times over, along the batch axis of the inputs that have one. */
export function repeated(trial: Trial, rows: number, model: Model): Trial {
  const axes = batchAxes(model);
  return {
    inputs: trial.inputs.map((input) => {
      const axis = axes.get(input.name);
      return axis === undefined ? input : repeat(input, axis, rows);
    }),
  };
}

/** How the model's iterations join best: as sequences, where these may be joined. */
export function joiningOf({ batching, sequence }: Model): BatchingRule {
  return sequence?.batching.join ? sequence.batching : batching;
}

function batchAxes(model: Model): Map<string, number> {
  const { signature, sequence } = model;
  const joining = joiningOf(model);
  const axes = new Map<string, number>();
  for (const [index, { name }] of signature.inputs.entries()) {
    if (joining.batchedInputs[index]) axes.set(name, 0);
  }
  if (joining === sequence?.batching) {
    for (const { input, batchAxis } of sequence.carry) axes.set(input, batchAxis);
  }
  return axes;
}

/** In the model's order, with what sequences would carry over and a request may leave out. */
function completed(
  specs: readonly TensorSpec[],
  carry: readonly CarriedTensor[],
  sample: readonly Tensor[],
): Tensor[] {
  return specs.flatMap(({ name }) => {
    const given = sample.find((tensor) => tensor.name === name);
    const carried = carry.find(({ input }) => input === name);
    return given ?? (carried === undefined ? [] : zeroTensor({ ...carried, name }));
  });
}

function zeros(
  specs: readonly TensorSpec[],
  carry: readonly CarriedTensor[],
  free: number,
): Tensor[] {
  const carried = new Set(carry.map(({ input }) => input));
  return specs.filter(({ name, optional }) => !optional || carried.has(name))
    .map((spec) => zeroTensor(spec, free));
}

function repeat(tensor: Tensor, axis: number, times: number): Tensor {
  const { data, shape } = tensor;
  const blocks = elementCount(shape.slice(0, axis));
  const length = data.length / blocks;
  const joined = new Uint8Array(data.length * times);
  for (let i = 0; i < blocks * times; i++) {
    const start = Math.floor(i / times) * length;
    joined.set(data.subarray(start, start + length), i * length);
  }
  return { ...tensor, shape: shape.with(axis, shape[axis] * times), data: joined };
}
