/**
 * Captured iterations of one model, kept for the lanes and signatures that were used last.
 *
 * @module
 */
import type { VirtualRange } from "../../ffi/cuda/virtual_memory.ts";
import type { KernelLibrary } from "./kernel_library.ts";
import type { CudaLane } from "./lane.ts";
import type { PinnedPool } from "./pinned_pool.ts";
import type { IterationPlan } from "./plan.ts";
import { Replay } from "./replay.ts";

/** How much a pool keeps; what is in use, and what replays the same plan, may exceed it. */
const MOST_REPLAYS = 128;
const MOST_HOST_BYTES = 64 << 20;

/** What a pool captures with. */
export interface ReplayParts {
  /** The model's; absent when it has none. */
  readonly weights?: VirtualRange;
  /** The device's. */
  readonly kernels: KernelLibrary;
  /** The device's. */
  readonly pinned: PinnedPool;
}

/** A pool of replays. */
export class ReplayPool implements Disposable {
  readonly #parts: ReplayParts;
  /** Those that nobody uses, the latest used at the end. */
  readonly #free = new Set<Replay>();
  /** All, and what each replays. */
  readonly #plans = new Map<Replay, IterationPlan>();
  readonly #retireLane = (lane: CudaLane) => {
    this.#lanes.delete(lane);
    this.#retire((replay) => replay.lane === lane);
  };
  readonly #lanes = new Set<CudaLane>();
  #hostBytes = 0;

  /** An empty pool. */
  constructor(parts: ReplayParts) {
    this.#parts = parts;
  }

  /** Whether nothing is left of it. */
  get empty(): boolean {
    return this.#plans.size === 0;
  }

  /** Pinned memory of all. */
  get hostBytes(): number {
    return this.#hostBytes;
  }

  /**
   * A replay of this plan on this lane that nobody uses: one of before, or a new one.
   *
   * @throws {CudaError}
   */
  take(plan: IterationPlan, lane: CudaLane): Replay {
    for (const replay of this.#free) {
      if (replay.lane !== lane || this.#plans.get(replay) !== plan) continue;
      this.#free.delete(replay);
      return replay;
    }
    if (!this.#lanes.has(lane)) {
      this.#lanes.add(lane);
      lane.onClose(this.#retireLane);
    }
    const replay = new Replay(plan, lane, this.#parts);
    this.#plans.set(replay, plan);
    this.#hostBytes += replay.hostBytes;
    return replay;
  }

  /** Takes a replay back, and lets go of what has not been used for longest where there are many. */
  giveBack(replay: Replay): void {
    if (replay.retired) {
      this.#dispose(replay);
      return;
    }
    this.#free.add(replay);
    const plan = this.#plans.get(replay);
    for (const oldest of this.#free) {
      if (this.#plans.size <= MOST_REPLAYS && this.#hostBytes <= MOST_HOST_BYTES) return;
      if (this.#plans.get(oldest) !== plan) this.#dispose(oldest);
    }
  }

  /** Frees all but the answers that somebody still reads: those go when they are given back. */
  close(): void {
    for (const lane of this.#lanes) lane.offClose(this.#retireLane);
    this.#retire(() => true);
  }

  /** Frees all, answers that somebody reads included. Nothing may run. */
  [Symbol.dispose](): void {
    this.close();
    for (const replay of this.#plans.keys()) this.#dispose(replay);
  }

  #retire(condition: (replay: Replay) => boolean): void {
    for (const replay of this.#plans.keys()) {
      if (!condition(replay)) continue;
      if (this.#free.has(replay)) this.#dispose(replay);
      else replay.retire();
    }
  }

  #dispose(replay: Replay): void {
    this.#free.delete(replay);
    if (!this.#plans.delete(replay)) return;
    this.#hostBytes -= replay.hostBytes;
    replay[Symbol.dispose]();
  }
}
