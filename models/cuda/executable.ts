/**
 * A resident model on the cuda device.
 *
 * @module
 */
import { CudaError } from "../../ffi/cuda/errors.ts";
import type { VirtualRange } from "../../ffi/cuda/virtual_memory.ts";
import type {
  Executable,
  IterationResult,
  Lane,
  SequenceState,
  Signature,
  Step,
} from "../device.ts";
import { messageOf, SluiceError } from "../errors.ts";
import { FailedIteration } from "../failed_iteration.ts";
import { labelOf } from "../model_file.ts";
import type { Model } from "../model.ts";
import type { Tensor } from "../tensor.ts";
import { deviceError } from "./errors.ts";
import { CudaLane } from "./lane.ts";
import type { IterationPlan } from "./plan.ts";
import type { Replay } from "./replay.ts";
import type { ReplayPool } from "./replay_pool.ts";

/** What an executable runs, and with what. */
export interface ExecutableParts {
  /** What it runs. */
  readonly model: Model;
  /** The model's weights; absent when it has none. It disposes of them. */
  readonly weights?: VirtualRange;
  /** Its captured iterations, where answers that are read still may outlive it. */
  readonly replays: ReplayPool;
  /**
   * The plan for a signature.
   *
   * @throws {SluiceError} When the model cannot run on such inputs.
   */
  plan(signature: Signature): IterationPlan;
  /** Why nothing can run any more; undefined while all is well. */
  fault(): SluiceError | undefined;
  /** Called once, when nothing of it runs and its weights are gone. */
  closed(): void;
}

/** Receives the end of an iteration. */
export type Done = (result: IterationResult) => void;

/** Starts iterations of one model. */
export class CudaExecutable implements Executable {
  /** What it runs. */
  readonly model: Model;
  readonly #replays: ReplayPool;
  readonly #parts: ExecutableParts;
  #inFlight = 0;
  #whenIdle = () => {};
  #disposing: Promise<void> | undefined;

  /** Use `upload` of the staged model. */
  constructor(parts: ExecutableParts) {
    this.model = parts.model;
    this.#parts = parts;
    this.#replays = parts.replays;
  }

  /** Pinned memory that its iterations are read and written in. */
  get hostBytes(): number {
    return this.#replays.hostBytes;
  }

  /** Device memory of its weights. */
  get persistentBytes(): number {
    return this.#parts.weights?.bytes ?? 0;
  }

  /** There are none: models with a sequence rule are not staged. */
  openSequence(): SequenceState {
    throw new SluiceError("internal", `${this.#label} runs in no sequences`);
  }

  /** Captures as many iterations as the lane takes at once. */
  prepare(signature: Signature, lane: Lane): Promise<void> {
    const taken: Replay[] = [];
    return Promise.try(() => {
      const plan = this.#parts.plan(signature);
      const own = this.#checked(lane, plan);
      for (let i = 0; i < lane.depth; i++) taken.push(this.#replays.take(plan, own));
    }).catch((cause) => {
      throw this.#error("cannot be prepared", cause);
    }).finally(() => {
      for (const replay of taken) this.#replays.giveBack(replay);
    });
  }

  start(lane: Lane, step: Step, _expectedMicros: number, done: Done): void {
    let replay: Replay | undefined;
    try {
      const plan = this.#planned(step.signature);
      const own = this.#checked(lane, plan);
      if (own.running >= own.depth) throw tooDeep(own);
      const taken = replay = this.#replays.take(plan, own);
      taken.write(step.inputs);
      own.follow(taken.launch(), (error) => this.#ended(taken, error, done));
    } catch (cause) {
      // One whose launch has failed may run all the same: it goes with the executable.
      if (!(cause instanceof CudaError) && replay !== undefined) this.#replays.giveBack(replay);
      done(new FailedIteration(this.#error("could not be started", cause)));
      return;
    }
    this.#inFlight++;
  }

  /** Waits for what is in flight. Results that were not released keep their data. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposing ??= this.#dispose();
  }

  #ended(replay: Replay, fault: CudaError | undefined, done: Done): void {
    let result: IterationResult;
    try {
      if (fault !== undefined) throw fault;
      result = new Answer(replay, this.#replays);
    } catch (cause) {
      result = new FailedIteration(this.#error("failed", cause));
    }
    if (--this.#inFlight === 0) this.#whenIdle();
    done(result);
  }

  #planned(signature: Signature): IterationPlan {
    try {
      return this.#parts.plan(signature);
    } catch (cause) {
      throw new SluiceError(
        "execution_failed",
        `${this.#label} cannot run on this input: ${messageOf(cause)}`,
        { cause },
      );
    }
  }

  /** The lane, when all is such that iterations can be captured and run on it. */
  #checked(lane: Lane, { arenaBytes }: IterationPlan): CudaLane {
    const fault = this.#parts.fault();
    if (fault !== undefined) throw fault;
    if (this.#disposing !== undefined) {
      throw new SluiceError("not_ready", `${this.#label} is unloaded`);
    }
    if (!(lane instanceof CudaLane) || lane.closed) {
      throw new SluiceError("internal", `Lane ${lane.id} is closed, or belongs to another device`);
    }
    lane.require(arenaBytes, `An iteration of ${this.#label}`);
    return lane;
  }

  async #dispose(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#whenIdle = resolve);
    this.#replays.close();
    this.#parts.weights?.[Symbol.dispose]();
    this.#parts.closed();
  }

  #error(what: string, cause: unknown): SluiceError {
    return deviceError(`${this.#label} ${what}`, cause);
  }

  get #label(): string {
    return labelOf(this.model);
  }
}

function tooDeep({ id, running }: CudaLane): SluiceError {
  const message = `Lane ${id} has ${running} iterations in flight, its depth`;
  return new SluiceError("internal", message);
}

/** What an iteration gave. */
class Answer implements IterationResult {
  readonly deviceMicros: number;
  readonly outputs: readonly Tensor[];
  readonly #replay: Replay;
  readonly #replays: ReplayPool;
  #released = false;

  constructor(replay: Replay, replays: ReplayPool) {
    this.deviceMicros = replay.deviceMicros;
    this.outputs = replay.outputs;
    this.#replay = replay;
    this.#replays = replays;
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#replays.giveBack(this.#replay);
  }
}
