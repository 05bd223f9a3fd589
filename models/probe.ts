/**
 * Finds out whether requests of a model may share an iteration. Nothing in a file says so: the
 * first axis may be time, a scale may be taken over all rows. So two requests run alone and
 * together, and only equal answers allow it.
 *
 * @module
 */
import type { Executable, Lane } from "./device.ts";
import { messageOf } from "./errors.ts";
import type { Model, ModelSignature } from "./model.ts";
import type { Random } from "./random.ts";
import { randomTensor } from "./random_tensor.ts";
import { relativeDifference } from "./tensor_difference.ts";
import type { Datatype, Tensor, TensorSpec } from "./tensor.ts";

/** What a probe found. */
export interface ProbeResult {
  /** Whether the server may join requests. */
  readonly join: boolean;
  /** Why, or why not, in a sentence. */
  readonly reason: string;
  /** For every input of the signature: whether axis 0 is the batch. */
  readonly batchedInputs: boolean[];
}

/** Difference up to which answers count as equal, as a share of the largest value. */
const TOLERANCES: Partial<Record<Datatype, number>> = {
  FP16: 2e-3,
  BF16: 1.6e-2,
  FP32: 1e-5,
  FP64: 1e-5,
};
/** Sizes to try for free axes other than the batch, where no sample tells one that works. */
const FREE_SIZES = [8, 32, 1];

/** A whole request: inputs that a request may leave out are left out. */
type Request = readonly Tensor[];

/**
 * Probes a model on a device.
 *
 * @param lane Where the runs take place; they wait for what runs there.
 * @param random Gives numbers in [0, 1); from a seed, so that a probe can be repeated.
 */
export async function probeJoining(
  model: Model,
  executable: Pick<Executable, "start">,
  lane: Lane,
  random: Random,
): Promise<ProbeResult> {
  const { signature } = model;
  const batchedInputs = signature.inputs.map(leadsWithFreeAxis);
  const no = (reason: string): ProbeResult => ({ join: false, reason, batchedInputs });
  const objection = declaredObjection(signature, batchedInputs);
  if (objection !== undefined) return no(objection);

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
    const fault = comparison(outputs.first, outputs.second, outputs.together);
    if (fault !== undefined) return no(fault);
    return { join: true, reason: consent(signature, batchedInputs), batchedInputs };
  }
  return no(`No two trial requests could be run alone and together: ${failure}`);
}

function leadsWithFreeAxis(spec: TensorSpec): boolean {
  return !spec.unranked && spec.shape.length > 0 && spec.shape[0] === -1;
}

function batchedNames(signature: ModelSignature, batchedInputs: readonly boolean[]): Set<string> {
  return new Set(signature.inputs.filter((_, i) => batchedInputs[i]).map((spec) => spec.name));
}

/** What the declarations alone say against joining. */
function declaredObjection(
  signature: ModelSignature,
  batchedInputs: readonly boolean[],
): string | undefined {
  const batched = signature.inputs.filter((_, i) => batchedInputs[i]);
  if (batched.length === 0) return "No input has a free first axis that could be the batch";
  // An axis without a name may be any other's.
  const names = new Set(batched.flatMap((spec) => spec.dimNames?.[0] ?? []));
  if (names.size > 1) {
    const given = batched.map((spec) => `"${spec.name}" (${spec.dimNames?.[0] ?? "unnamed"})`);
    return `The inputs' first axes are free independently of each other: ${given.join(", ")}`;
  }
  const fixed = signature.outputs.find((spec) => !leadsWithFreeAxis(spec) && !spec.unranked);
  if (fixed !== undefined) {
    return `Output "${fixed.name}" has the shape [${fixed.shape}] without a free first axis to split it along`;
  }
  return undefined;
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

function withSizes(spec: TensorSpec, size: number): TensorSpec {
  return { ...spec, shape: spec.shape.map((dim, axis) => dim >= 0 ? dim : axis === 0 ? 1 : size) };
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

function joined(first: Request, second: Request, batched: ReadonlySet<string>): Request {
  return first.map((tensor, i) =>
    batched.has(tensor.name) ? concatenated(tensor, second[i]) : tensor
  );
}

function concatenated(a: Tensor, b: Tensor): Tensor {
  const data = new Uint8Array(a.data.length + b.data.length);
  data.set(a.data);
  data.set(b.data, a.data.length);
  return { ...a, shape: [a.shape[0] + b.shape[0], ...a.shape.slice(1)], data };
}

function run(
  executable: Pick<Executable, "start">,
  lane: Lane,
  request: Request,
): Promise<Request> {
  const key = request.map(({ shape }) => shape.join("x")).join(";");
  const step = {
    signature: { key, inputs: request },
    rows: 1,
    inputs: request.map((tensor) => [tensor.data]),
  };
  return new Promise((resolve, reject) => {
    executable.start(lane, step, Infinity, (result) => {
      const outputs = result.outputs.map((tensor) => ({ ...tensor, data: tensor.data.slice() }));
      result.release();
      if (result.error === undefined) resolve(outputs);
      else reject(result.error);
    });
  });
}

/** What the answers say against joining. */
function comparison(first: Request, second: Request, together: Request): string | undefined {
  for (const [i, output] of together.entries()) {
    const { name, datatype } = output;
    const [a, b] = [first[i], second[i]];
    if (a.shape.length === 0 || b.shape.length === 0 || output.shape.length === 0) {
      return `Output "${name}" is a scalar and cannot be split between requests`;
    }
    const expected = concatenated(a, b);
    if (String(output.shape) !== String(expected.shape) || !sameTail(a, b)) {
      return `Output "${name}" of joined requests has the shape [${output.shape}]; alone they gave [${a.shape}] and [${b.shape}]`;
    }
    const difference = relativeDifference(datatype, output.data, expected.data);
    const tolerance = TOLERANCES[datatype] ?? 0;
    if (difference > tolerance) {
      return `Joined requests get other answers than separate ones: output "${name}" differs ${
        difference === Infinity
          ? "in values that must be equal"
          : `by ${(difference * 100).toPrecision(2)} % of its largest value`
      }`;
    }
  }
  return undefined;
}

function sameTail(a: Tensor, b: Tensor): boolean {
  return String(a.shape.slice(1)) === String(b.shape.slice(1));
}

function consent(signature: ModelSignature, batchedInputs: readonly boolean[]): string {
  const axis = signature.inputs.find((_, i) => batchedInputs[i])?.dimNames?.[0];
  const shared = signature.inputs.filter((spec, i) => !batchedInputs[i] && !spec.optional);
  const named = axis === undefined ? "" : ` ("${axis}")`;
  const condition = shared.length === 0
    ? ""
    : `; only requests with the same ${
      shared.map(({ name }) => `"${name}"`).join(", ")
    } are joined`;
  return `Joined along axis 0${named}: trial requests gave the same answers alone and together${condition}`;
}
