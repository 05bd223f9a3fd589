/**
 * Brings models onto the device and takes them off again, within its memory.
 *
 * @module
 */
import type { Device, StagedModel } from "../../models/device.ts";
import { SluiceError } from "../../models/errors.ts";
import type { Model } from "../../models/model.ts";
import { probeJoining, type ProbeResult } from "../../models/probe.ts";
import type { Lanes } from "./lanes.ts";
import { LoadedModel } from "./loaded_model.ts";
import type { QueueLimits } from "./queue.ts";
import type { Scheduler } from "./scheduler.ts";

/** Probes whose result is kept, those of unloaded models too. */
const KEPT_PROBES = 1024;

/** Loads and unloads model versions. */
export class Residency {
  /** Probes that allowed joining, by fingerprint: other samples may change a refusal, not these. */
  readonly #probed = new Map<string, ProbeResult>();
  readonly #device: Device;
  readonly #scheduler: Scheduler;
  readonly #lanes: Lanes;
  readonly #limits: QueueLimits;
  readonly #random: () => number;

  /** `limits` bound each model's queue; `random` makes up the inputs of probes. */
  constructor(
    device: Device,
    scheduler: Scheduler,
    lanes: Lanes,
    limits: QueueLimits,
    random: () => number,
  ) {
    this.#device = device;
    this.#scheduler = scheduler;
    this.#lanes = lanes;
    this.#limits = limits;
    this.#random = random;
  }

  /**
   * Compiles a model and makes it resident. It takes no requests before {@linkcode admit}.
   *
   * @throws {SluiceError} `invalid_argument` for a bad file, `out_of_memory`.
   */
  async load(model: Model): Promise<LoadedModel> {
    const { ledger } = this.#lanes;
    const label = `${model.name}/${model.version}`;
    const holder = `model '${label}'${
      this.#isLoaded(label) ? " (beside the one it replaces)" : ""
    }`;
    if (!ledger.fits(model.fileBytes)) this.#lanes.shrinkTo(0);
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
      if (!ledger.fits(staged.persistentBytes)) this.#lanes.shrinkTo(0);
      ledger.takePersistent(measured, holder, staged.persistentBytes);
      const executable = await staged.upload();
      const probed = model.batching.probe ? await this.#probe(model, executable) : model;
      return new LoadedModel(
        probed,
        measured,
        executable,
        this.#limits,
        this.#scheduler.nowMicros,
      );
    } catch (error) {
      ledger.releasePersistent(measured);
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

  /** Finds out whether joined requests get the answers that separate ones get. */
  async #probe(model: Model, executable: LoadedModel["executable"]): Promise<Model> {
    const found = this.#probed.get(model.fingerprint) ?? await this.#runProbe(model, executable);
    const { join, reason } = found;
    const batchedInputs = join ? found.batchedInputs : found.batchedInputs.map(() => false);
    const maxRows = join ? model.batching.maxRows : 1;
    return {
      ...model,
      batching: { ...model.batching, join, reason, batchedInputs, maxRows, probe: false },
    };
  }

  async #runProbe(model: Model, executable: LoadedModel["executable"]): Promise<ProbeResult> {
    using lane = this.#device.openLane(0);
    const found = await probeJoining(model, executable, lane, this.#random);
    if (found.join) this.#keep(model.fingerprint, found);
    return found;
  }

  /** Keeps a probe's result; the oldest make room. */
  #keep(fingerprint: string, found: ProbeResult): void {
    this.#probed.set(fingerprint, found);
    for (const oldest of this.#probed.keys()) {
      if (this.#probed.size <= KEPT_PROBES) break;
      this.#probed.delete(oldest);
    }
  }

  /** From now on requests find it. */
  admit(loaded: LoadedModel): void {
    this.#scheduler.addModel(loaded);
  }

  /** Waits until the last request is answered, then gives the memory back. */
  async retire(loaded: LoadedModel): Promise<void> {
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
    this.#lanes.ledger.releasePersistent(loaded.staged);
    const needed = Math.max(0, ...this.#scheduler.models.map((other) => other.ephemeralBytes));
    this.#lanes.shrinkTo(needed);
    await this.#device.trim();
  }
}
