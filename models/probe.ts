/**
 * Finds out whether requests of a model may share an iteration. Nothing in a file says so: the
 * first axis may be time, a scale may be taken over all rows. So two requests run alone and
 * together, and only equal answers allow it.
 *
 * @module
 */
import type { Executable, Lane } from "./device.ts";
import { messageOf } from "./errors.ts";
import type { BatchingProbe } from "./manifest.ts";
import type { Model, ModelSignature } from "./model.ts";
import {
  comparison,
  FREE_SIZES,
  joined,
  type Request,
  run,
  sharedCondition,
  withSizes,
} from "./probe_trials.ts";
import type { Random } from "./random.ts";
import { randomTensor } from "./random_tensor.ts";
import { leadsWithFreeAxis, type Tensor } from "./tensor.ts";

/**
 * Probes a model whose batching rule leaves it open.
 *
 * @param lane Where the runs take place; they wait for what runs there.
 * @param random Gives numbers in [0, 1); from a seed, so that a probe can be repeated.
 */
export async function probeJoining(
  model: Model,
  executable: Pick<Executable, "start">,
  lane: Lane,
  random: Random,
): Promise<BatchingProbe> {
  const { signature } = model;
  const batchedInputs = signature.inputs.map(leadsWithFreeAxis);
  const no = (reason: string): BatchingProbe => ({ join: false, reason, batchedInputs });
  let failure = "";
  for (const [first, second] of candidates(model, batchedInputs, random)) {
    const together = joined(first, second, batchedNames(signature, batchedInputs));
    let outputs: Record<"first" | "second" | "together", Request>;
    try {
      outputs = {
        first: await run(executable, lane, first),
        second: await run(executable, lane, second),
        together: await run(executable, lane, together),
      };
    } catch (error) {
      failure ||= messageOf(error);
      continue;
    }
    const fault = comparison("requests", outputs.first, outputs.second, outputs.together);
    if (fault !== undefined) return no(fault);
    return { join: true, reason: consent(signature, batchedInputs), batchedInputs };
  }
  return no(`No two trial requests could be run alone and together: ${failure}`);
}

function batchedNames(signature: ModelSignature, batchedInputs: readonly boolean[]): Set<string> {
  return new Set(signature.inputs.filter((_, i) => batchedInputs[i]).map((spec) => spec.name));
}

/** Pairs of requests to try, the second of two rows for each of the first's. */
function* candidates(
  model: Model,
  batchedInputs: readonly boolean[],
  random: Random,
): Generator<[Request, Request]> {
  const { signature, samples } = model;
  const names = batchedNames(signature, batchedInputs);
  const [sample] = samples;
  const required = signature.inputs.filter((spec) => !spec.optional);
  const shapes = sample === undefined
    ? FREE_SIZES.map((size) => required.map((spec) => withSizes(spec, size)))
    : [sample];
  for (const request of shapes) {
    const first = request.map((tensor) => randomTensor(tensor, random));
    const second = request.map((tensor, i) =>
      names.has(tensor.name) ? randomTensor(repeatedShape(tensor), random) : first[i]
    );
    yield [first, second];
  }
  if (sample === undefined) return;
  // Real values, where random ones fail; the second request's rows in another order and scale.
  yield [sample, sample.map((tensor) => names.has(tensor.name) ? varied(tensor) : tensor)];
}

function repeatedShape<T extends { readonly shape: readonly number[] }>(tensor: T): T {
  const { shape } = tensor;
  return { ...tensor, shape: [shape[0] * 2, ...shape.slice(1)] };
}

/** Twice the tensor's rows; FP32 ones are made smaller, so that they differ from the first. */
function varied(tensor: Tensor): Tensor {
  const { data } = tensor;
  const twice = new Uint8Array(data.length * 2);
  twice.set(data);
  twice.set(data, data.length);
  if (tensor.datatype === "FP32") {
    const values = new Float32Array(twice.buffer);
    for (let i = 0; i < values.length; i++) values[i] *= 0.75;
  }
  return { ...repeatedShape(tensor), data: twice };
}

function consent(signature: ModelSignature, batchedInputs: readonly boolean[]): string {
  const axis = signature.inputs.find((_, i) => batchedInputs[i])?.dimNames?.[0];
  const shared = signature.inputs.filter((spec, i) => !batchedInputs[i] && !spec.optional);
  const named = axis === undefined ? "" : ` ("${axis}")`;
  const condition = sharedCondition("requests", shared);
  return `Joined along axis 0${named}: trial requests gave the same answers alone and together${condition}`;
}
