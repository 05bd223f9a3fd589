/**
 * Finds out whether sequences of a model may share an iteration. The first iteration alone says
 * nothing of the state, so two sequences run for two iterations, alone and together; only equal
 * answers and equal states allow it.
 *
 * @module
 */
import type { Executable, Lane, SequenceState } from "./device.ts";
import { messageOf } from "./errors.ts";
import type { BatchingProbe } from "./manifest.ts";
import type { Model, SequenceRule } from "./model.ts";
import {
  comparison,
  differenceOf,
  FREE_SIZES,
  joined,
  type Request,
  run,
  sharedCondition,
  withSizes,
} from "./probe_trials.ts";
import type { Random } from "./random.ts";
import { randomTensor } from "./random_tensor.ts";
import type { Tensor, TensorShape } from "./tensor.ts";

/** Sequences whose states a probe holds at once. */
export const PROBED_SEQUENCES = 2;

/** A size that models of sound ask for, which are many among those with a state. */
const CHUNK_OF_SOUND = 512;

/** The inputs of a sequence's two iterations. */
type Steps = readonly [Request, Request];

/** What sequences answered, iteration by iteration, and what state they were left in. */
interface Trace {
  readonly outputs: readonly Request[];
  readonly states: readonly (readonly Tensor[])[];
}

/**
 * Probes a model whose sequence rule leaves it open.
 *
 * @param lane Where the runs take place; they wait for what runs there.
 * @param random Gives numbers in [0, 1); from a seed, so that a probe can be repeated.
 */
export async function probeSequences(
  model: Model,
  rule: SequenceRule,
  executable: Pick<Executable, "openSequence" | "start">,
  lane: Lane,
  random: Random,
): Promise<BatchingProbe> {
  const { batchedInputs } = rule.batching;
  const batched = new Set(
    model.signature.inputs.filter((_, i) => batchedInputs[i]).map(({ name }) => name),
  );
  const no = (reason: string): BatchingProbe => ({ join: false, reason, batchedInputs });
  let failure = "";
  for (const [first, second] of candidates(model, rule, batched, random)) {
    let traces: Record<"first" | "second" | "together", Trace>;
    try {
      traces = {
        first: await trace(executable, lane, 1, first),
        second: await trace(executable, lane, 1, second),
        together: await trace(executable, lane, 2, [
          joined(first[0], second[0], batched),
          joined(first[1], second[1], batched),
        ]),
      };
    } catch (error) {
      failure ||= messageOf(error);
      continue;
    }
    const fault = objection(traces);
    if (fault !== undefined) return no(fault);
    const shared = first[0].filter(({ name }) => !batched.has(name));
    const reason = "Trial sequences gave the same answers alone and together" +
      sharedCondition("sequences", shared);
    return { join: true, reason, batchedInputs };
  }
  return no(`No two trial sequences could be run alone and together: ${failure}`);
}

/** Pairs of sequences to try. Inputs without a batch axis are the same in both. */
function* candidates(
  { signature, samples }: Model,
  { carry }: SequenceRule,
  batched: ReadonlySet<string>,
  random: Random,
): Generator<[Steps, Steps]> {
  const isGiven = ({ name }: { name: string }) => !carry.some(({ input }) => input === name);
  const randomised = <T extends TensorShape>(shapes: readonly T[], keep: (shape: T) => Tensor) => {
    const shared = new Map(
      shapes.filter(({ name }) => !batched.has(name)).map((shape) => [shape.name, keep(shape)]),
    );
    const step = () => shapes.map((shape) => shared.get(shape.name) ?? randomTensor(shape, random));
    return [[step(), step()], [step(), step()]] satisfies [Steps, Steps];
  };
  const sample = samples[0]?.filter(isGiven);
  if (sample === undefined) {
    const specs = signature.inputs.filter((spec) => !spec.optional && isGiven(spec));
    for (const size of [...FREE_SIZES, CHUNK_OF_SOUND]) {
      const shapes = specs.map((spec) => withSizes(spec, size));
      yield randomised(shapes, (shape) => randomTensor(shape, random));
    }
    return;
  }
  const row = sample.map((tensor) =>
    batched.has(tensor.name) ? { ...tensor, shape: [1, ...tensor.shape.slice(1)] } : tensor
  );
  yield randomised(row, (tensor) => tensor);
  if (sample.some(({ name, shape }) => batched.has(name) && shape[0] !== 1)) return;
  // Real values, where random ones fail; those of each iteration smaller than before.
  const scaled = (factor: number) =>
    sample.map((tensor) => batched.has(tensor.name) ? times(factor, tensor) : tensor);
  yield [[sample, scaled(0.75)], [scaled(0.5), scaled(0.25)]];
}

function times(factor: number, tensor: Tensor): Tensor {
  if (tensor.datatype !== "FP32") return tensor;
  const data = tensor.data.slice();
  const values = new Float32Array(data.buffer);
  for (let i = 0; i < values.length; i++) values[i] *= factor;
  return { ...tensor, data };
}

/** Runs so many sequences from their beginning, all of them joined. */
async function trace(
  executable: Pick<Executable, "openSequence" | "start">,
  lane: Lane,
  count: number,
  steps: Steps,
): Promise<Trace> {
  using open = new DisposableStack();
  const states: SequenceState[] = [];
  while (states.length < count) states.push(open.use(executable.openSequence()));
  const outputs: Request[] = [];
  for (const step of steps) outputs.push(await run(executable, lane, step, states));
  return { outputs, states: states.map((state) => state.read()) };
}

/** What answers and states say against joining. */
function objection(
  { first, second, together }: Readonly<Record<"first" | "second" | "together", Trace>>,
): string | undefined {
  for (const [i, outputs] of together.outputs.entries()) {
    const fault = comparison("sequences", first.outputs[i], second.outputs[i], outputs);
    if (fault !== undefined) return fault;
  }
  const alone = [...first.states, ...second.states];
  for (const [i, state] of together.states.entries()) {
    for (const [k, value] of state.entries()) {
      const difference = differenceOf(value, alone[i][k]);
      if (difference === undefined) continue;
      return `Joined sequences are left in other states than separate ones: "${value.name}" ` +
        difference;
    }
  }
  return undefined;
}
