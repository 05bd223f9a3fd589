/**
 * The CPU device: ONNX Runtime through its C API.
 *
 * @module
 */
import { type Heap, openHeap } from "../../ffi/libc/heap.ts";
import { Environment } from "../../ffi/onnxruntime/environment.ts";
import { OnnxRuntimeError } from "../../ffi/onnxruntime/errors.ts";
import { type OnnxRuntime, openOnnxRuntime } from "../../ffi/onnxruntime/library.ts";
import { Session } from "../../ffi/onnxruntime/session.ts";
import { BoundedMap } from "../bounded_map.ts";
import type { Device, DeviceFault, Lane, MemoryUse, StagedModel } from "../device.ts";
import { SluiceError, toSluiceError } from "../errors.ts";
import type { Model } from "../model.ts";
import { externalDataOf, fileStateOf, modelSource } from "../model_file.ts";
import { ArenaTrim } from "./arena_trim.ts";
import { CpuLane } from "./lane.ts";
import { measure, type Measurement } from "./measure.ts";
import { CpuStagedModel } from "./staged_model.ts";

/** Settings of the CPU device. */
export interface CpuDeviceOptions {
  /** Threads that share the work of one operator, for all models together. Default: the cores. */
  readonly threads?: number;
  /** Whether idle threads spin before they sleep: quicker alone, a waste beside others. */
  readonly spin?: boolean;
  /** Capacity for weights, iterations and state, bytes. Default: 3/4 of the machine's. */
  readonly memoryBytes?: number;
  /** ONNX Runtime's shared library. Default: the one that onnxruntime-node carries. */
  readonly libraryPath?: string;
}

/** A block this large is mapped on its own: the most that glibc allows. */
const MAPPED_FROM = 32 << 20;
/** While requests are served: what one has freed is the next one's buffer. */
const KEPT_WHILE_SERVING = 64 << 20;
/** While models come and go: little stays behind in the arenas of the threads that load them. */
const KEPT_WHILE_LOADING = 128 << 10;
/** Loads whose findings are kept, those of unloaded models too. */
const KEPT_FINDINGS = 1024;

/** What a load has found out, for the next load of the same content. */
interface Findings {
  readonly externalData: ReadonlySet<string>;
  readonly measurement: Measurement;
}

/**
 * Opens the CPU device.
 *
 * @throws {OnnxRuntimeUnavailableError} When the library is not installed, not permitted, too old.
 * @throws {OnnxRuntimeError} When it refuses the settings.
 */
export function openCpuDevice(options: CpuDeviceOptions = {}): Device {
  const runtime = openOnnxRuntime(options.libraryPath);
  const memoryBytes = options.memoryBytes ?? Math.floor(Deno.systemMemoryInfo().total * 0.75);
  const threads = options.threads ?? navigator.hardwareConcurrency;
  const environment = new Environment(runtime, {
    threads,
    spin: options.spin ?? false,
    arenaBytes: memoryBytes,
  });
  const heap = openHeap();
  heap?.setThresholds(MAPPED_FROM, KEPT_WHILE_SERVING);
  return new CpuDevice(runtime, environment, heap, memoryBytes, threads);
}

class CpuDevice implements Device {
  readonly name = "cpu";
  readonly memoryBytes: number;
  readonly #runtime: OnnxRuntime;
  readonly #environment: Environment;
  readonly #heap: Heap | undefined;
  readonly #threads: number;
  readonly #listeners: ((fault: DeviceFault) => void)[] = [];
  readonly #models = new Set<CpuStagedModel>();
  /** By fingerprint. */
  readonly #findings = new BoundedMap<string, Findings>(KEPT_FINDINGS);
  /** Opened with the first model: before that there is nothing to give back. */
  #arena: ArenaTrim | undefined;
  /** Set when models cannot share threads. */
  #ownThreads: number | undefined;
  /** The load in progress: loads take turns, since the heap's growth tells what one has taken. */
  #loading: Promise<unknown> = Promise.resolve();
  #laneIds = 0;
  #disposing: Promise<void> | undefined;

  constructor(
    runtime: OnnxRuntime,
    environment: Environment,
    heap: Heap | undefined,
    memoryBytes: number,
    threads: number,
  ) {
    this.#runtime = runtime;
    this.#environment = environment;
    this.#heap = heap;
    this.memoryBytes = memoryBytes;
    this.#threads = threads;
  }

  async stage(model: Model, signal?: AbortSignal): Promise<StagedModel> {
    const before = this.#loading;
    const turn = Promise.withResolvers<void>();
    this.#loading = turn.promise;
    await before;
    const label = `Model "${model.name}" version ${model.version}`;
    try {
      if (this.#disposing !== undefined) {
        throw new SluiceError("not_ready", `${label} cannot be loaded: the device is closed`);
      }
      using _returning = this.#returningMemory();
      return await this.#stage(model, signal);
    } catch (cause) {
      throw stagingError(label, cause, signal);
    } finally {
      turn.resolve();
    }
  }

