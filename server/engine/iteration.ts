/**
 * One iteration: the step made of a batch, and the answers made of its outputs.
 *
 * @module
 */
import type { IterationResult, SequenceState, Step } from "../../models/device.ts";
import { endOfElements } from "../../models/bytes_elements.ts";
import { DATATYPE_BYTES, elementCount, type Tensor } from "../../models/tensor.ts";
import { SluiceError } from "../../models/errors.ts";
import type { EngineLane } from "./lanes.ts";
import type { LoadedModel } from "./loaded_model.ts";
import type { PendingRequest } from "./pending.ts";

/** A batch under way. */
export class Iteration {
  /** Rows of all its requests. */
  readonly rows: number;
  /** What the device is given; its pieces are the requests' own bytes. */
  readonly step: Step;
  /**
   * When the lane is its own: at once, or when the one before it ends. Until that is known, when it
   * should end. Set by the lanes, as is {@linkcode shareMicros}.
   */
  beganMicros = 0;
  /** The lanes' share of time when it began; see there. */
  shareMicros = 0;
  /** Reported as hung. */
  overdue = false;

  /** Makes the step. Nothing runs yet. */
  constructor(
    /** Counts from 0 in the order of decisions; the decision log's name for it. */
    readonly number: number,
    /** Whose executable runs. */
    readonly loaded: LoadedModel,
    /** At least one request, all of one group. */
    readonly batch: readonly PendingRequest[],
    /** Where it runs. */
    readonly lane: EngineLane,
    /** Time of the decision. */
    readonly startedMicros: number,
    /** Learned estimate of its device time; 0 when nothing is known. */
    readonly expectedMicros: number,
    /** The policy's reason. */
    readonly because: string,
  ) {
    let rows = 0;
    for (const pending of batch) rows += pending.rows;
    this.rows = rows;
    const { signature } = batch[0].group.signature(rows);
    const inputs = join(batch);
    const states = statesOf(batch);
    this.step = states === undefined
      ? { signature, rows, inputs }
      : { signature, rows, inputs, states };
  }

  /** For policies and lane figures, which know models by name. */
  get model(): string {
    return this.loaded.model.name;
  }

  /** When it should end, going by the estimate. */
  get untilMicros(): number {
    return this.beganMicros + this.expectedMicros;
  }
}

/** For every input the requests' pieces in row order; a shared input once. */
function join(batch: readonly PendingRequest[]): Uint8Array<ArrayBuffer>[][] {
  const { shapes, batching } = batch[0].group;
  const inputs: Uint8Array<ArrayBuffer>[][] = [];
  for (let index = 0; index < shapes.length; index++) {
    if (shapes[index] === undefined) continue;
    const place = inputs.length;
    inputs.push(
      batching.batchedInputs[index]
        ? batch.map((pending) => pending.pieces[place])
        : [batch[0].pieces[place]],
    );
  }
  return inputs;
}

/** The states of a batch of sequences; none of plain requests. */
function statesOf(batch: readonly PendingRequest[]): SequenceState[] | undefined {
  if (batch[0].sequence === undefined) return undefined;
  return batch.map(({ sequence }) => sequence!.deviceState);
}

/** Why the outputs of a joined batch cannot be given to its requests, if they cannot. */
export function unsplittable(
  batch: readonly PendingRequest[],
  rows: number,
  outputs: readonly Tensor[],
): SluiceError | undefined {
  if (batch.length === 1) return undefined;
  const output = outputs.find(({ shape }) => shape[0] !== rows);
  return output && new SluiceError(
    "execution_failed",
    `output '${output.name}' has shape [${output.shape}] for a batch of ${rows} rows`,
  );
}

/** The outputs of each request of a batch: views of the whole batch's outputs, split by rows. */
export function* split(
  batch: readonly PendingRequest[],
  outputs: readonly Tensor[],
): Iterable<readonly [PendingRequest, readonly Tensor[]]> {
  if (batch.length === 1) {
    yield [batch[0], outputs];
    return;
  }
  const cursors = outputs.map((output) => new RowCursor(output));
  for (const pending of batch) {
    yield [pending, cursors.map((cursor) => cursor.take(pending.rows))];
  }
}

/** Walks an output row by row. */
class RowCursor {
  readonly #bytesPerRow: number;
  readonly #elementsPerRow: number;
  #at = 0;

  constructor(readonly output: Tensor) {
    const { shape, datatype } = output;
    this.#elementsPerRow = elementCount(shape.slice(1));
    this.#bytesPerRow = this.#elementsPerRow * DATATYPE_BYTES[datatype];
  }

  take(rows: number): Tensor {
    const { name, datatype, shape, data } = this.output;
    const start = this.#at;
    if (this.#bytesPerRow > 0 || datatype !== "BYTES") this.#at += rows * this.#bytesPerRow;
    else this.#at = endOfElements(data, start, rows * this.#elementsPerRow) ?? data.length;
    return {
      name,
      datatype,
      shape: [rows, ...shape.slice(1)],
      data: data.subarray(start, this.#at),
    };
  }
}

/** Why an iteration failed, as a caller may see it. */
export function failureOf(result: IterationResult): SluiceError | undefined {
  if (result.error === undefined) return undefined;
  if (result.error instanceof SluiceError) return result.error;
  return new SluiceError("execution_failed", result.error.message, {
    cause: result.error,
  });
}
