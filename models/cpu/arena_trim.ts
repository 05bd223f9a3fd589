/**
 * Gives back what the shared arena holds but nobody uses. Only a run can do that, so a model of a
 * few bytes stays loaded for it.
 *
 * @module
 */
import type { ArenaStatistics, Environment } from "../../ffi/onnxruntime/environment.ts";
import { RunArguments } from "../../ffi/onnxruntime/run.ts";
import { Session } from "../../ffi/onnxruntime/session.ts";
import { cString, stableBytes } from "../../ffi/onnxruntime/memory.ts";
import { wrapTensor } from "../../ffi/onnxruntime/values.ts";

/** y = Identity(x) over one FP32 element: opset 16 in format version 8. */
const IDENTITY_MODEL = Uint8Array.fromHex(
  "0808" + // ir_version: 8
    "3a37" + // graph
    /**/ "0a10" + "0a0178" + "120179" + "22084964656e74697479" + // node: x, y, "Identity"
    /**/ "120161" + // name: "a"
    /**/ "5a0f" + "0a0178" + "120a0a08080112040a020801" + // input: "x", FP32 [1]
    /**/ "620f" + "0a0179" + "120a0a08080112040a020801" + // output: "y", FP32 [1]
    "42021010", // opset: 16
);

/** The tiny model, resident. */
export class ArenaTrim implements Disposable {
  readonly #session: Session;
  readonly #options: Deno.PointerObject;
  /** Input and output alike. */
  readonly #buffer = stableBytes(4);
  readonly #tensors: readonly Deno.PointerObject[];
  /** The arena's first block, which it never gives back. */
  readonly overheadBytes: number;
  readonly #arguments: RunArguments;

  /**
   * Loads it.
   *
   * @throws {OnnxRuntimeError}
   */
  static async open(environment: Environment, ownThreads?: number): Promise<ArenaTrim> {
    const options = { sharedArena: true, ownThreads };
    return new ArenaTrim(await Session.load(environment, IDENTITY_MODEL, options));
  }

  private constructor(session: Session) {
    const { environment } = session;
    const { runtime } = environment;
    this.#session = session;
    this.#options = runtime.handle(
      "CreateRunOptions",
      (out) => runtime.api.CreateRunOptions.call(out),
    );
    runtime.check(
      "AddRunConfigEntry",
      runtime.api.AddRunConfigEntry.call(
        this.#options,
        cString("memory.enable_memory_arena_shrinkage"),
        cString("cpu:0"),
      ),
    );
    this.#tensors = [0, 1].map(() => wrapTensor(environment, "float", [1], this.#buffer));
    this.#arguments = new RunArguments(session, ["x"], ["y"], this.#options);
    this.#arguments.setInput(0, this.#tensors[0]);
    // An arena keeps its first block for good: let that be a small one, before any model's.
    this.#arguments.run();
    runtime.api.ReleaseValue.call(this.#arguments.takeOutput(0));
    this.overheadBytes = this.statistics().allocated;
    this.#arguments.setOutput(0, this.#tensors[1]);
  }

  /** Figures of the shared arena. */
  statistics(): ArenaStatistics {
    return this.#session.arenaStatistics();
  }

  /** Lets the arena give back every block that is not in use. */
  run(): void {
    this.#arguments.run();
  }

  /** Unloads it. */
  [Symbol.dispose](): void {
    const { api } = this.#session.environment.runtime;
    for (const tensor of this.#tensors) api.ReleaseValue.call(tensor);
    api.ReleaseRunOptions.call(this.#options);
    this.#session[Symbol.dispose]();
  }
}
