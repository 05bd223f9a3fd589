/**
 * The environment: one thread pool and one arena that all models of the process share.
 *
 * @module
 */
import type { OnnxRuntime } from "./library.ts";
import { cString, CStringArray, wordArray } from "./memory.ts";

const LOG_NOTHING_BUT_FATAL = 4; // ORT_LOGGING_LEVEL_FATAL: every failure reaches us as a status
const DEVICE_ALLOCATOR = 0; // OrtDeviceAllocator
const ARENA_ALLOCATOR = 1; // OrtArenaAllocator
const DEFAULT_MEMORY = 0; // OrtMemTypeDefault
// kNextPowerOfTwo: blocks that other models' tensors fit as well. Blocks just as large as was asked
// for (kSameAsRequested) took 1.7 times the memory when models of different sizes ran by turns.
const EXTEND_BY_POWERS_OF_TWO = 0;

/** How the environment is set up. */
export interface EnvironmentOptions {
  /** Threads that share the work of one operator, the calling one included. */
  readonly threads: number;
  /** Whether idle threads of the pool spin for a while before they sleep. */
  readonly spin: boolean;
  /** Size that the shared arena never outgrows, bytes. */
  readonly arenaBytes: number;
}

/** Figures of an arena, bytes. */
export interface ArenaStatistics {
  /** In use by tensors now. */
  readonly inUse: number;
  /** Most that was in use at any time. There is no way to reset it. */
  readonly maxInUse: number;
  /** Taken from the system now. */
  readonly allocated: number;
}

/**
 * ONNX Runtime keeps one environment per process and counts its references: a second one opened
 * while the first lives gets the first one's threads, whatever its options say. When whoever came
 * first wanted no shared threads, sessions load only with threads of their own.
 */
export class Environment implements Disposable {
  /** The library that it belongs to. */
  readonly runtime: OnnxRuntime;
  /** `OrtEnv*`. */
  readonly handle: Deno.PointerObject;
  /** Describes memory of the caller's own. */
  readonly hostMemory: Deno.PointerObject;
  /** Describes memory of an arena. */
  readonly arenaMemory: Deno.PointerObject;
  #disposed = false;

  /**
   * Creates it, or joins the one that the process has.
   *
   * @throws {OnnxRuntimeError} When ONNX Runtime refuses the options.
   */
  constructor(runtime: OnnxRuntime, options: EnvironmentOptions) {
    this.runtime = runtime;
    this.handle = createEnvironment(runtime, options);
    this.hostMemory = cpuMemory(runtime, DEVICE_ALLOCATOR);
    this.arenaMemory = cpuMemory(runtime, ARENA_ALLOCATOR);
    registerArena(this, options.arenaBytes);
  }

  /** Call it after every session of this environment has been released. Twice is once. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    const { api } = this.runtime;
    api.ReleaseMemoryInfo.call(this.arenaMemory);
    api.ReleaseMemoryInfo.call(this.hostMemory);
    api.ReleaseEnv.call(this.handle);
  }
}

function createEnvironment(runtime: OnnxRuntime, options: EnvironmentOptions): Deno.PointerObject {
  const { api } = runtime;
  const threading = runtime.handle(
    "CreateThreadingOptions",
    (out) => api.CreateThreadingOptions.call(out),
  );
  try {
    runtime.check(
      "SetGlobalIntraOpNumThreads",
      api.SetGlobalIntraOpNumThreads.call(threading, options.threads),
    );
    runtime.check("SetGlobalInterOpNumThreads", api.SetGlobalInterOpNumThreads.call(threading, 1));
    runtime.check(
      "SetGlobalSpinControl",
      api.SetGlobalSpinControl.call(threading, options.spin ? 1 : 0),
    );
    return runtime.handle(
      "CreateEnvWithGlobalThreadPools",
      (out) =>
        api.CreateEnvWithGlobalThreadPools.call(
          LOG_NOTHING_BUT_FATAL,
          cString("sluice"),
          threading,
          out,
        ),
    );
  } finally {
    api.ReleaseThreadingOptions.call(threading);
  }
}

function cpuMemory(runtime: OnnxRuntime, allocator: number): Deno.PointerObject {
  return runtime.handle(
    "CreateCpuMemoryInfo",
    (out) => runtime.api.CreateCpuMemoryInfo.call(allocator, DEFAULT_MEMORY, out),
  );
}

/**
 * The limit counts what is reserved for weights as well, and no longer holds once those alone
 * exceed it: whoever loads models checks that they fit.
 */
function registerArena(environment: Environment, limitBytes: number): void {
  const { runtime } = environment;
  const { api } = runtime;
  const keys = new CStringArray(["max_mem", "arena_extend_strategy"]);
  const values = wordArray([limitBytes, EXTEND_BY_POWERS_OF_TWO]);
  const config = runtime.handle(
    "CreateArenaCfgV2",
    (out) => api.CreateArenaCfgV2.call(keys.addresses, values, BigInt(keys.length), out),
  );
  try {
    runtime.check(
      "CreateAndRegisterAllocator",
      api.CreateAndRegisterAllocator.call(environment.handle, environment.arenaMemory, config),
    );
  } finally {
    api.ReleaseArenaCfg.call(config);
  }
}
