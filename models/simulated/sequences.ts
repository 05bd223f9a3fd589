/**
 * Sequences on the simulated device. Each row of a batch is computed as if it were alone, with the
 * state of its sequence for the inputs that carry over: what it is joined with changes no answer.
 *
 * @module
 */
import type { SequenceState, Signature, Step } from "../device.ts";
import type { Model, SequenceRule } from "../model.ts";
import { byteLength, type Tensor } from "../tensor.ts";
import { computeOutputs, joinInputs, rowBounds } from "./outputs.ts";

/** What one sequence keeps. */
export class SimulatedState implements SequenceState {
  /** What its next iteration will see: one for each carried input, in the rule's order. */
  values: readonly Tensor[];
  readonly #onDispose: (state: SimulatedState) => void;

  /**
   * Starts from these values, and from zeros where there is none.
   *
   * @param onDispose Called each time that it is disposed of.
   */
  constructor(
    { carry }: SequenceRule,
    initial: ReadonlyMap<string, Tensor>,
    onDispose: (state: SimulatedState) => void,
  ) {
    this.values = carry.map(({ input, datatype, shape }) => ({
      name: input,
      datatype,
      shape,
      data: initial.get(input)?.data.slice() ?? new Uint8Array(byteLength(datatype, shape)),
    }));
    this.#onDispose = onDispose;
  }

  /** Copies of the values. */
  read(): Tensor[] {
    return this.values.map((value) => ({ ...value, data: value.data.slice() }));
  }

  /** Gives the memory back. */
  [Symbol.dispose](): void {
    this.#onDispose(this);
  }
}

/**
 * Computes one iteration of sequences, and leaves what they carry over in their states.
 *
 * @param states One for each row.
 * @returns The outputs that are not carried.
 * @throws {SluiceError} `execution_failed` as {@linkcode computeOutputs}; then no state has changed.
 */
export function advanceSequences(
  model: Model,
  { carry, batching }: SequenceRule,
  step: Step,
  states: readonly SimulatedState[],
): Tensor[] {
  const rows = splitRows(joinInputs(step), model, batching.batchedInputs, states.length);
  const answers = states.map((state, row) =>
    computeOutputs(model, aloneStep(model, [...rows[row], ...state.values]))
  );
  for (const [row, state] of states.entries()) {
    state.values = carry.map(({ output }, index) => ({
      ...state.values[index],
      data: answers[row].find(({ name }) => name === output)!.data,
    }));
  }
  const carried = new Set(carry.map(({ output }) => output));
  const [first] = answers;
  return first.flatMap(({ name }, index) =>
    carried.has(name) ? [] : [concatenated(answers.map((outputs) => outputs[index]))]
  );
}

/** The inputs of each row by itself; those without a batch axis are every row's. */
function splitRows(
  inputs: readonly Tensor[],
  { signature }: Model,
  batchedInputs: readonly boolean[],
  count: number,
): Tensor[][] {
  const rows: Tensor[][] = Array.from({ length: count }, () => []);
  for (const input of inputs) {
    const isBatched = batchedInputs[signature.inputs.findIndex(({ name }) => name === input.name)];
    const bounds = isBatched ? rowBounds(input, count) : undefined;
    for (const [row, own] of rows.entries()) {
      own.push(
        bounds === undefined ? input : {
          ...input,
          shape: [1, ...input.shape.slice(1)],
          data: input.data.subarray(bounds[row], bounds[row + 1]),
        },
      );
    }
  }
  return rows;
}

/** A plain request of one row, its inputs in the model's order. */
function aloneStep({ signature }: Model, tensors: readonly Tensor[]): Step {
  const inputs = signature.inputs.flatMap(({ name }) =>
    tensors.find((tensor) => tensor.name === name) ?? []
  );
  const shapes: Signature = { key: "alone", inputs };
  return { signature: shapes, rows: 1, inputs: inputs.map(({ data }) => [data]) };
}

function concatenated(parts: readonly Tensor[]): Tensor {
  const [first] = parts;
  if (parts.length === 1) return first;
  const data = new Uint8Array(parts.reduce((sum, part) => sum + part.data.length, 0));
  let offset = 0, size = 0;
  for (const part of parts) {
    data.set(part.data, offset);
    offset += part.data.length;
    size += part.shape[0];
  }
  return { ...first, shape: [size, ...first.shape.slice(1)], data };
}
