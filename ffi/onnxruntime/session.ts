/**
 * A loaded model.
 *
 * @module
 */
import type { ArenaStatistics, Environment } from "./environment.ts";
import type { OnnxRuntime } from "./library.ts";
import { cString } from "./memory.ts";

/** How a model is loaded. */
export interface SessionOptions {
  /** Works in the environment's arena; otherwise in one of its own. */
  readonly sharedArena: boolean;
  /** Threads of its own; by default it works with the environment's. */
  readonly ownThreads?: number;
  /** Ends the load early. */
  readonly signal?: AbortSignal;
}

/** A model that can run. */
export class Session implements Disposable {
  /** Where it was loaded. */
  readonly environment: Environment;
  /** `OrtSession*`. */
  readonly handle: Deno.PointerObject;
  readonly #allocator: Deno.PointerObject;
  #disposed = false;

  /**
   * Loads a model on a thread of the runtime's pool.
   *
   * @param model Path of a file, or its content. Only a model with a path finds external data.
   * @throws {OnnxRuntimeError} With `MODEL_LOAD_CANCELED` after the signal.
   */
  static async load(
    environment: Environment,
    model: string | Uint8Array<ArrayBuffer>,
    options: SessionOptions,
  ): Promise<Session> {
    const { runtime } = environment;
    const { api } = runtime;
    const settings = sessionOptions(runtime, options);
    const cancel = () => void api.SessionOptionsSetLoadCancellationFlag.call(settings, true);
    options.signal?.addEventListener("abort", cancel);
    const out = new DataView(new ArrayBuffer(8));
    const outBytes = new Uint8Array(out.buffer);
    try {
      if (options.signal?.aborted) cancel();
      const status = typeof model === "string"
        ? await api.CreateSession.call(environment.handle, cString(model), settings, outBytes)
        : await api.CreateSessionFromArray.call(
          environment.handle,
          model,
          BigInt(model.byteLength),
          settings,
          outBytes,
        );
      runtime.check("CreateSession", status);
    } finally {
      options.signal?.removeEventListener("abort", cancel);
      api.ReleaseSessionOptions.call(settings);
    }
    return new Session(environment, Deno.UnsafePointer.create(out.getBigUint64(0, true))!);
  }

  private constructor(environment: Environment, handle: Deno.PointerObject) {
    this.environment = environment;
    this.handle = handle;
    const { runtime } = environment;
    this.#allocator = runtime.handle(
      "CreateAllocator",
      (out) => runtime.api.CreateAllocator.call(handle, environment.arenaMemory, out),
    );
  }

  /** Figures of the arena that this session works in. */
  arenaStatistics(): ArenaStatistics {
    const { runtime } = this.environment;
    const { api } = runtime;
    const pairs = runtime.handle(
      "AllocatorGetStats",
      (out) => api.AllocatorGetStats.call(this.#allocator, out),
    );
    const read = (key: string) => {
      const text = api.GetKeyValue.call(pairs, cString(key));
      return text === null ? 0 : Number(Deno.UnsafePointerView.getCString(text));
    };
    try {
      return {
        inUse: read("InUse"),
        maxInUse: read("MaxInUse"),
        allocated: read("TotalAllocated"),
      };
    } finally {
      api.ReleaseKeyValuePairs.call(pairs);
    }
  }

  /** Frees the model. No run may be in flight. Twice is once. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    const { api } = this.environment.runtime;
    // The allocator first: one that outlives its session keeps the session's arena.
    api.ReleaseAllocator.call(this.#allocator);
    api.ReleaseSession.call(this.handle);
  }
}

function sessionOptions(runtime: OnnxRuntime, options: SessionOptions): Deno.PointerObject {
  const { api } = runtime;
  const handle = runtime.handle(
    "CreateSessionOptions",
    (out) => api.CreateSessionOptions.call(out),
  );
  const configure = (key: string, value: string) =>
    runtime.check(
      "AddSessionConfigEntry",
      api.AddSessionConfigEntry.call(handle, cString(key), cString(value)),
    );
  if (options.ownThreads === undefined) {
    runtime.check("DisablePerSessionThreads", api.DisablePerSessionThreads.call(handle));
  } else {
    runtime.check(
      "SetIntraOpNumThreads",
      api.SetIntraOpNumThreads.call(handle, options.ownThreads),
    );
    configure("session.intra_op.allow_spinning", "0");
  }
  // A memory pattern keeps one block per signature: twice the memory at the same speed.
  runtime.check("DisableMemPattern", api.DisableMemPattern.call(handle));
  if (options.sharedArena) configure("session.use_env_allocators", "1");
  return handle;
}
