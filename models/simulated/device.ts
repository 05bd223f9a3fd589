/**
 * A device that runs nothing and takes its time on a given clock. On a virtual clock a whole
 * gateway runs in virtual time, the same way every time; on the system's it serves any model's
 * signature with made-up answers, to try a load or a policy without the hardware.
 *
 * @module
 */
import type { Clock, Timer } from "../clock.ts";
import type {
  Device,
  DeviceFault,
  Executable,
  IterationResult,
  Lane,
  MemoryUse,
  Signature,
  StagedModel,
  Step,
} from "../device.ts";
import { SluiceError } from "../errors.ts";
import { carriedBytes } from "../initial_state.ts";
import type { Model } from "../model.ts";
import type { Tensor } from "../tensor.ts";
import { costFromSize, iterationMicros, transferBytes } from "./cost.ts";
import { failed, SimulatedExecutable } from "./executable.ts";
import { SimulatedLane } from "./lane.ts";
import type { IterationFault, SimulatedOptions } from "./options.ts";
import { computeOutputs, outputShapes } from "./outputs.ts";
import { advanceSequences } from "./sequences.ts";

export type { IterationFault, SimulatedFaults, SimulatedOptions } from "./options.ts";

/** Opens a simulated device. Nothing runs until it is given a model. */
export function openSimulatedDevice(options: SimulatedOptions): SimulatedDevice {
  return new SimulatedDevice(options);
}

/** The device, with what tests do to it. */
export class SimulatedDevice implements Device {
  /** As in `--device simulated`. */
  readonly name = "simulated";
  /** Capacity in bytes. Uploads and lanes beyond it are refused with `out_of_memory`. */
  readonly memoryBytes: number;
  readonly #options: SimulatedOptions;
  readonly #lanes = new Set<SimulatedLane>();
  readonly #resident = new Set<SimulatedExecutable>();
  readonly #listeners: ((fault: DeviceFault) => void)[] = [];
  readonly #iterations = new Map<string, number>();
  #outputBytes = 0;
  #nextLane = 0;
  #failure?: SluiceError;

  /** Use {@linkcode openSimulatedDevice}. */
  constructor(options: SimulatedOptions) {
    this.#options = options;
    this.memoryBytes = options.memoryBytes ?? 8 * 2 ** 30;
  }

