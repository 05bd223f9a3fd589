/**
 * Whether requests of a model may be joined, where nothing declares it: found out on the device at
 * the first load, and known from then on.
 *
 * @module
 */
import { BoundedMap } from "../../models/bounded_map.ts";
import type { Device, Executable, Lane, StagedModel, Step } from "../../models/device.ts";
import type { Model } from "../../models/model.ts";
import { probeJoining, type ProbeResult } from "../../models/probe.ts";
import type { Random } from "../../models/random.ts";
import type { Reservations } from "./reservations.ts";

/** Probes whose result is kept, those of unloaded models too. */
const KEPT = 1024;

/** Probes models, each content once. */
export class Probes {
  readonly #device: Device;
  readonly #reservations: Reservations;
  readonly #random: Random;
  /** Those that allowed joining, by fingerprint: other samples may change a refusal, not these. */
  readonly #allowed = new BoundedMap<string, ProbeResult>(KEPT);

  /** `reservations` give probes their working memory; `random` makes up their inputs. */
  constructor(device: Device, reservations: Reservations, random: Random) {
    this.#device = device;
    this.#reservations = reservations;
    this.#random = random;
  }

  /** The model with its batching settled: unchanged where there is nothing to find out. */
  async settle(model: Model, staged: StagedModel, executable: Executable): Promise<Model> {
    if (!model.batching.probe) return model;
    const found = this.#allowed.get(model.fingerprint) ??
      await this.#run(model, staged, executable);
    const { join, reason } = found;
    const batchedInputs = join ? found.batchedInputs : found.batchedInputs.map(() => false);
    const maxRows = join ? model.batching.maxRows : 1;
    return {
      ...model,
      batching: { ...model.batching, join, reason, batchedInputs, maxRows, probe: false },
    };
  }

  async #run(model: Model, staged: StagedModel, executable: Executable): Promise<ProbeResult> {
    using lane = this.#device.openLane(0);
    try {
      const fitting = this.#fitting(staged, executable);
      const found = await probeJoining(model, fitting, lane, this.#random);
      if (found.join) this.#allowed.set(model.fingerprint, found);
      return found;
    } finally {
      this.#reservations.resize(lane, 0);
    }
  }

  /** Gives the lane the working memory of each run before it starts. */
  #fitting(staged: StagedModel, executable: Executable): Pick<Executable, "start"> {
    return {
      start: (lane: Lane, step: Step, expectedMicros, done) => {
        this.#reservations.resize(lane, staged.ephemeralBytes(step.signature));
        executable.start(lane, step, expectedMicros, done);
      },
    };
  }
}
