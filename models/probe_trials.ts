/**
 * Trials of a model: inputs made up, runs on a device, and answers held against each other.
 *
 * @module
 */
import type { Executable, Lane, SequenceState } from "./device.ts";
import { relativeDifference } from "./tensor_difference.ts";
import type { Datatype, Tensor, TensorSpec } from "./tensor.ts";

/** A whole request: inputs that a request may leave out are left out. */
export type Request = readonly Tensor[];

/** Difference up to which answers count as equal, as a share of the largest value. */
const TOLERANCES: Partial<Record<Datatype, number>> = {
  FP16: 2e-3,
  BF16: 1.6e-2,
  FP32: 1e-5,
  FP64: 1e-5,
};

/** Sizes to try for free axes other than the batch, where no sample tells one that works. */
export const FREE_SIZES: readonly number[] = [8, 32, 1];

/** One row, all other free axes being `size`. */
export function withSizes(spec: TensorSpec, size: number): TensorSpec {
  return { ...spec, shape: spec.shape.map((dim, axis) => dim >= 0 ? dim : axis === 0 ? 1 : size) };
}

/** The rows of one request behind those of another; what has no rows is the first's. */
export function joined(first: Request, second: Request, batched: ReadonlySet<string>): Request {
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

/**
 * Runs one iteration.
 *
 * @param states Of the sequences whose step it is; none for a plain request.
 * @returns Copies of the outputs.
 */
export function run(
  executable: Pick<Executable, "start">,
  lane: Lane,
  request: Request,
  states?: readonly SequenceState[],
): Promise<Request> {
  const shapes = request.map(({ shape }) => shape.join("x")).join(";");
  const inputs = request.map((tensor) => [tensor.data]);
  const step = states === undefined
    ? { signature: { key: shapes, inputs: request }, rows: 1, inputs }
    : {
      signature: {
        key: `${states.length} sequences;${shapes}`,
        inputs: request,
        sequences: states.length,
      },
      rows: states.length,
      inputs,
      states,
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

/**
 * What the answers say against joining.
 *
 * @param what "requests" or "sequences", as the answer calls them.
 */
export function comparison(
  what: string,
  first: Request,
  second: Request,
  together: Request,
): string | undefined {
  for (const [i, output] of together.entries()) {
    const { name } = output;
    const [a, b] = [first[i], second[i]];
    if (a.shape.length === 0 || b.shape.length === 0 || output.shape.length === 0) {
      return `Output "${name}" is a scalar and cannot be split between ${what}`;
    }
    const expected = concatenated(a, b);
    if (String(output.shape) !== String(expected.shape) || !sameTail(a, b)) {
      return `Output "${name}" of joined ${what} has the shape [${output.shape}]; alone they gave [${a.shape}] and [${b.shape}]`;
    }
    const difference = differenceOf(output, expected);
    if (difference !== undefined) {
      return `Joined ${what} get other answers than separate ones: output "${name}" ${difference}`;
    }
  }
  return undefined;
}

function sameTail(a: Tensor, b: Tensor): boolean {
  return String(a.shape.slice(1)) === String(b.shape.slice(1));
}

/** How far a value is from what it should be, to follow its name; undefined when close enough. */
export function differenceOf(value: Tensor, expected: Tensor): string | undefined {
  const difference = relativeDifference(value.datatype, value.data, expected.data);
  if (difference <= (TOLERANCES[value.datatype] ?? 0)) return undefined;
  return difference === Infinity
    ? "differs in values that must be equal"
    : `differs by ${(difference * 100).toPrecision(2)} % of its largest value`;
}

/** Names what has no batch axis, and so must be equal to be joined; empty where all have one. */
export function sharedCondition(
  what: string,
  shared: readonly { readonly name: string }[],
): string {
  if (shared.length === 0) return "";
  const names = shared.map(({ name }) => `"${name}"`).join(", ");
  return `; only ${what} with the same ${names} are joined`;
}
