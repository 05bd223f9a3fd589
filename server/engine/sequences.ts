/**
 * Opens sequences, with memory for their state, and sees them off.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import type { SequenceRequest } from "./api.ts";
import type { LoadedModel } from "./loaded_model.ts";
import type { MemoryLedger } from "./memory.ts";
import type { Reservations } from "./reservations.ts";
import { Sequence, type SequenceParts } from "./sequence.ts";
import type { Scheduler } from "./scheduler.ts";

/** How much of a new length the learned one takes on. */
const SMOOTHING = 0.1;

/** What sequences need of the engine. */
export interface SequencesParts extends Pick<SequenceParts, "checkFits"> {
  /** Runs their iterations. */
  readonly scheduler: Scheduler;
  /** What there is for their state. */
  readonly ledger: MemoryLedger;
  /** Where that memory is taken from. */
  readonly reservations: Reservations;
  /** Sequences that may be open on one model version. */
  readonly maxSequences: number;
}

/** All sequences of an engine. */
export class Sequences {
  readonly #parts: SequencesParts;
  readonly #ofSequence: SequenceParts;
  #opened = 0;

  /** None is open. */
  constructor(parts: SequencesParts) {
    const { scheduler, checkFits } = parts;
    this.#parts = parts;
    this.#ofSequence = {
      clock: scheduler.clock,
      checkFits,
      enqueue: (pending) => scheduler.push(pending),
      withdraw: (pending, why) => scheduler.withdraw(pending, why),
      closed: (sequence) => this.#closed(sequence),
    };
  }

  /**
   * Opens a sequence on a model; with inputs its first iteration is queued at once.
   *
   * @throws {SluiceError} `invalid_argument`, `out_of_memory` when its state never fits, `queue_full`
   *   when it does not now.
   */
  open(loaded: LoadedModel, request: SequenceRequest): Sequence {
    const { label, model, executable } = loaded;
    if (model.sequence === undefined) {
      throw new SluiceError(
        "invalid_argument",
        `Model '${label}' keeps no state between requests: its manifest.json has no "carry"`,
      );
    }
    const { background, inputs } = request;
    const admitted = inputs && loaded.admission.admit(inputs, background ? "job" : "step");
    (background ? loaded.jobs : loaded.queue).checkRoom(admitted?.bytes ?? 0);
    this.#takeState(loaded, request);
    let sequence: Sequence;
    try {
      const state = executable.openSequence(request.initial);
      sequence = new Sequence(this.#opened++, loaded, request, state, this.#ofSequence);
    } catch (error) {
      this.#parts.reservations.releaseState(request);
      throw error;
    }
    loaded.sequences.add(sequence);
    try {
      if (request.inputs !== undefined) sequence.start(request.inputs);
    } catch (error) {
      sequence.end();
      throw error;
    }
    return sequence;
  }

  /** Leaves enough for an iteration of any model: the sequences could not go on without it. */
  #takeState(loaded: LoadedModel, owner: SequenceRequest): void {
    const { ledger, reservations, scheduler, maxSequences } = this.#parts;
    const bytes = loaded.staged.stateBytes;
    const working = Math.max(0, ...scheduler.models.map(({ ephemeralBytes }) => ephemeralBytes));
    const most = ledger.capacityBytes - ledger.persistentBytes - working;
    if (bytes > most) {
      throw new SluiceError(
        "out_of_memory",
        `A sequence of model '${loaded.label}' keeps ${bytes} bytes, but at most ${most} can be ` +
          "had; unload a model or raise --memory",
      );
    }
    if (loaded.openSequences >= maxSequences) {
      throw new SluiceError(
        "queue_full",
        `${loaded.openSequences} sequences of model '${loaded.label}' are open, at most ` +
          `${maxSequences} may be; try again later`,
      );
    }
    if (ledger.stateBytes + bytes > most || !reservations.takeState(owner, bytes)) {
      throw new SluiceError(
        "queue_full",
        `A sequence of model '${loaded.label}' keeps ${bytes} bytes, which others have now ` +
          `(sequences ${ledger.stateBytes} of ${most}); try again later`,
      );
    }
  }

  #closed(sequence: Sequence): void {
    const { loaded, request, iterationsDone } = sequence;
    loaded.sequences.delete(sequence);
    this.#parts.reservations.releaseState(request);
    loaded.sequenceLength = loaded.sequenceLength === 0
      ? iterationsDone
      : loaded.sequenceLength + SMOOTHING * (iterationsDone - loaded.sequenceLength);
    const { scheduler } = this.#parts;
    scheduler.turns.plan(); // what lacked memory may run now
    if (loaded.idle) scheduler.onIdle?.(loaded);
  }

  /** Fails the sequences of a model that have no end of their own, each between two iterations. */
  endEndless(loaded: LoadedModel, error: SluiceError): void {
    for (const sequence of loaded.sequences) if (sequence.request.endless) sequence.leave(error);
  }
}
