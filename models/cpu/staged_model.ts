/**
 * A loaded and measured model on the CPU device.
 *
 * @module
 */
import type { Session } from "../../ffi/onnxruntime/session.ts";
import type { Executable, Signature, StagedModel } from "../device.ts";
import { SluiceError } from "../errors.ts";
import { carriedBytes } from "../initial_state.ts";
import type { Model } from "../model.ts";
import type { Tensor } from "../tensor.ts";
import { CpuExecutable } from "./executable.ts";
import type { Measurement } from "./measure.ts";
import { iterationElements } from "./working_memory.ts";

/** What a load has taken and found out. */
export interface LoadedModel {
  /** The weights, ready to run. */
  readonly session: Session;
  /** What they take. */
  readonly weightBytes: number;
  /** What trial runs have shown. */
  readonly measurement: Measurement;
  /** What its sequences start from, by carried input. */
  readonly fileState: ReadonlyMap<string, Tensor>;
}

/**
 * Host and device memory are the same here, so it is resident as soon as it is staged. The weights
 * go when this and every executable made of it have been disposed of, in any order.
 */
export class CpuStagedModel implements StagedModel {
  /** What was loaded. */
  readonly model: Model;
  readonly persistentBytes: number;
  readonly stateBytes: number;
  readonly #loaded: LoadedModel;
  readonly #free: () => void;
  readonly #executables = new Set<CpuExecutable>();
  #disposed = false;

  /**
   * Shares a loaded session.
   *
   * @param free Lets the weights go. Called once, when nobody can use them any more.
   */
  constructor(model: Model, loaded: LoadedModel, free: () => void) {
    this.model = model;
    this.#loaded = loaded;
    this.#free = free;
    this.persistentBytes = loaded.weightBytes;
    for (const { data } of loaded.fileState.values()) this.persistentBytes += data.length;
    // What the next iteration reads, and what it writes.
    this.stateBytes = 2 * carriedBytes(model);
  }

  /** The part of the persistent bytes that lies in the shared arena. */
  get arenaWeightBytes(): number {
    return this.#loaded.measurement.arenaWeightBytes;
  }

  /** Host memory of all its executables, bytes. */
  get hostBytes(): number {
    let bytes = 0;
    for (const executable of this.#executables) bytes += executable.hostBytes;
    return bytes;
  }

  /** What the open sequences of all its executables take now, bytes. */
  get heldStateBytes(): number {
    let bytes = 0;
    for (const executable of this.#executables) bytes += executable.stateBytes;
    return bytes;
  }

  ephemeralBytes(signature: Signature): number {
    const elements = iterationElements(signature, this.model);
    return this.#loaded.measurement.workingMemory.estimate(elements);
  }

  upload(): Promise<Executable> {
    if (this.#disposed) {
      const { name, version } = this.model;
      return Promise.reject(
        new SluiceError("not_ready", `Model "${name}" version ${version} is unloaded`),
      );
    }
    const executable = new CpuExecutable(this.model, this.#loaded, () => {
      this.#executables.delete(executable);
      this.#freeWhenUnused();
    });
    this.#executables.add(executable);
    return Promise.resolve(executable);
  }

  /** Lets the weights go, once no executable uses them. */
  [Symbol.asyncDispose](): Promise<void> {
    if (!this.#disposed) {
      this.#disposed = true;
      this.#freeWhenUnused();
    }
    return Promise.resolve();
  }

  /** Disposes of the executables, too. */
  async close(): Promise<void> {
    await this[Symbol.asyncDispose]();
    for (const executable of this.#executables) await executable[Symbol.asyncDispose]();
  }

  #freeWhenUnused(): void {
    if (!this.#disposed || this.#executables.size > 0) return;
    this.#free();
  }
}
