/**
 * Lanes of the CPU device.
 *
 * @module
 */
import type { Lane } from "../device.ts";

/**
 * Working memory is one arena for all lanes, so a lane's bytes are a budget that the engine keeps;
 * its stream is this object: what is started while an iteration runs waits for its end.
 */
export class CpuLane implements Lane {
  /** Unique on its device. */
  readonly id: number;
  /**
   * One: here the next iteration starts from the event loop in any case, so a second one started
   * early would gain nothing and could not be overtaken by more urgent work.
   */
  readonly depth = 1;
  #bytes: number;
  #busy = false;
  #advancing = false;
  readonly #waiting: (() => void)[] = [];

  /** An idle lane. */
  constructor(id: number, bytes: number) {
    this.id = id;
    this.#bytes = bytes;
  }

  /** The engine's budget for what runs here. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether an iteration started now has to wait. */
  get occupied(): boolean {
    return this.#busy || this.#waiting.length > 0;
  }

  /** Runs `begin` when what was started before has ended. */
  wait(begin: () => void): void {
    this.#waiting.push(begin);
  }

  /** Marks the begin of an iteration. */
  enter(): void {
    this.#busy = true;
  }

  /** Marks its end. */
  leave(): void {
    this.#busy = false;
  }

  /** Begins what waits, one after the other while each ends in place. */
  next(): void {
    if (this.#advancing) return;
    this.#advancing = true;
    while (!this.#busy && this.#waiting.length > 0) this.#waiting.shift()?.();
    this.#advancing = false;
  }

  resize(bytes: number): void {
    this.#bytes = bytes;
  }

  /** Nothing to free: the memory is the arena's. */
  [Symbol.dispose](): void {}
}
