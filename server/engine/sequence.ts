/**
 * A request that lives across iterations. Each of its iterations is one entry into its model's
 * queue; between two it is put back at once, or waits to be fed.
 *
 * @module
 */
import type { Clock, Timer } from "../../models/clock.ts";
import type { SequenceState } from "../../models/device.ts";
import { SluiceError, toSluiceError } from "../../models/errors.ts";
import type { Tensor } from "../../models/tensor.ts";
import type { Feed, OpenSequence, SequenceRequest, Timing } from "./api.ts";
import type { LoadedModel } from "./loaded_model.ts";
import { type Caller, PendingRequest } from "./pending.ts";

/** What a sequence needs of the engine. */
export interface SequenceParts {
  /** Whose time it is. */
  readonly clock: Clock;
  /** Checks that an entry may run. @throws {SluiceError} `out_of_memory`, `queue_full`. */
  checkFits(pending: PendingRequest): void;
  /** Puts an entry into its queue. */
  enqueue(pending: PendingRequest): void;
  /** Takes a waiting entry out of its queue and counts why. */
  withdraw(pending: PendingRequest, why: SluiceError): void;
  /** Called once, when its state has been freed. */
  closed(sequence: Sequence): void;
}

/** What became of a sequence after an iteration; an error when that ended it. */
export type Advanced = "unfinished" | "answered" | SluiceError;

/** An open sequence. */
export class Sequence implements OpenSequence {
  readonly #parts: SequenceParts;
  /** Its entry, while that waits or runs. */
  #pending: PendingRequest | undefined;
  /** Of its entries since it was fed last. */
  #caller: Caller;
  #arrivedMicros: number;
  #iterationsDone = 0;
  #attainedMicros = 0;
  /** To be fed: not while its owner is being asked what comes next. */
  #waiting = false;
  #idle: Timer | undefined;
  /** What it fails with as soon as it is between two iterations. */
  #leaving: SluiceError | undefined;
  #ended = false;
  #closed = false;

  /** Waits to be fed. */
  constructor(
    /** Place in the order in which sequences were opened: their order in a batch. */
    readonly number: number,
    /** Whose model it runs on, to its end. */
    readonly loaded: LoadedModel,
    /** Its owner. */
    readonly request: SequenceRequest,
    /** What it keeps on the device. */
    readonly deviceState: SequenceState,
    parts: SequenceParts,
  ) {
    this.#parts = parts;
    this.#caller = this.#callerOf(request);
    this.#arrivedMicros = parts.clock.nowMicros();
    this.#wait();
  }

  get iterationsDone(): number {
    return this.#iterationsDone;
  }

  get attainedMicros(): number {
    return this.#attainedMicros;
  }

  /** Nothing is left of it. */
  get closed(): boolean {
    return this.#closed;
  }

  get waiting(): boolean {
    return this.#waiting && !this.#closed;
  }

