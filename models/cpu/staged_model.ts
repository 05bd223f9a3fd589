/**
 * A loaded and measured model on the CPU device.
 *
 * @module
 */
import type { Session } from "../../ffi/onnxruntime/session.ts";
import type { Executable, Signature, StagedModel } from "../device.ts";
import { SluiceError } from "../errors.ts";
import type { Model } from "../model.ts";
import { CpuExecutable } from "./executable.ts";
import type { Measurement } from "./measure.ts";

/**
 * Host and device memory are the same here, so it is resident as soon as it is staged. The weights
 * go when this and every executable made of it have been disposed of, in any order.
 */
export class CpuStagedModel implements StagedModel {
  /** What was loaded. */
  readonly model: Model;
  readonly persistentBytes: number;
  readonly #session: Session;
  readonly #measurement: Measurement;
  readonly #free: () => void;
  readonly #executables = new Set<CpuExecutable>();
  #disposed = false;

  /**
   * Shares a loaded session.
   *
   * @param free Lets the weights go. Called once, when nobody can use them any more.
   */
  constructor(
    model: Model,
    session: Session,
    persistentBytes: number,
    measurement: Measurement,
    free: () => void,
  ) {
    this.model = model;
    this.#session = session;
    this.persistentBytes = persistentBytes;
    this.#measurement = measurement;
    this.#free = free;
  }

  /** The part of the persistent bytes that lies in the shared arena. */
  get arenaWeightBytes(): number {
    return this.#measurement.arenaWeightBytes;
  }

  /** Host memory of all its executables, bytes. */
  get hostBytes(): number {
    let bytes = 0;
    for (const executable of this.#executables) bytes += executable.hostBytes;
    return bytes;
  }

  ephemeralBytes(signature: Signature): number {
    return this.#measurement.workingMemory.estimate(signature.inputs);
  }

  upload(): Promise<Executable> {
    if (this.#disposed) {
      const { name, version } = this.model;
      return Promise.reject(
        new SluiceError("not_ready", `Model "${name}" version ${version} is unloaded`),
      );
    }
    const { shortRuns } = this.#measurement;
    const executable = new CpuExecutable(this.model, this.#session, shortRuns, () => {
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
