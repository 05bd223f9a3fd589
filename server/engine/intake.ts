/**
 * Where requests come in: what is refused is refused here, everything else enters a queue.
 *
 * @module
 */
import { SluiceError, toSluiceError } from "../../models/errors.ts";
import type { InferenceRequest, OpenSequence, SequenceRequest, ServedModel } from "./api.ts";
import { ClientSequences } from "./client_sequences.ts";
import type { MemoryLedger } from "./memory.ts";
import { LoadedModel } from "./loaded_model.ts";
import { PendingRequest } from "./pending.ts";
import type { Reservations } from "./reservations.ts";
import type { Scheduler } from "./scheduler.ts";
import { Sequences } from "./sequences.ts";

/** What the intake needs of the engine. */
export interface IntakeParts {
  /** Runs what is taken. */
  readonly scheduler: Scheduler;
  /** What there is to run it with. */
  readonly ledger: MemoryLedger;
  /** Where the memory of sequences is taken from. */
  readonly reservations: Reservations;
  /** Sequences that may be open on one model version. */
  readonly maxSequences: number;
  /** Why nothing is taken now, if so. */
  refusal(): SluiceError | undefined;
}

/** Admits requests. */
export class Intake {
  readonly #parts: IntakeParts;
  readonly #clientSequences: ClientSequences;
  /** All that are open, however they are driven. */
  readonly sequences: Sequences;

  /** Nothing has come yet. */
  constructor(parts: IntakeParts) {
    const { scheduler, ledger, reservations, maxSequences } = parts;
    this.#parts = parts;
    const checkFits = (pending: PendingRequest) => this.#checkFits(pending);
    this.sequences = new Sequences({ scheduler, ledger, reservations, maxSequences, checkFits });
    this.#clientSequences = new ClientSequences(scheduler.clock, this.sequences);
  }

  /** Takes a request. Never throws; the request's `fail` tells. */
  submit(request: InferenceRequest): void {
    const { scheduler } = this.#parts;
    try {
      const loaded = this.#accepting(request.served);
      if (request.sequence !== undefined || loaded.model.sequence?.required) {
        return this.#clientSequences.submit(loaded, request);
      }
      const admitted = loaded.admission.admit(request.inputs);
      const pending = new PendingRequest(loaded, request, admitted, scheduler.clock.nowMicros());
      this.#checkFits(pending);
      loaded.queue.checkRoom(pending.bytes);
      scheduler.push(pending);
    } catch (error) {
      refuse(request, toSluiceError(error));
    }
  }

  /** Opens a sequence. Never throws; the request's `fail` tells. */
  openSequence(request: SequenceRequest): OpenSequence | undefined {
    try {
      const sequence = this.sequences.open(this.#accepting(request.served), request);
      return sequence.closed ? undefined : sequence;
    } catch (error) {
      refuse(request, toSluiceError(error));
    }
  }

  /** The version that takes the request now: a reload may have replaced the one it was made for. */
  #accepting(served: ServedModel): LoadedModel {
    const refusal = this.#parts.refusal();
    if (refusal !== undefined) throw refusal;
    if (!(served instanceof LoadedModel)) {
      throw new SluiceError("internal", "The request's model is none of this engine");
    }
    let loaded: LoadedModel = served;
    while (loaded.state !== "READY" && loaded.successor !== undefined) loaded = loaded.successor;
    if (loaded.state !== "READY") {
      throw new SluiceError("not_ready", `Model '${loaded.label}' is not at ready state: unloaded`);
    }
    return loaded;
  }

  #checkFits({ group, rows, loaded }: PendingRequest): void {
    const needed = group.signature(rows).ephemeralBytes;
    const { capacityBytes, persistentBytes, stateBytes } = this.#parts.ledger;
    const most = capacityBytes - persistentBytes;
    if (needed > most - stateBytes) throw doesNotFit(loaded, needed, most, stateBytes);
    loaded.ephemeralBytes = Math.max(loaded.ephemeralBytes, needed);
  }
}

function doesNotFit(
  { label }: LoadedModel,
  needed: number,
  most: number,
  stateBytes: number,
): SluiceError {
  const what = `One iteration of model '${label}' with these shapes needs ${needed} bytes of ` +
    "working memory";
  return needed > most
    ? new SluiceError(
      "out_of_memory",
      `${what}, but at most ${most} can be had; send smaller inputs, unload a model or raise --memory`,
    )
    : new SluiceError(
      "queue_full",
      `${what}, but open sequences keep ${stateBytes} of the ${most} that can be had; try again later`,
    );
}

/** Fails a request that was not admitted. A job tries again until it fits: no client was refused. */
function refuse(request: InferenceRequest | SequenceRequest, error: SluiceError): void {
  const isJob = "background" in request && request.background;
  if (error.code === "queue_full" && !isJob && request.served instanceof LoadedModel) {
    request.served.statistics.failures.REJECTED++;
  }
  request.fail(error);
}