  /** Each feed is a request of its own. One that began with inputs is itself the request. */
  get #takesRequests(): boolean {
    return this.request.inputs === undefined;
  }

  /** Goes on for the first time, with its request's own inputs. */
  start(inputs: readonly Tensor[]): void {
    this.#enter(this.#entry(inputs, this.#caller, this.#arrivedMicros, this.#arrivedMicros));
  }

  feed(feed: Feed): void {
    if (!this.waiting) throw new SluiceError("internal", "The sequence does not wait to be fed");
    const { request } = this;
    const nowMicros = this.#parts.clock.nowMicros();
    const caller = this.#callerOf({
      priority: feed.priority ?? request.priority,
      timeoutMicros: feed.timeoutMicros ?? 0,
      tenant: request.tenant,
      signal: feed.signal ?? request.signal,
    });
    const pending = this.#entry(feed.inputs, caller, nowMicros, nowMicros);
    if (this.#takesRequests) pending.queue.checkRoom(pending.bytes);
    this.#caller = caller;
    this.#arrivedMicros = nowMicros;
    this.#enter(pending);
  }

  /** Goes on after an iteration of its entry. */
  advance(outputs: readonly Tensor[], timing: Timing): Advanced {
    this.#left();
    this.#iterationsDone++;
    if (this.#ended) {
      this.#close();
      return endedByOwner();
    }
    const next = this.request.advance(outputs, timing);
    if (this.#closed) return "answered";
    if (next === "end") return this.#close();
    if (next instanceof SluiceError) return this.#fail(next);
    if (this.#leaving !== undefined) return this.#fail(this.#leaving);
    if (next === "wait") return this.#wait();
    if (this.#caller.signal?.aborted) return this.#fail(clientLeft());
    try {
      this.#enter(
        this.#entry(next, this.#caller, this.#parts.clock.nowMicros(), this.#arrivedMicros),
      );
      return "unfinished";
    } catch (error) {
      return this.#fail(toSluiceError(error));
    }
  }

  state(): Tensor[] {
    if (this.#pending !== undefined || this.#closed) {
      throw new SluiceError("internal", "The sequence's state is in use, or gone");
    }
    return this.deviceState.read();
  }

  end(): void {
    if (this.#closed) return;
    const pending = this.#pending;
    if (pending !== undefined && !pending.waiting) {
      this.#ended = true;
      return;
    }
    if (pending !== undefined) this.#parts.withdraw(pending, endedByOwner());
    this.#left();
    this.#close();
  }

  /** Fails it with `error` now if it waits to be fed, else after its iteration. */
  leave(error: SluiceError): void {
    if (this.waiting) this.#fail(error);
    else this.#leaving = error;
  }

  #callerOf(given: Pick<Caller, "priority" | "timeoutMicros" | "tenant" | "signal">): Caller {
    const { priority, timeoutMicros, tenant, signal } = given;
    const respond = () => {};
    return { priority, timeoutMicros, tenant, signal, respond, fail: this.#stepFailed };
  }

  #entry(
    inputs: readonly Tensor[],
    caller: Caller,
    nowMicros: number,
    arrivedMicros: number,
  ): PendingRequest {
    const { loaded } = this;
    const kind = this.request.background ? "job" : "step";
    const admitted = loaded.admission.admit(inputs, kind);
    const pending = new PendingRequest(loaded, caller, admitted, nowMicros, {
      arrivedMicros,
      iterationsDone: this.#iterationsDone,
      iterationsTotal: this.#iterationsTotal(),
      attainedMicros: this.#attainedMicros,
      sequence: this.number,
    }, this);
    this.#parts.checkFits(pending);
    return pending;
  }

  /** One of unknown length is taken to be half done. */
  #iterationsTotal(): number {
    const done = this.#iterationsDone;
    const { sequenceLength } = this.loaded;
    const expected = this.request.iterations ?? (sequenceLength > done ? sequenceLength : 2 * done);
    return Math.max(done + 1, expected);
  }

  #enter(pending: PendingRequest): void {
    this.#waiting = false;
    this.#idle?.cancel();
    this.#pending = pending;
    this.#parts.enqueue(pending);
  }

  /** Its entry is neither waiting nor running any more. */
  #left(): void {
    this.#attainedMicros = this.#pending?.attainedMicros ?? this.#attainedMicros;
    this.#pending = undefined;
  }

  readonly #stepFailed = (error: SluiceError): void => {
    this.#left();
    if (this.#ended) return void this.#close();
    const kept = this.#leaving === undefined && this.request.stepFailed?.(error) === true;
    if (this.#closed) return;
    if (kept && this.#leaving === undefined) this.#wait();
    else this.#fail(this.#leaving ?? error);
  };

  #wait(): Advanced {
    this.#waiting = true;
    const { clock } = this.#parts;
    const limit = this.request.maxIdleMicros ?? this.loaded.model.sequence!.maxIdleMicros;
    if (limit !== Infinity) {
      this.#idle = clock.at(clock.nowMicros() + limit, () => this.#fail(idleTooLong(limit)));
    }
    return this.#takesRequests ? "answered" : "unfinished";
  }

  #fail(error: SluiceError): SluiceError {
    this.request.fail(error);
    this.#close();
    return error;
  }

  #close(): "answered" {
    if (this.#closed) return "answered";
    this.#closed = true;
    this.#idle?.cancel();
    this.deviceState[Symbol.dispose]();
    this.#parts.closed(this);
    return "answered";
  }
}

function idleTooLong(micros: number): SluiceError {
  return new SluiceError(
    "deadline_exceeded",
    `the sequence was ended: nothing came for it within ${micros / 1e6} s`,
  );
}

function endedByOwner(): SluiceError {
  return new SluiceError("cancelled", "the sequence was ended before its time");
}

function clientLeft(): SluiceError {
  return new SluiceError("cancelled", "the client left before the end");
}
