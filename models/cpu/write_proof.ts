/**
 * Whether runs write an output to the buffer that is bound to it. ONNX Runtime passes an output that
 * is an input or a constant itself through, and leaves the buffer as it was.
 *
 * @module
 */

/** Written over a buffer to see whether a run writes to it. */
const MARK = 0xa5;

/** What a run has shown of one output. */
export class WriteProof {
  #isWritten: boolean | undefined;

  /** No run has shown it yet. */
  get isOpen(): boolean {
    return this.#isWritten === undefined;
  }

  /** Runs write to the buffer. */
  get isWritten(): boolean {
    return this.#isWritten === true;
  }

  /** Runs leave the buffer as it was. */
  get isPassedThrough(): boolean {
    return this.#isWritten === false;
  }

  /** Before the run that is to show it. */
  mark(buffer: Uint8Array<ArrayBuffer>): void {
    buffer.fill(MARK);
  }

  /** After that run: whether it wrote to the buffer. */
  prove(buffer: Uint8Array<ArrayBuffer>): boolean {
    this.#isWritten = buffer.length === 0 || buffer.some((byte) => byte !== MARK);
    return this.#isWritten;
  }
}
