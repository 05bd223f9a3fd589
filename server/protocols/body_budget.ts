/**
 * One bound for all request bodies that are in memory at once, from their first byte until they are
 * answered: else clients that send most of a large body and stop would take all of it.
 *
 * @module
 */
import { type Clock, SystemClock } from "../../models/clock.ts";
import { SluiceError } from "../../models/errors.ts";

/** Bodies up to this size are not counted: they cost little, and no one large keeps them out. */
export const UNCOUNTED_BYTES = 64 * 1024;

/** Bytes that the bodies of a gateway may take together. */
export class BodyBudget {
  readonly #limit: number;
  #held = 0;

  /**
   * Nothing is held yet.
   *
   * @param limit Bytes. One body alone is let in even where it is larger.
   * @param clock Ends the bodies that come too slowly.
   */
  constructor(limit: number, readonly clock: Clock = new SystemClock()) {
    this.#limit = limit;
  }

  /** Bytes held now. */
  get held(): number {
    return this.#held;
  }

  /** Less than half of it is taken. */
  get roomy(): boolean {
    return this.#held < this.#limit / 2;
  }

  /**
   * Makes room for a body, or for a larger part of one.
   *
   * @param bytes Its length, as far as it is known.
   * @param before What it has taken already.
   * @throws {SluiceError} `queue_full`; what it had is kept until it is given back.
   */
  take(bytes: number, before = 0): void {
    if (bytes <= UNCOUNTED_BYTES) return;
    const own = counted(before);
    const others = this.#held - own;
    if (others > 0 && others + bytes > this.#limit) {
      throw new SluiceError(
        "queue_full",
        `The request body takes ${bytes} bytes; those being received or answered take ${others} ` +
          `of ${this.#limit} bytes, try again later`,
      );
    }
    this.#held += bytes - own;
  }

  /** Gives back what a body of so many bytes has taken. */
  giveBack(bytes: number): void {
    this.#held -= counted(bytes);
  }
}

function counted(bytes: number): number {
  return bytes <= UNCOUNTED_BYTES ? 0 : bytes;
}
