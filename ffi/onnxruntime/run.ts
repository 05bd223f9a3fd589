/**
 * Runs of a model with everything that a run needs laid out once.
 *
 * @module
 */
import { CStringArray, stableBytes } from "./memory.ts";
import type { Session } from "./session.ts";

/**
 * The arguments of `Run`, built once and used for many runs: names and slots for input and output
 * tensors. A run then is a single call. One run at a time.
 */
export class RunArguments {
  readonly #session: Session;
  readonly #inputNames: CStringArray;
  readonly #outputNames: CStringArray;
  readonly #inputSlots: BigUint64Array<ArrayBuffer>;
  readonly #outputSlots: BigUint64Array<ArrayBuffer>;
  readonly #arguments: readonly [
    session: Deno.PointerObject,
    options: Deno.PointerValue,
    inputNames: Deno.PointerValue,
    inputs: Deno.PointerValue,
    inputCount: bigint,
    outputNames: Deno.PointerValue,
    outputCount: bigint,
    outputs: Deno.PointerValue,
  ];

  /**
   * Lays the arguments out; all slots are empty.
   *
   * @param options `OrtRunOptions*`, owned by the caller.
   */
  constructor(
    session: Session,
    inputNames: readonly string[],
    outputNames: readonly string[],
    options: Deno.PointerValue = null,
  ) {
    this.#session = session;
    this.#inputNames = new CStringArray(inputNames);
    this.#outputNames = new CStringArray(outputNames);
    this.#inputSlots = new BigUint64Array(stableBytes(inputNames.length * 8).buffer);
    this.#outputSlots = new BigUint64Array(stableBytes(outputNames.length * 8).buffer);
    this.#arguments = [
      session.handle,
      options,
      Deno.UnsafePointer.of(this.#inputNames.addresses),
      Deno.UnsafePointer.of(this.#inputSlots),
      BigInt(inputNames.length),
      Deno.UnsafePointer.of(this.#outputNames.addresses),
      BigInt(outputNames.length),
      Deno.UnsafePointer.of(this.#outputSlots),
    ];
  }

  /** Puts a tensor in an input's slot. */
  setInput(index: number, tensor: Deno.PointerObject): void {
    this.#inputSlots[index] = Deno.UnsafePointer.value(tensor);
  }

  /** Puts a tensor in an output's slot for runs to write to; null lets the run make one. */
  setOutput(index: number, tensor: Deno.PointerValue): void {
    this.#outputSlots[index] = Deno.UnsafePointer.value(tensor);
  }

  /** Takes the tensor out of an output's slot. The caller owns what a run made. */
  takeOutput(index: number): Deno.PointerValue {
    const tensor = Deno.UnsafePointer.create(this.#outputSlots[index]);
    this.#outputSlots[index] = 0n;
    return tensor;
  }

  /**
   * Runs in place: the event loop stands still meanwhile.
   *
   * @throws {OnnxRuntimeError} When the model refused its inputs.
   */
  run(): void {
    const { runtime } = this.#session.environment;
    runtime.check("Run", runtime.api.Run.call(...this.#arguments));
  }

  /**
   * Runs on a thread of the runtime's pool. Everything in the slots stays alive until then.
   *
   * @throws {OnnxRuntimeError} When the model refused its inputs.
   */
  async runNonblocking(): Promise<void> {
    const { runtime } = this.#session.environment;
    runtime.check("Run", await runtime.api.RunNonblocking.call(...this.#arguments));
  }
}
