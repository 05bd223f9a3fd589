/**
 * Pinned host memory for all models of a device, kept for the next one who needs some.
 *
 * @module
 */
import type { Context } from "../../ffi/cuda/context.ts";
import { PinnedMemory } from "../../ffi/cuda/pinned.ts";

const LEAST_BYTES = 4096;

/**
 * A pool by powers of two. To free pinned memory, the driver waits for whatever runs on the device,
 * and the event loop with it: so that is left for when nothing does.
 */
export class PinnedPool implements Disposable {
  readonly #context: Context;
  readonly #free: PinnedMemory[] = [];

  /** An empty pool. */
  constructor(context: Context) {
    this.#context = context;
  }

  /** Bytes that nobody uses. */
  get bytes(): number {
    return this.#free.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * Memory of at least so many bytes.
   *
   * @throws {CudaError}
   */
  take(bytes: number): PinnedMemory {
    const size = 2 ** Math.ceil(Math.log2(Math.max(bytes, LEAST_BYTES)));
    const place = this.#free.findIndex((memory) => memory.bytes === size);
    return place < 0 ? new PinnedMemory(this.#context, size) : this.#free.splice(place, 1)[0];
  }

  /** Takes memory back that nothing in flight uses. Who reads it still sees what comes next. */
  giveBack(memory: PinnedMemory): void {
    this.#free.push(memory);
  }

  /** Frees what nobody uses, once nothing runs any more. */
  trim(): void {
    for (const memory of this.#free.splice(0)) memory[Symbol.dispose]();
  }

  /** The same. */
  [Symbol.dispose](): void {
    this.trim();
  }
}
