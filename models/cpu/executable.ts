/**
 * A resident model on the CPU device.
 *
 * @module
 */
import { OnnxRuntimeError } from "../../ffi/onnxruntime/errors.ts";
import type {
  Executable,
  IterationResult,
  Lane,
  SequenceState,
  Signature,
  Step,
} from "../device.ts";
import { SluiceError, toSluiceError } from "../errors.ts";
import { FailedIteration } from "../failed_iteration.ts";
import { initialState } from "../initial_state.ts";
import type { Model } from "../model.ts";
import type { Tensor } from "../tensor.ts";
import type { Binding } from "./binding.ts";
import { BindingPool, type PooledSignature } from "./binding_pool.ts";
import { CpuLane } from "./lane.ts";
import { SequenceStates } from "./sequence_states.ts";
import type { LoadedModel } from "./staged_model.ts";
import type { StateBatch } from "./state_batch.ts";

/** Above this much input the event loop is not held, however short an estimate says it is. */
const IN_PLACE_BYTES = 1 << 20;
/** Bindings that one model keeps. */
const POOL_LIMITS = { signatures: 64, bytes: 32 << 20 };

/** Receives the end of an iteration. */
export type Done = (result: IterationResult) => void;

/** Runs a loaded model. */
export class CpuExecutable implements Executable {
  readonly #model: Model;
  readonly #fileState: ReadonlyMap<string, Tensor>;
  readonly #pool: BindingPool;
  readonly #states: SequenceStates | undefined;
  readonly #onDispose: () => void;
  #inFlight = 0;
  #whenIdle: (() => void) | undefined;
  #disposing: Promise<void> | undefined;

  /**
   * Takes no ownership of the session.
   *
   * @param onDispose Called once, when nothing of the session is used any more.
   */
  constructor(model: Model, loaded: LoadedModel, onDispose: () => void) {
    const { session, measurement, fileState } = loaded;
    const { sequence } = model;
    this.#model = model;
    this.#fileState = fileState;
    this.#pool = new BindingPool(session, model, measurement.shortRuns, POOL_LIMITS);
    if (sequence !== undefined) {
      this.#states = new SequenceStates(session.environment, sequence.carry);
    }
    this.#onDispose = onDispose;
  }

  /** Host memory that its bindings take, bytes. */
  get hostBytes(): number {
    return this.#pool.bytes;
  }

  /** What its open sequences take now, bytes. */
  get stateBytes(): number {
    return this.#states?.bytes ?? 0;
  }

  openSequence(initial: readonly Tensor[] = []): SequenceState {
    if (this.#disposing !== undefined) throw this.#disposedError();
    if (this.#states === undefined) {
      const { name, version } = this.#model;
      throw new SluiceError("internal", `Model "${name}" version ${version} runs in no sequences`);
    }
    const given = initialState(this.#model, initial);
    return this.#states.open(new Map([...this.#fileState, ...given]));
  }

  /** Bindings serve all lanes alike: their memory is the host's. */
  prepare(signature: Signature, _lane: Lane): Promise<void> {
    if (this.#disposing !== undefined) return Promise.reject(this.#disposedError());
    try {
      new BindingUse(this.#pool, signature).release();
      return Promise.resolve();
    } catch (error) {
      return Promise.reject(this.#failure(error, undefined).error);
    }
  }

  start(lane: Lane, step: Step, expectedMicros: number, done: Done): void {
    if (!(lane instanceof CpuLane)) {
      done(
        new FailedIteration(
          new SluiceError("internal", `Lane ${lane.id} is not one of this device`),
        ),
      );
      return;
    }
    if (this.#disposing !== undefined) {
      done(new FailedIteration(this.#disposedError()));
      return;
    }
    this.#inFlight++;
    if (lane.occupied) lane.wait(() => this.#begin(lane, step, expectedMicros, done));
    else this.#begin(lane, step, expectedMicros, done);
  }

  /** Waits for what is in flight. Results that were not released keep their data. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposing ??= this.#dispose();
  }

  #begin(lane: CpuLane, step: Step, expectedMicros: number, done: Done): void {
    lane.enter();
    let use: BindingUse | undefined;
    let batch: StateBatch | undefined;
    try {
      use = new BindingUse(this.#pool, step.signature);
      use.binding.write(step.inputs);
      batch = this.#batchOf(step);
      batch?.enter();
      const { entry, binding } = use;
      if (binding.inputBytes <= IN_PLACE_BYTES && entry.times.preferInPlace(expectedMicros)) {
        use.deviceMicros = binding.run(batch);
        entry.times.ranInPlace(use.deviceMicros);
      } else {
        this.#hop(lane, use, batch, done);
        return;
      }
    } catch (error) {
      this.#end(lane, batch, this.#failure(error, use), done);
      return;
    }
    this.#end(lane, batch, use, done);
  }

  async #hop(
    lane: CpuLane,
    use: BindingUse,
    batch: StateBatch | undefined,
    done: Done,
  ): Promise<void> {
    let result: IterationResult = use;
    try {
      use.deviceMicros = await use.binding.runNonblocking(batch);
      use.entry.times.hopped(use.deviceMicros);
    } catch (error) {
      result = this.#failure(error, use);
    }
    this.#end(lane, batch, result, done);
  }

  #end(lane: CpuLane, batch: StateBatch | undefined, result: IterationResult, done: Done): void {
    lane.leave();
    batch?.leave(result.error === undefined);
    if (--this.#inFlight === 0) this.#whenIdle?.();
    done(result);
    lane.next();
  }

  /** Undefined for plain requests. */
  #batchOf({ signature, states }: Step): StateBatch | undefined {
    const { sequences = 0 } = signature;
    if (states === undefined && sequences === 0) return undefined;
    if (this.#states === undefined || states?.length !== sequences) {
      throw new SluiceError(
        "internal",
        `Model "${this.#model.name}" was given the state of ${states?.length ?? 0} sequences; ` +
          `expected ${this.#states === undefined ? "none" : sequences}`,
      );
    }
    return this.#states.join(states);
  }

  #failure(cause: unknown, use: BindingUse | undefined): FailedIteration {
    use?.release();
    if (!(cause instanceof OnnxRuntimeError)) return new FailedIteration(toSluiceError(cause));
    const { name, version } = this.#model;
    return new FailedIteration(
      new SluiceError(
        "execution_failed",
        `Model "${name}" version ${version} failed on this input: ${innermost(cause.reason)}`,
        { cause },
      ),
    );
  }

  async #dispose(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#whenIdle = resolve);
    this.#pool[Symbol.dispose]();
    this.#states?.[Symbol.dispose]();
    this.#onDispose();
  }

  #disposedError(): SluiceError {
    return new SluiceError(
      "not_ready",
      `Model "${this.#model.name}" version ${this.#model.version} is unloaded`,
    );
  }
}

/** ONNX Runtime wraps a fault in a sentence for each node around it; the last one says it. */
function innermost(reason: string): string {
  return reason.split("Status Message: ").at(-1)!.trim();
}

/** The use of one binding for one iteration, and what it gave. */
class BindingUse implements IterationResult {
  readonly entry: PooledSignature;
  readonly binding: Binding;
  readonly outputs: readonly Tensor[];
  readonly #pool: BindingPool;
  deviceMicros = 0;
  #released = false;

  constructor(pool: BindingPool, signature: Signature) {
    this.#pool = pool;
    this.entry = pool.entry(signature);
    this.binding = pool.take(this.entry);
    this.outputs = this.binding.outputs;
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#pool.giveBack(this.entry, this.binding);
  }
}
