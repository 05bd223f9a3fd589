/**
 * A loaded model.
 *
 * @module
 */
import type { ArenaStatistics, Environment } from "./environment.ts";
import type { OnnxRuntime } from "./library.ts";
import { cString } from "./memory.ts";
import { readTensorInfo, type TensorInfo } from "./values.ts";

/** An input or output that a model declares. */
export interface Declaration {
  /** Any text. */
  readonly name: string;
  /** Undefined when it is no tensor but a sequence, a map or an optional. */
  readonly tensor:
    | (TensorInfo & { readonly dimNames: readonly (string | undefined)[] })
    | undefined;
}

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
  /** Must be given. */
  readonly inputs: readonly Declaration[];
  /** Inputs with a default in the model. */
  readonly optionalInputs: readonly Declaration[];
  /** All of them, those that are no tensors too. */
  readonly outputs: readonly Declaration[];
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
    this.inputs = declarations(runtime, handle, "Input");
    this.optionalInputs = declarations(runtime, handle, "OverridableInitializer");
    this.outputs = declarations(runtime, handle, "Output");
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

function declarations(
  runtime: OnnxRuntime,
  session: Deno.PointerObject,
  kind: "Input" | "Output" | "OverridableInitializer",
): Declaration[] {
  const { api } = runtime;
  const allocator = runtime.handle(
    "GetAllocatorWithDefaultOptions",
    (out) => api.GetAllocatorWithDefaultOptions.call(out),
  );
  const count = runtime.word(
    `SessionGet${kind}Count`,
    (out) => api[`SessionGet${kind}Count`].call(session, out),
  );
  const list: Declaration[] = [];
  for (let index = 0n; index < count; index++) {
    const text = runtime.handle(
      `SessionGet${kind}Name`,
      (out) => api[`SessionGet${kind}Name`].call(session, index, allocator, out),
    );
    const name = Deno.UnsafePointerView.getCString(text);
    runtime.check("AllocatorFree", api.AllocatorFree.call(allocator, text));
    const type = runtime.handle(
      `SessionGet${kind}TypeInfo`,
      (out) => api[`SessionGet${kind}TypeInfo`].call(session, index, out),
    );
    try {
      list.push({ name, tensor: declaredTensor(runtime, type) });
    } finally {
      api.ReleaseTypeInfo.call(type);
    }
  }
  return list;
}

function declaredTensor(runtime: OnnxRuntime, type: Deno.PointerObject): Declaration["tensor"] {
  const { api } = runtime;
  const info = Deno.UnsafePointer.create(
    runtime.word("CastTypeInfoToTensorInfo", (out) => api.CastTypeInfoToTensorInfo.call(type, out)),
  );
  if (info === null) return undefined;
  const tensor = readTensorInfo(runtime, info);
  const rank = tensor.shape.length;
  const names = new BigUint64Array(rank);
  if (rank > 0) {
    runtime.check(
      "GetSymbolicDimensions",
      api.GetSymbolicDimensions.call(info, new Uint8Array(names.buffer), BigInt(rank)),
    );
  }
  const dimNames = Array.from(names, (address) => {
    const text = Deno.UnsafePointer.create(address);
    return (text === null ? "" : Deno.UnsafePointerView.getCString(text)) || undefined;
  });
  return { ...tensor, dimNames };
}
