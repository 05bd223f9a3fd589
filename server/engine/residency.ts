/**
 * Brings models onto the device and takes them off again, within its memory.
 *
 * @module
 */
import type { Device, StagedModel } from "../../models/device.ts";
import { SluiceError } from "../../models/errors.ts";
import type { Model } from "../../models/model.ts";
import type { Random } from "../../models/random.ts";
import type { Lanes } from "./lanes.ts";
import { LoadedModel } from "./loaded_model.ts";
import { Probes } from "./probes.ts";
import type { QueueLimits } from "./queue.ts";
import type { Reservations } from "./reservations.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Sequences } from "./sequences.ts";

/** What residency needs of the engine. */
export interface ResidencyParts {
  /** Where models are loaded. */
  readonly device: Device;
  /** Runs what is loaded. */
  readonly scheduler: Scheduler;
  /** Whose memory the weights share. */
  readonly lanes: Lanes;
  /** Where that memory is taken from. */
  readonly reservations: Reservations;
  /** May be open on a model that leaves. */
  readonly sequences: Sequences;
  /** Bounds of each model's queue. */
  readonly limits: QueueLimits;
  /** Makes up the inputs of probes. */
  readonly random: Random;
}

/** Loads and unloads model versions. */
export class Residency {
  readonly #device: Device;
  readonly #scheduler: Scheduler;
  readonly #lanes: Lanes;
  readonly #limits: QueueLimits;
  readonly #reservations: Reservations;
  readonly #sequences: Sequences;
  readonly #probes: Probes;

  /** Nothing is loaded yet. */
  constructor(parts: ResidencyParts) {
    this.#device = parts.device;
    this.#scheduler = parts.scheduler;
    this.#lanes = parts.lanes;
    this.#limits = parts.limits;
    this.#reservations = parts.reservations;
    this.#sequences = parts.sequences;
    this.#probes = new Probes(parts.device, parts.reservations, parts.random);
  }

  /**
   * Compiles a model and makes it resident. It takes no requests before {@linkcode admit}.
   *
   * @throws {SluiceError} `invalid_argument` for a bad file, `out_of_memory`.
   */
  async load(model: Model): Promise<LoadedModel> {
    const label = `${model.name}/${model.version}`;
    const holder = `model '${label}'${
      this.#isLoaded(label) ? " (beside the one it replaces)" : ""
    }`;
    const { clock } = this.#scheduler;
    const beganMicros = clock.nowMicros();
    const { ledger } = this.#lanes;
    this.#reservations.makeRoom(model.fileBytes);
    if (!ledger.fits(model.fileBytes)) {
      throw new SluiceError(
        "out_of_memory",
        `${holder} has a file of ${model.fileBytes} bytes, but only ${ledger.freeBytes} of ` +
          `${ledger.capacityBytes} bytes are free; unload a model or raise --memory`,
      );
    }
    const staged = await this.#device.stage(model);
    const measured = this.#logged(label, staged);
    try {
      this.#reservations.takeWeights(measured, holder, staged.persistentBytes);
      const executable = await staged.upload();
      const settled = await this.#probes.settle(model, staged, executable);
      await this.#device.trim(); // what trials of large batches took
      const { nowMicros } = this.#scheduler;
      const loaded = new LoadedModel(settled, measured, executable, this.#limits, nowMicros);
      loaded.loadMicros = clock.nowMicros() - beganMicros;
      return loaded;
    } catch (error) {
      this.#releaseWeights(measured);
      await staged[Symbol.asyncDispose]();
      await this.#device.trim();
      throw error;
    }
  }

  /** Notes what the device says of signatures, so that a replay need not ask it. */
  #logged(label: string, staged: StagedModel): StagedModel {
    const { log, clock } = this.#scheduler;
    if (log === undefined) return staged;
    return {
      persistentBytes: staged.persistentBytes,
      stateBytes: staged.stateBytes,
      ephemeralBytes(signature) {
        const bytes = staged.ephemeralBytes(signature);
        log.measured(clock.nowMicros(), label, signature, bytes);
        return bytes;
      },
      upload: () => staged.upload(),
      [Symbol.asyncDispose]: () => staged[Symbol.asyncDispose](),
    };
  }

  #isLoaded(label: string): boolean {
    return this.#scheduler.models.some((loaded) => loaded.label === label);
  }

  /** From now on requests find it. */
  admit(loaded: LoadedModel): void {
    this.#scheduler.addModel(loaded);
  }

  /** Waits until the last request is answered, then gives the memory back. */
  async retire(loaded: LoadedModel): Promise<void> {
    const reason = loaded.successor === undefined ? "was unloaded" : "was replaced";
    const error = new SluiceError("not_ready", `Model '${loaded.label}' ${reason}`);
    this.#sequences.endEndless(loaded, error);
    if (!loaded.idle) {
      await new Promise<void>((resolve) => {
        loaded.onIdle = () => {
          if (loaded.idle) resolve();
        };
      });
    }
    this.#scheduler.removeModel(loaded);
    await this.unload(loaded);
  }

  /** Gives a model's memory back. Nothing of it may be queued or running. */
  async unload(loaded: LoadedModel): Promise<void> {
    await loaded.executable[Symbol.asyncDispose]();
    await loaded.staged[Symbol.asyncDispose]();
    this.#releaseWeights(loaded.staged);
    await this.#device.trim();
  }

  /** Lanes then keep what the models that are left have needed. */
  #releaseWeights(owner: object): void {
    const needed = this.#scheduler.models.map((other) => other.ephemeralBytes);
    this.#reservations.releaseWeights(owner, Math.max(0, ...needed));
  }
}
