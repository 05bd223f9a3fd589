/**
 * Sequences that clients drive request by request (Triton's stateful models): each request names its
 * sequence and says whether it is the first or the last one.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import { SluiceError, toSluiceError } from "../../models/errors.ts";
import type { Tensor } from "../../models/tensor.ts";
import type { Advance, InferenceRequest, SequenceStep, Timing } from "./api.ts";
import type { LoadedModel } from "./loaded_model.ts";
import type { Sequence } from "./sequence.ts";
import type { Sequences } from "./sequences.ts";

/** Requests of one sequence that may wait behind one another. */
const MOST_STEPS = 64;

type Id = SequenceStep["id"];
type Step = InferenceRequest & { readonly sequence: SequenceStep };

/** The open sequences of clients, by model and by the client's name for them. */
export class ClientSequences {
  readonly #clock: Clock;
  readonly #sequences: Sequences;
  readonly #open = new WeakMap<LoadedModel, Map<Id, ClientSequence>>();

  /** None is open; `sequences` makes room for their states. */
  constructor(clock: Clock, sequences: Sequences) {
    this.#clock = clock;
    this.#sequences = sequences;
  }

  /**
   * Takes a request of a sequence; those of one sequence run in the order in which they came.
   *
   * @throws {SluiceError} `invalid_argument` when it does not fit into its sequence, `queue_full`.
   */
  submit(loaded: LoadedModel, request: InferenceRequest): void {
    const { model } = loaded;
    if (!isStep(request)) {
      throw invalid(
        `inference request to model '${model.name}' must specify a non-zero or non-empty correlation ID`,
      );
    }
    const { id, start, end } = request.sequence;
    let open = this.#open.get(loaded);
    if (open === undefined) this.#open.set(loaded, open = new Map());
    let sequence = open.get(id);
    if (start) {
      // As Triton does: the one that had the name ends with the requests that it has.
      sequence?.finish();
      open.delete(id);
      sequence = new ClientSequence(this.#clock, () => {
        if (open.get(id) === sequence) open.delete(id);
      });
      sequence.open(this.#sequences, loaded, request);
      open.set(id, sequence);
    } else if (sequence === undefined) {
      throw invalid(
        `inference request for sequence ${id} to model '${model.name}' must specify the START flag ` +
          "on the first request of the sequence",
      );
    }
    sequence.take(request);
    if (end) {
      open.delete(id);
      sequence.finish();
    }
  }
}

function isStep(request: InferenceRequest): request is Step {
  return request.sequence !== undefined;
}

/** One of them. Its requests wait here for one another, the first of them in the model's queue. */
class ClientSequence {
  readonly #clock: Clock;
  readonly #forget: () => void;
  readonly #steps: { readonly request: Step; readonly arrivedMicros: number }[] = [];
  #sequence!: Sequence;
  #finishing = false;

  constructor(clock: Clock, forget: () => void) {
    this.#clock = clock;
    this.#forget = forget;
  }

  open(sequences: Sequences, loaded: LoadedModel, { priority, tenant, id }: Step): void {
    this.#sequence = sequences.open(loaded, {
      served: loaded,
      id,
      inputs: undefined,
      iterations: 0, // to a policy each request is one of its own
      priority,
      timeoutMicros: 0,
      tenant,
      endless: true,
      advance: (outputs, timing) => this.#advance(outputs, timing),
      stepFailed: (error) => this.#stepFailed(error),
      fail: (error) => this.#fail(error),
    });
  }

  take(request: Step): void {
    const steps = this.#steps;
    if (steps.length >= MOST_STEPS) {
      throw new SluiceError(
        "queue_full",
        `${steps.length} requests of sequence ${request.sequence.id} wait, at most ${MOST_STEPS} ` +
          "may; try again later",
      );
    }
    steps.push({ request, arrivedMicros: this.#clock.nowMicros() });
    if (steps.length === 1) this.#feed();
  }

  /** Ends with the last of the requests that it has. */
  finish(): void {
    this.#finishing = true;
    if (this.#steps.length === 0) this.#sequence.end();
  }

  readonly #feed = (): void => {
    const [step] = this.#steps;
    if (step === undefined || !this.#sequence.waiting) return;
    const { inputs, priority, timeoutMicros, signal } = step.request;
    try {
      if (signal?.aborted) throw new SluiceError("cancelled", "the client left before the answer");
      const waited = this.#clock.nowMicros() - step.arrivedMicros;
      if (timeoutMicros > 0 && waited >= timeoutMicros) throw missed(timeoutMicros, waited);
      const left = timeoutMicros > 0 ? timeoutMicros - waited : 0;
      this.#sequence.feed({ inputs, priority, timeoutMicros: left, signal });
    } catch (error) {
      if (this.#stepFailed(toSluiceError(error))) return;
      this.#sequence.end();
      this.#fail(toSluiceError(error));
    }
  };

  #advance(outputs: readonly Tensor[], timing: Timing): Advance {
    this.#steps.shift()!.request.respond(outputs, timing);
    return this.#finishing && this.#steps.length === 0 ? "end" : this.#goOn();
  }

  /** A sequence that has never run does not begin in the middle. */
  #stepFailed(error: SluiceError): boolean {
    this.#steps.shift()!.request.fail(error);
    if (this.#sequence.iterationsDone === 0) {
      this.#fail(neverBegan(error));
      return false;
    }
    if (this.#finishing && this.#steps.length === 0) return false;
    this.#goOn();
    return true;
  }

  #goOn(): "wait" {
    if (this.#steps.length > 0) this.#clock.soon(this.#feed);
    return "wait";
  }

  #fail(error: SluiceError): void {
    this.#forget();
    for (const { request } of this.#steps.splice(0)) request.fail(error);
  }
}

/** What requests are told that came behind the first one. */
function neverBegan({ message }: SluiceError): SluiceError {
  return invalid(`the sequence has not begun, as its first request failed: ${message}`);
}

function missed(timeoutMicros: number, waited: number): SluiceError {
  return new SluiceError(
    "deadline_exceeded",
    `timeout of ${timeoutMicros} us passed after ${waited} us before its turn in its sequence`,
  );
}

function invalid(message: string): SluiceError {
  return new SluiceError("invalid_argument", message);
}
