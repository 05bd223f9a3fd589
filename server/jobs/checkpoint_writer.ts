/**
 * Writes the checkpoints of one job, beside its iterations: one at a time, and never holding the job
 * up. A failure is kept for whoever asks; the job goes on.
 *
 * @module
 */
import { toSluiceError } from "../../models/errors.ts";
import type { CheckpointStore } from "../../models/model.ts";
import { replaceInitializers } from "../../models/onnx/initializers.ts";
import type { Tensor } from "../../models/tensor.ts";

/** A checkpoint that lies in the repository. */
export interface Checkpoint {
  /** The model whose version it is. */
  readonly model: string;
  /** That version. */
  readonly version: number;
  /** Iterations that the job had done. */
  readonly iterations: number;
}

/** What the writer needs. */
export interface CheckpointTarget {
  /** Where to. */
  readonly store: CheckpointStore;
  /** The model of which each becomes a version. */
  readonly model: string;
  /** The job's. */
  readonly jobId: string;
  /** Serves what was written. */
  serve(model: string): Promise<void>;
}

/** What a job carries at one time. */
interface Snapshot {
  readonly state: readonly Tensor[];
  readonly iterations: number;
}

/** Checkpoints of a job that stay in the repository. */
const KEPT = 5;

/** The checkpoints of one job. */
export class CheckpointWriter {
  readonly #target: CheckpointTarget;
  #kept: readonly Checkpoint[] = [];
  #writing: Promise<void> | undefined;
  /** What is written after that. */
  #next: Snapshot | undefined;
  /** Of the newest that is written, or shall be. */
  #newestIterations: number | undefined;
  #fault: string | undefined;

  /** Nothing is written yet. */
  constructor(target: CheckpointTarget) {
    this.#target = target;
  }

  /** Those that are still in the repository, oldest first. */
  get kept(): readonly Checkpoint[] {
    return this.#kept;
  }

  /** The newest is of so many iterations. */
  has(iterations: number): boolean {
    return this.#kept.at(-1)?.iterations === iterations;
  }

  /** What went wrong the last time, if it did. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** One is being written: another one would have to wait. */
  get busy(): boolean {
    return this.#writing !== undefined;
  }

  /**
   * Writes a checkpoint, after the one being written and in place of one that waits for that. One of
   * the same iterations is written once.
   */
  write(state: readonly Tensor[], iterations: number): Promise<void> {
    if (iterations === this.#newestIterations) return this.settled();
    this.#newestIterations = iterations;
    this.#next = { state, iterations };
    return this.#writing ??= this.#writeAll();
  }

  /** Resolves when nothing is being written. */
  settled(): Promise<void> {
    return this.#writing ?? Promise.resolve();
  }

  async #writeAll(): Promise<void> {
    while (this.#next !== undefined) {
      const next = this.#next;
      this.#next = undefined;
      await this.#write(next);
    }
    this.#writing = undefined;
  }

  async #write({ state, iterations }: Snapshot): Promise<void> {
    const { store, model, jobId, serve } = this.#target;
    let what = `Iteration ${iterations} was not written`;
    try {
      const newest = await store.read(model);
      const bytes = replaceInitializers(newest.bytes, state, `${model}/${newest.version}`);
      const version = await store.add(model, bytes, { id: jobId, iterations }, KEPT);
      this.#kept = [...this.#kept, { model, version, iterations }].slice(-KEPT);
      what = `${model}/${version} was written, but is not served`;
      await serve(model);
      this.#fault = undefined;
    } catch (error) {
      this.#fault = `${what}: ${toSluiceError(error).message}`;
      if (this.#newestIterations === iterations && !this.has(iterations)) {
        this.#newestIterations = undefined; // it may be tried again
      }
    }
  }
}
