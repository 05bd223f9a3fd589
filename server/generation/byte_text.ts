/**
 * Bytes that come one by one as text: in whole characters, and without what may yet turn out to be a
 * stop string.
 *
 * @module
 */
import { StopStrings } from "./stop.ts";

/** A text that grows by bytes. */
export class ByteText {
  readonly #stops: StopStrings;
  /** Bytes that are not text are U+FFFD; those of a character's beginning wait in it for the rest. */
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** What is held back. */
  readonly #pending: Uint8Array<ArrayBuffer>;
  #length = 0;
  #stopped = false;

  /**
   * The text is empty.
   *
   * @param stop Strings that end it; they are no part of it.
   */
  constructor(stop: readonly Uint8Array<ArrayBuffer>[]) {
    this.#stops = new StopStrings(stop);
    this.#pending = new Uint8Array(1 + Math.max(0, ...stop.map((string) => string.length)));
  }

  /** Whether a stop string has ended it. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Takes the next byte; gives what is sure to be text now, often nothing. */
  push(byte: number): string {
    this.#pending[this.#length++] = byte;
    this.#stopped = this.#stops.push(byte);
    const sure = this.#length - this.#stops.held;
    if (sure === 0) return "";
    const piece = this.#decoder.decode(this.#pending.subarray(0, sure), { stream: true });
    this.#pending.copyWithin(0, sure, this.#length);
    this.#length -= sure;
    return piece;
  }

  /** No byte follows: gives the rest. */
  end(): string {
    return this.#decoder.decode(this.#pending.subarray(0, this.#stopped ? 0 : this.#length));
  }
}
