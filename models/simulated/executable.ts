/**
 * A resident model on the simulated device.
 *
 * @module
 */
import type { Executable, IterationResult, Lane, SequenceState, Step } from "../device.ts";
import { SluiceError } from "../errors.ts";
import { carriedBytes, initialState } from "../initial_state.ts";
import type { Model } from "../model.ts";
import type { Tensor } from "../tensor.ts";
import { SimulatedState } from "./sequences.ts";

/** What an executable needs of its device. */
export interface ExecutableParts {
  /** What it runs. */
  readonly model: Model;
  /** What it holds until it is closed. */
  readonly persistentBytes: number;
  /** Runs an iteration on the device. */
  readonly start: Executable["start"];
  /**
   * Asks for memory for the state of a sequence.
   *
   * @throws {SluiceError} `out_of_memory` when the device has not so many bytes more.
   */
  reserve(bytes: number): void;
  /** Nothing is in flight and its memory is free. */
  closed(): void;
}

/** Keeps count of what it has in flight, so as not to be closed underneath. */
export class SimulatedExecutable implements Executable {
  /** What it runs. */
  readonly model: Model;
  /** What it holds until it is closed. */
  readonly persistentBytes: number;
  readonly #parts: ExecutableParts;
  readonly #states = new Set<SimulatedState>();
  #inFlight = 0;
  #closing?: PromiseWithResolvers<void>;

  /** Use `upload` of the staged model. */
  constructor(parts: ExecutableParts) {
    this.model = parts.model;
    this.persistentBytes = parts.persistentBytes;
    this.#parts = parts;
  }

  /** State of its open sequences. */
  get stateBytes(): number {
    return this.#states.size * carriedBytes(this.model);
  }

  /** Starts from what is given and from zeros: the file is not read. */
  openSequence(initial: readonly Tensor[] = []): SequenceState {
    const { sequence, name } = this.model;
    if (sequence === undefined) {
      throw new SluiceError("internal", `Model '${name}' has no sequence rule`);
    }
    if (this.#closing !== undefined) throw this.#closedError();
    const values = initialState(this.model, initial);
    this.#parts.reserve(carriedBytes(this.model));
    const state = new SimulatedState(sequence, values, (state) => this.#states.delete(state));
    this.#states.add(state);
    return state;
  }

  /**
   * The states of a step's rows.
   *
   * @throws {SluiceError} `internal` when they are not as many as the signature says, all of open
   *   sequences of this executable.
   */
  statesOf({ signature, states = [] }: Step): readonly SimulatedState[] {
    const own = states.filter((state): state is SimulatedState =>
      state instanceof SimulatedState && this.#states.has(state)
    );
    const expected = signature.sequences ?? 0;
    if (own.length === expected && states.length === expected) return own;
    throw new SluiceError(
      "internal",
      `An iteration of '${this.model.name}' has ${own.length} states of its sequences among ` +
        `${states.length}; expected ${expected}`,
    );
  }

  /** There is nothing to build. */
  prepare(): Promise<void> {
    return Promise.resolve();
  }

  /** Starts one iteration; one that comes after the disposal fails. */
  start(
    lane: Lane,
    step: Step,
    expectedMicros: number,
    done: (result: IterationResult) => void,
  ): void {
    if (this.#closing !== undefined) {
      done(failed(this.#closedError(), 0));
      return;
    }
    this.#inFlight++;
    this.#parts.start(lane, step, expectedMicros, (result) => {
      this.#inFlight--;
      done(result);
      if (this.#inFlight === 0 && this.#closing !== undefined) this.#close(this.#closing);
    });
  }

  /** Waits for what is in flight. */
  [Symbol.asyncDispose](): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = Promise.withResolvers();
      if (this.#inFlight === 0) this.#close(this.#closing);
    }
    return this.#closing.promise;
  }

  #closedError(): SluiceError {
    return new SluiceError("internal", `Model '${this.model.name}' is closed`);
  }

  #close(closing: PromiseWithResolvers<void>): void {
    this.#parts.closed();
    closing.resolve();
  }
}

/** A result without outputs. */
export function failed(error: Error, deviceMicros: number): IterationResult {
  return { deviceMicros, outputs: [], error, release: () => {} };
}
