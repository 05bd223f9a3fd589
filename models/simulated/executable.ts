/**
 * A resident model on the simulated device.
 *
 * @module
 */
import type { Executable, IterationResult, Lane, Step } from "../device.ts";
import { SluiceError } from "../errors.ts";
import type { Model } from "../model.ts";

/** What an executable needs of its device. */
export interface ExecutableParts {
  /** What it runs. */
  readonly model: Model;
  /** What it holds until it is closed. */
  readonly persistentBytes: number;
  /** Runs an iteration on the device. */
  readonly start: Executable["start"];
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
  #inFlight = 0;
  #closing?: PromiseWithResolvers<void>;

  /** Use `upload` of the staged model. */
  constructor(parts: ExecutableParts) {
    this.model = parts.model;
    this.persistentBytes = parts.persistentBytes;
    this.#parts = parts;
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
      done(failed(new SluiceError("internal", `Model '${this.model.name}' is closed`), 0));
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

  #close(closing: PromiseWithResolvers<void>): void {
    this.#parts.closed();
    closing.resolve();
  }
}

/** A result without outputs. */
export function failed(error: Error, deviceMicros: number): IterationResult {
  return { deviceMicros, outputs: [], error, release: () => {} };
}
