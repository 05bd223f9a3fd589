/**
 * Whether requests of a model, and its sequences, may be joined, where nothing declares it: found
 * out on the device at the first load, and known from then on.
 *
 * @module
 */
import { BoundedMap } from "../../models/bounded_map.ts";
import type { Device, Executable, Lane, StagedModel } from "../../models/device.ts";
import type { BatchingProbe } from "../../models/manifest.ts";
import type { BatchingRule, Model, SequenceRule } from "../../models/model.ts";
import { probeJoining } from "../../models/probe.ts";
import type { Random } from "../../models/random.ts";
import { PROBED_SEQUENCES, probeSequences } from "../../models/sequence_probe.ts";
import type { Reservations } from "./reservations.ts";

/** Probes whose result is kept, those of unloaded models too. */
const KEPT = 1024;

/** What a probe makes runs with. */
type Runnable = Pick<Executable, "openSequence" | "start">;
/** A probe, to be run on a lane of its own. */
type Probe = (runnable: Runnable, lane: Lane) => Promise<BatchingProbe>;

/** Probes models, each content once. */
export class Probes {
  readonly #device: Device;
  readonly #reservations: Reservations;
  readonly #random: Random;
  /** Those that allowed joining, by what was probed: other samples may change a refusal, not these. */
  readonly #allowed = new BoundedMap<string, BatchingProbe>(KEPT);

  /** `reservations` give probes their memory; `random` makes up their inputs. */
  constructor(device: Device, reservations: Reservations, random: Random) {
    this.#device = device;
    this.#reservations = reservations;
    this.#random = random;
  }

  /** The model with its rules of joining settled: unchanged where there is nothing to find out. */
  async settle(model: Model, staged: StagedModel, executable: Executable): Promise<Model> {
    const { sequence, fingerprint } = model;
    const settled = async (rule: BatchingRule, key: string, probe: Probe) => {
      if (!rule.probe) return rule;
      const found = this.#allowed.get(key) ?? await this.#run(probe, staged, executable);
      if (found.join) this.#allowed.set(key, found);
      return settledBy(found, rule);
    };
    const batching = await settled(
      model.batching,
      fingerprint,
      (runnable, lane) => probeJoining(model, runnable, lane, this.#random),
    );
    if (sequence === undefined) return { ...model, batching };
    const ofSequences = await settled(
      sequence.batching,
      `${fingerprint} in sequences`,
      (runnable, lane) => this.#probeSequences(model, sequence, staged, runnable, lane),
    );
    return { ...model, batching, sequence: { ...sequence, batching: ofSequences } };
  }

  async #run(probe: Probe, staged: StagedModel, executable: Executable): Promise<BatchingProbe> {
    using lane = this.#device.openLane(0);
    try {
      return await probe(this.#fitting(staged, executable), lane);
    } finally {
      this.#reservations.resize(lane, 0);
    }
  }

  async #probeSequences(
    model: Model,
    rule: SequenceRule,
    staged: StagedModel,
    runnable: Runnable,
    lane: Lane,
  ): Promise<BatchingProbe> {
    const bytes = PROBED_SEQUENCES * staged.stateBytes;
    if (!this.#reservations.takeState(lane, bytes)) {
      const reason = `There was no memory for the states of a probe: ${bytes} bytes`;
      return { join: false, reason, batchedInputs: rule.batching.batchedInputs };
    }
    try {
      return await probeSequences(model, rule, runnable, lane, this.#random);
    } finally {
      this.#reservations.releaseState(lane);
    }
  }

  /** Gives the lane the working memory of each run before it starts. */
  #fitting(staged: StagedModel, executable: Executable): Runnable {
    return {
      openSequence: (initial) => executable.openSequence(initial),
      start: (lane, step, expectedMicros, done) => {
        this.#reservations.resize(lane, staged.ephemeralBytes(step.signature));
        executable.start(lane, step, expectedMicros, done);
      },
    };
  }
}

/** The rule with what a probe found. */
function settledBy(
  { join, reason, batchedInputs }: BatchingProbe,
  rule: BatchingRule,
): BatchingRule {
  return {
    ...rule,
    join,
    reason,
    batchedInputs: join ? batchedInputs : batchedInputs.map(() => false),
    maxRows: join ? rule.maxRows : 1,
    probe: false,
  };
}