  openLane(bytes: number): Lane {
    return new CpuLane(this.#laneIds++, bytes);
  }

  memory(): readonly MemoryUse[] {
    const uses: MemoryUse[] = [];
    if (this.#arena === undefined) return uses;
    const { overheadBytes } = this.#arena;
    uses.push({ class: "overhead", bytes: overheadBytes });
    let arenaBytes = this.#arena.statistics().allocated - overheadBytes;
    for (const staged of this.#models) {
      const { name: model } = staged.model;
      arenaBytes -= staged.arenaWeightBytes;
      uses.push({ model, class: "persistent", bytes: staged.persistentBytes });
      if (staged.heldStateBytes > 0) {
        uses.push({ model, class: "state", bytes: staged.heldStateBytes });
      }
      if (staged.hostBytes > 0) uses.push({ model, class: "host", bytes: staged.hostBytes });
    }
    if (arenaBytes > 0) uses.push({ class: "ephemeral", bytes: arenaBytes });
    return uses;
  }

  trim(): Promise<void> {
    using _returning = this.#returningMemory();
    this.#arena?.run();
    this.#heap?.trim();
    return Promise.resolve();
  }

  /** A fault in native code ends the process, so what can be reported is never fatal. */
  onFault(listener: (fault: DeviceFault) => void): void {
    this.#listeners.push(listener);
  }

  /** Waits for loads and iterations in progress, then frees every model. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposing ??= this.#dispose();
  }

  async #stage(model: Model, signal: AbortSignal | undefined): Promise<StagedModel> {
    this.#arena ??= await this.#openArena();
    const known = this.#findings.get(model.fingerprint);
    const externalData = known?.externalData ?? await externalDataOf(model);
    const source = await modelSource(model, externalData);
    const fileState = await fileStateOf(model);
    signal?.throwIfAborted();
    const measurement = known?.measurement ??
      await measure(this.#environment, model, source, { ownThreads: this.#ownThreads, signal });
    this.#findings.set(model.fingerprint, { externalData, measurement });
    const before = this.#heap?.usedBytes() ?? 0;
    const session = await Session.load(this.#environment, source, {
      ownThreads: measurement.ownThread ? 1 : this.#ownThreads,
      sharedArena: true,
      signal,
    });
    try {
      // Whatever else was freed meanwhile: the weights are there.
      const weightBytes = Math.max((this.#heap?.usedBytes() ?? 0) - before, model.fileBytes);
      const loaded = { session, weightBytes, measurement, fileState };
      const staged = new CpuStagedModel(model, loaded, () => this.#free(staged, session));
      this.#models.add(staged);
      this.#heap?.trim(); // what the load and its trial runs have used and freed
      return staged;
    } catch (error) {
      session[Symbol.dispose]();
      throw error;
    }
  }

  #free(staged: CpuStagedModel, session: Session): void {
    using _returning = this.#returningMemory();
    session[Symbol.dispose]();
    this.#models.delete(staged);
  }

  /** Until it is disposed of, what is freed goes back to the system. */
  #returningMemory(): Disposable {
    this.#heap?.setThresholds(MAPPED_FROM, KEPT_WHILE_LOADING);
    return {
      [Symbol.dispose]: () => this.#heap?.setThresholds(MAPPED_FROM, KEPT_WHILE_SERVING),
    };
  }

  /** The first load of all: when it fails, no model is at fault. */
  async #openArena(): Promise<ArenaTrim> {
    try {
      return await ArenaTrim.open(this.#environment);
    } catch {
      const arena = await ArenaTrim.open(this.#environment, this.#threads).catch((cause) => {
        throw new SluiceError("device_failed", `ONNX Runtime cannot be used: ${cause.message}`, {
          cause,
        });
      });
      this.#ownThreads = this.#threads;
      const message = "ONNX Runtime was in use in this process before and without threads that " +
        "models can share: each model gets threads of its own";
      for (const listener of this.#listeners) listener({ message, fatal: false });
      return arena;
    }
  }

  async #dispose(): Promise<void> {
    await this.#loading;
    for (const model of this.#models) await model.close();
    this.#arena?.[Symbol.dispose]();
    this.#arena = undefined;
    this.#environment[Symbol.dispose]();
    this.#heap?.trim();
    this.#heap?.[Symbol.dispose]();
    this.#runtime[Symbol.dispose]();
  }
}

function stagingError(label: string, cause: unknown, signal: AbortSignal | undefined): SluiceError {
  if (signal?.aborted) {
    return new SluiceError("cancelled", `Loading ${label} was cancelled`, { cause });
  }
  if (!(cause instanceof OnnxRuntimeError)) return toSluiceError(cause);
  return new SluiceError(
    "invalid_argument",
    `${label} cannot be loaded by ONNX Runtime: ${cause.reason.trim()}`,
    { cause },
  );
}