  /** Takes any model: its file is not read. */
  async stage(model: Model, signal?: AbortSignal): Promise<StagedModel> {
    signal?.throwIfAborted();
    const micros = this.#options.stageMicros?.(model) ?? 0;
    if (micros > 0) await elapse(this.#options.clock, micros, signal);
    if (this.#failure !== undefined) throw this.#failure;
    const fault = this.#options.faults?.stage?.(model);
    if (fault !== undefined) throw fault;
    const persistentBytes = this.#options.persistentBytes?.(model) ?? model.fileBytes;
    return {
      persistentBytes,
      stateBytes: carriedBytes(model),
      ephemeralBytes: (signature) => this.#ephemeralBytes(model, signature),
      upload: () => this.#upload(model, persistentBytes),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  /**
   * Opens a lane.
   *
   * @throws {SluiceError} `out_of_memory` when the capacity does not allow it.
   */
  openLane(bytes: number): Lane {
    this.#reserve(bytes, `A lane of ${bytes} bytes`);
    const lane = new SimulatedLane({
      id: this.#nextLane++,
      bytes,
      depth: this.#options.depth ?? 2,
      clock: this.#options.clock,
      reserve: (more) => this.#reserve(more, `A lane that grows by ${more} bytes`),
      busyChanged: () => this.#adjustSpeeds(),
      closed: (lane) => this.#lanes.delete(lane),
    });
    this.#lanes.add(lane);
    return lane;
  }

  /**
   * Persistent bytes and state by model, ephemeral by lane, and the outputs that were not given back.
   */
  memory(): readonly MemoryUse[] {
    const uses: MemoryUse[] = [];
    for (const { model, persistentBytes, stateBytes } of this.#resident) {
      uses.push({ model: model.name, class: "persistent", bytes: persistentBytes });
      if (stateBytes > 0) uses.push({ model: model.name, class: "state", bytes: stateBytes });
    }
    for (const lane of this.#lanes) uses.push({ class: "ephemeral", bytes: lane.bytes });
    if (this.#outputBytes > 0) uses.push({ class: "host", bytes: this.#outputBytes });
    return uses;
  }

  /** There is nothing to give back. */
  trim(): Promise<void> {
    return Promise.resolve();
  }

  /** Calls `listener` at every fault to come. */
  onFault(listener: (fault: DeviceFault) => void): void {
    this.#listeners.push(listener);
  }

  /** Reports a fault. After a fatal one whatever is in flight fails, and so does all that follows. */
  breakDown(fault: DeviceFault): void {
    if (fault.fatal) this.#failure ??= new SluiceError("device_failed", fault.message);
    for (const listener of this.#listeners) listener(fault);
    if (fault.fatal) this.#failInFlight();
  }

  /** Ends every hung iteration now, as if it had taken that long. */
  releaseHung(): void {
    for (const lane of this.#lanes) lane.releaseHung();
  }

  /** Ends whatever is in flight with `device_failed`. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#failure ??= new SluiceError("device_failed", "The device is closed");
    this.#failInFlight();
    this.#lanes.clear();
    this.#resident.clear();
    return Promise.resolve();
  }

  #upload(model: Model, persistentBytes: number): Promise<Executable> {
    return Promise.try(() => {
      if (this.#failure !== undefined) throw this.#failure;
      const fault = this.#options.faults?.upload?.(model);
      if (fault !== undefined) throw fault;
      this.#reserve(persistentBytes, `Model '${model.name}' of ${persistentBytes} bytes`);
      const executable: SimulatedExecutable = new SimulatedExecutable({
        model,
        persistentBytes,
        start: (lane, step, expectedMicros, done) =>
          this.#start(executable, lane, step, expectedMicros, done),
        reserve: (bytes) => this.#reserve(bytes, `A sequence of '${model.name}' of ${bytes} bytes`),
        closed: () => this.#resident.delete(executable),
      });
      this.#resident.add(executable);
      return executable;
    });
  }

  #start(
    executable: SimulatedExecutable,
    lane: Lane,
    step: Step,
    expectedMicros: number,
    done: (result: IterationResult) => void,
  ): void {
    const { clock, costs, durations, faults, inPlaceMicros } = this.#options;
    const { model } = executable;
    const refusal = this.#failure ?? this.#refusal(model, lane, step);
    if (refusal !== undefined || !(lane instanceof SimulatedLane)) {
      clock.soon(() => done(failed(refusal ?? foreignLane(), 0)));
      return;
    }
    const counter = `${model.name}/${model.version}`;
    const index = this.#iterations.get(counter) ?? 0;
    this.#iterations.set(counter, index + 1);
    const fault = faults?.iteration?.(model, index);
    const recorded = durations?.(model, index);
    const micros = recorded ?? iterationMicros(costs?.get(model.name) ?? costFromSize(model), step);

    const end = (deviceMicros: number) => {
      if (fault === "device_failed") {
        this.breakDown({ message: `The device broke while it ran '${model.name}'`, fatal: true });
      }
      done(this.#result(executable, step, deviceMicros, fault));
    };
    if (fault === undefined && lane.inFlight === 0 && expectedMicros < (inPlaceMicros ?? 0)) {
      end(micros);
      return;
    }
    lane.enqueue({ micros, hangs: fault === "hang", sharesSpeed: recorded === undefined, end });
  }

  #refusal(model: Model, lane: Lane, step: Step): SluiceError | undefined {
    if (!(lane instanceof SimulatedLane) || !this.#lanes.has(lane)) return foreignLane();
    if (lane.inFlight >= lane.depth) {
      const message = `Lane ${lane.id} has ${lane.inFlight} iterations in flight, its depth`;
      return new SluiceError("internal", message);
    }
    const needed = this.#ephemeralBytes(model, step.signature);
    if (needed > lane.bytes) {
      const message = `An iteration of '${model.name}' for ${step.signature.key} needs ${needed} ` +
        `bytes; lane ${lane.id} has ${lane.bytes}`;
      return new SluiceError("out_of_memory", message);
    }
  }

  #result(
    executable: SimulatedExecutable,
    step: Step,
    deviceMicros: number,
    fault: IterationFault | undefined,
  ): IterationResult {
    if (this.#failure !== undefined) return failed(this.#failure, deviceMicros);
    const { model } = executable;
    if (fault === "execution_failed") {
      const message = `Model '${model.name}' failed, as it was told to`;
      return failed(new SluiceError("execution_failed", message), deviceMicros);
    }
    try {
      const states = executable.statesOf(step);
      const outputs = model.sequence === undefined || states.length === 0
        ? computeOutputs(model, step)
        : advanceSequences(model, model.sequence, step, states);
      return this.#answered(outputs, deviceMicros);
    } catch (error) {
      return failed(error instanceof Error ? error : new Error(String(error)), deviceMicros);
    }
  }

  #answered(outputs: readonly Tensor[], deviceMicros: number): IterationResult {
    const bytes = outputs.reduce((sum, { data }) => sum + data.byteLength, 0);
    this.#outputBytes += bytes;
    let released = false;
    const release = () => {
      if (released) throw new SluiceError("internal", "An iteration's outputs were released twice");
      released = true;
      this.#outputBytes -= bytes;
      // Overwritten, as the next iteration would: a view that is kept too long shows.
      for (const { data } of outputs) data.fill(0xdd);
    };
    return { deviceMicros, outputs, release };
  }

  #ephemeralBytes(model: Model, signature: Signature): number {
    const given = this.#options.ephemeralBytes?.(model, signature);
    if (given !== undefined) return given;
    const rows = signature.inputs[0]?.shape[0] ?? 1;
    return transferBytes(signature, outputShapes(model, signature, rows));
  }

  #reserve(bytes: number, what: string): void {
    let held = 0;
    for (const lane of this.#lanes) held += lane.bytes;
    for (const { persistentBytes, stateBytes } of this.#resident) {
      held += persistentBytes + stateBytes;
    }
    if (held + bytes > this.memoryBytes) {
      throw new SluiceError(
        "out_of_memory",
        `${what} does not fit: ${held} of ${this.memoryBytes} bytes are taken`,
      );
    }
  }

  #adjustSpeeds(): void {
    const slowdown = this.#options.slowdown ?? 0;
    if (slowdown === 0) return;
    let busy = 0;
    for (const lane of this.#lanes) if (lane.inFlight > 0) busy++;
    for (const lane of this.#lanes) lane.setSpeed(1 / (1 + slowdown * Math.max(0, busy - 1)));
  }

  #failInFlight(): void {
    for (const lane of this.#lanes) lane.endAll();
  }
}

function foreignLane(): SluiceError {
  return new SluiceError("internal", "The lane is closed, or belongs to another device");
}

function elapse(clock: Clock, micros: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => {
    timer.cancel();
    reject(signal?.reason);
  };
  const timer: Timer = clock.at(clock.nowMicros() + micros, () => {
    signal?.removeEventListener("abort", abort);
    resolve();
  });
  signal?.addEventListener("abort", abort, { once: true });
  return promise;
}
