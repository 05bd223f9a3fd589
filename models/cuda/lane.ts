/**
 * Lanes of the cuda device: a stream, and addresses whose memory comes and goes.
 *
 * @module
 */
import type { ChunkPool } from "../../ffi/cuda/chunk_pool.ts";
import type { CudaError } from "../../ffi/cuda/errors.ts";
import type { CudaEvent } from "../../ffi/cuda/event.ts";
import { Stream } from "../../ffi/cuda/stream.ts";
import { VirtualRange } from "../../ffi/cuda/virtual_memory.ts";
import type { Lane } from "../device.ts";
import { SluiceError } from "../errors.ts";
import { deviceError } from "./errors.ts";

/** Told that an iteration has ended: with an error, when the device is at fault. */
export type Ended = (error?: CudaError) => void;

/** Working memory at addresses that stay for the lane's life, and a stream. */
export class CudaLane implements Lane {
  /** Unique on its device. */
  readonly id: number;
  /** While one iteration runs, the next one waits on the device, not in the host. */
  readonly depth = 2;
  /** What iterations run on. */
  readonly stream: Stream;
  /** Working memory; mapped as far as the lane's bytes say. */
  readonly range: VirtualRange;
  #bytes = 0;
  #closing = false;
  /** Oldest first. */
  readonly #running: { readonly event: CudaEvent; readonly ended: Ended }[] = [];
  readonly #closeListeners = new Set<(lane: CudaLane) => void>();

  /**
   * Opens a lane.
   *
   * @param mostBytes What it can grow to.
   * @throws {CudaError}
   */
  constructor(id: number, pool: ChunkPool, mostBytes: number) {
    this.id = id;
    this.range = new VirtualRange(pool, mostBytes);
    try {
      this.stream = new Stream(pool.context);
    } catch (error) {
      this.range[Symbol.dispose]();
      throw error;
    }
  }

  /** As last given. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Iterations that were started and have not ended. */
  get running(): number {
    return this.#running.length;
  }

  /** Whether it was closed, or will be when its iterations have ended. */
  get closed(): boolean {
    return this.#closing;
  }

  /**
   * Maps and unmaps chunks. When the device has not as much as the engine thinks, iterations that
   * need it are refused.
   *
   * @throws {SluiceError} `internal` when something runs.
   */
  resize(bytes: number): void {
    if (this.#running.length > 0) {
      throw new SluiceError("internal", `Lane ${this.id} cannot change: an iteration runs on it`);
    }
    this.#bytes = bytes;
    try {
      this.range.resize(Math.min(bytes, this.range.reservedBytes));
    } catch {
      // Said when it matters: by `require`.
    }
  }

  /**
   * Makes sure that an iteration can have so much working memory.
   *
   * @throws {SluiceError} `out_of_memory`, with the bytes.
   */
  require(bytes: number, what: string): void {
    if (bytes <= this.range.bytes) return;
    if (bytes > this.#bytes) {
      throw new SluiceError(
        "out_of_memory",
        `${what} needs ${bytes} bytes of working memory; lane ${this.id} has ${this.#bytes}`,
      );
    }
    try {
      this.range.resize(bytes);
    } catch (cause) {
      throw deviceError(`${what} needs ${bytes} bytes of working memory`, cause);
    }
  }

  /** Has `ended` called when the event has fired: after those of earlier iterations, never at once. */
  follow(event: CudaEvent, ended: Ended): void {
    this.#running.push({ event, ended });
    if (this.#running.length === 1) this.#watch();
  }

  /** Has a listener called before the lane goes. */
  onClose(listener: (lane: CudaLane) => void): void {
    this.#closeListeners.add(listener);
  }

  /** Takes a listener away. */
  offClose(listener: (lane: CudaLane) => void): void {
    this.#closeListeners.delete(listener);
  }

  /** Gives stream, memory and addresses back, when what runs has ended. */
  [Symbol.dispose](): void {
    if (this.#closing) return;
    this.#closing = true;
    if (this.#running.length === 0) this.#close();
  }

  /** One at a time, so that iterations end in their order. */
  #watch(): void {
    this.stream.context.poller.watch(this.#running[0].event, (error) => {
      const { ended } = this.#running.shift()!;
      if (this.#running.length > 0) this.#watch();
      ended(error);
      if (this.#closing && this.#running.length === 0) this.#close();
    });
  }

  #close(): void {
    for (const listener of this.#closeListeners) listener(this);
    this.stream[Symbol.dispose]();
    this.range[Symbol.dispose]();
  }
}
