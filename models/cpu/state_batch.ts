/**
 * Sequences that run together.
 *
 * @module
 */
import type { SequenceState } from "../device.ts";
import type { StateRows, StateTransition } from "./state_rows.ts";

/**
 * Sequences whose state lies side by side, so that an iteration of all of them copies none of it:
 * it reads one set of rows and writes another, and then the two change places. After one that fails
 * they do not.
 */
export class StateBatch implements StateTransition, Disposable {
  /** One for each row. */
  readonly members: readonly SequenceState[];
  #current: StateRows;
  #next: StateRows | undefined;
  readonly #allocate: () => StateRows;
  #inFlight = false;

  /**
   * Takes memory.
   *
   * @param allocate Gives rows for all members.
   */
  constructor(members: readonly SequenceState[], allocate: () => StateRows) {
    this.members = members;
    this.#allocate = allocate;
    this.#current = allocate();
  }

  get current(): StateRows {
    return this.#current;
  }

  get next(): StateRows {
    return this.#next ??= this.#allocate();
  }

  /** Whether an iteration uses it. */
  get inFlight(): boolean {
    return this.#inFlight;
  }

  /** Whether these are its members in their order. */
  consistsOf(states: readonly SequenceState[]): boolean {
    return states.length === this.members.length &&
      this.members.every((member, row) => member === states[row]);
  }

  /** An iteration begins. */
  enter(): void {
    this.#inFlight = true;
  }

  /** It has ended. */
  leave(succeeded: boolean): void {
    this.#inFlight = false;
    if (succeeded) [this.#current, this.#next] = [this.next, this.#current];
  }

  /** Frees the rows that the next iteration would write to: until then nobody needs them. */
  dropNext(): void {
    this.#next?.[Symbol.dispose]();
    this.#next = undefined;
  }

  /** Frees all. Not while an iteration is in flight. */
  [Symbol.dispose](): void {
    this.dropNext();
    this.#current[Symbol.dispose]();
  }
}
