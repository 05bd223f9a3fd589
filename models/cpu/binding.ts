/**
 * Everything that one iteration in flight needs, laid out once per signature.
 *
 * @module
 */
import { RunArguments } from "../../ffi/onnxruntime/run.ts";
import type { Session } from "../../ffi/onnxruntime/session.ts";
import type { Tensor, TensorShape, TensorSpec } from "../tensor.ts";
import { bindInput, type BoundInput } from "./bound_input.ts";
import { BoundOutput } from "./bound_output.ts";
import { CarriedSlots, type ProvenCarry } from "./carried_slots.ts";
import type { Account, StateTransition } from "./state_rows.ts";

/** What a binding lays out. */
export interface BindingLayout {
  /** Exact shapes of the inputs that it has buffers for. */
  readonly inputs: readonly TensorShape[];
  /** The outputs that it has buffers for. */
  readonly outputs: readonly TensorSpec[];
  /** What runs take from the state of sequences and leave there; nothing when absent. */
  readonly carry?: readonly ProvenCarry[];
  /** Equal inputs' shapes are known to give outputs of varying shapes. */
  readonly outputsVary?: boolean;
}

/** Host buffers and tensors for runs of one signature, one run at a time. */
export class Binding implements Disposable {
  readonly #session: Session;
  readonly #arguments: RunArguments;
  readonly #inputs: BoundInput[] = [];
  readonly #outputs: BoundOutput[];
  readonly #carried: CarriedSlots | undefined;
  readonly #tensors: Tensor[] = [];
  /** Whether every output that can be bound is: then a run is one call and nothing to read back. */
  #settled = false;
  /** Whether a bound output has yet to show that runs write to it. */
  #unproven = false;
  #outputsVary: boolean;
  readonly #account: Account;
  #bytes = 0;
  /** Size of the inputs' host buffers, bytes. */
  readonly inputBytes: number;

  /**
   * Makes the input buffers; output buffers come with the first run.
   *
   * @param account Told how much host memory was taken, or given back when negative.
   * @throws {OnnxRuntimeError} When ONNX Runtime accepts no tensors of these shapes.
   */
  constructor(
    session: Session,
    { inputs, outputs, carry = [], outputsVary = false }: BindingLayout,
    account: Account = () => {},
  ) {
    const { environment } = session;
    this.#session = session;
    this.#arguments = new RunArguments(
      session,
      [...inputs.map(({ name }) => name), ...carry.map(({ carried }) => carried.input)],
      [...outputs.map(({ name }) => name), ...carry.map(({ carried }) => carried.output)],
    );
    this.#outputs = outputs.map((output) => new BoundOutput(environment, output));
    if (carry.length > 0) {
      this.#carried = new CarriedSlots(
        environment,
        this.#arguments,
        inputs.length,
        outputs.length,
        carry,
      );
    }
    this.#outputsVary = outputsVary;
    this.#account = account;
    try {
      for (const [index, input] of inputs.entries()) {
        const bound = bindInput(environment, input);
        this.#inputs.push(bound);
        this.#arguments.setInput(index, bound.tensor);
      }
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
    this.inputBytes = sumOfBytes(this.#inputs);
    this.#accountTo(this.inputBytes);
  }

  /** Whether output shapes turned out to depend on the data. */
  get outputsVary(): boolean {
    return this.#outputsVary;
  }

  /** Outputs of the last run; views of host buffers that the next run overwrites. */
  get outputs(): readonly Tensor[] {
    return this.#tensors;
  }

  /**
   * Copies a batch into the input buffers.
   *
   * @throws {SluiceError} `invalid_argument` when a piece is missing, short or long.
   */
  write(inputs: readonly (readonly Uint8Array<ArrayBuffer>[])[]): void {
    for (let i = 0; i < this.#inputs.length; i++) this.#inputs[i].write(inputs[i] ?? []);
  }

  /**
   * Runs in place.
   *
   * @param state Where carried tensors lie; present in a binding that has any.
   * @returns Microseconds in ONNX Runtime.
   * @throws {OnnxRuntimeError | SluiceError} When the model refused its inputs.
   */
  run(state?: StateTransition): number {
    this.#begin(state);
    const started = performance.now();
    try {
      this.#arguments.run();
    } catch (error) {
      if (!this.#unbindOutputs()) throw error;
      this.#arguments.run();
      this.#outputsVary = true;
    }
    if (!this.#proved()) this.#arguments.run();
    const micros = (performance.now() - started) * 1000;
    this.#end();
    return micros;
  }

  /**
   * Runs on another thread.
   *
   * @param state As in {@linkcode run}.
   * @returns Microseconds until the event loop saw the end: the way to the thread and back is in it.
   * @throws {OnnxRuntimeError | SluiceError} When the model refused its inputs.
   */
  async runNonblocking(state?: StateTransition): Promise<number> {
    this.#begin(state);
    const started = performance.now();
    try {
      await this.#arguments.runNonblocking();
    } catch (error) {
      if (!this.#unbindOutputs()) throw error;
      await this.#arguments.runNonblocking();
      this.#outputsVary = true;
    }
    if (!this.#proved()) await this.#arguments.runNonblocking();
    const micros = (performance.now() - started) * 1000;
    this.#end();
    return micros;
  }

  #begin(state: StateTransition | undefined): void {
    if (this.#unproven) this.#markOutputs();
    if (state !== undefined) this.#carried?.bind(state);
  }

  /** Returns false when outputs were unbound that the run did not write to. */
  #proved(): boolean {
    const own = !this.#unproven || this.#proveOutputs();
    const carried = this.#carried?.prove() ?? true;
    return own && carried;
  }

  #end(): void {
    try {
      if (!this.#settled) this.#collect();
      this.#carried?.collect();
    } catch (error) {
      this.#releaseMade();
      throw error;
    }
  }

  /** Reads the outputs that the run made itself and, unless their shapes vary, binds them. */
  #collect(): void {
    const outputs = this.#outputs;
    for (let i = 0; i < outputs.length; i++) {
      if (outputs[i].tensor !== null) continue;
      const made = this.#arguments.takeOutput(i);
      if (made === null) throw new TypeError(`The run gave no output ${i}`);
      this.#tensors[i] = outputs[i].take(made);
      if (this.#outputsVary) continue;
      outputs[i].bind(this.#tensors[i]);
      this.#arguments.setOutput(i, outputs[i].tensor);
    }
    this.#settled = outputs.every((output) => output.tensor !== null);
    this.#unproven = outputs.some((output) => output.unproven);
    this.#accountTo(this.inputBytes + sumOfBytes(outputs));
  }

  #markOutputs(): void {
    for (const output of this.#outputs) if (output.unproven) output.mark();
  }

  /** Returns false when a run did not write to every bound output, which are then unbound. */
  #proveOutputs(): boolean {
    this.#unproven = false;
    let all = true;
    for (const [i, output] of this.#outputs.entries()) {
      if (!output.unproven || output.prove()) continue;
      all = false;
      this.#unbind(i);
    }
    return all;
  }

  /**
   * After a failed run: were outputs bound, their shapes may be at fault, and a run that makes its
   * own tells. Returns false when none were.
   */
  #unbindOutputs(): boolean {
    this.#unproven = false;
    let any = false;
    for (const [i, output] of this.#outputs.entries()) {
      if (output.tensor === null) continue;
      any = true;
      this.#unbind(i);
    }
    return any;
  }

  #unbind(index: number): void {
    this.#outputs[index].unbind();
    this.#arguments.setOutput(index, null);
    this.#settled = false;
  }

  #releaseMade(): void {
    for (const [i, output] of this.#outputs.entries()) {
      const made = output.tensor === null ? this.#arguments.takeOutput(i) : null;
      if (made !== null) this.#session.environment.runtime.api.ReleaseValue.call(made);
    }
    this.#carried?.releaseMade();
  }

  /** Frees tensors and host buffers at once, which the collector would do some time later. */
  [Symbol.dispose](): void {
    for (const input of this.#inputs) input[Symbol.dispose]();
    for (const output of this.#outputs) output[Symbol.dispose]();
    this.#accountTo(0);
  }

  /** The same, but views of the outputs stay valid for those who still read them. */
  abandon(): void {
    for (const input of this.#inputs) input[Symbol.dispose]();
    for (const output of this.#outputs) output.unbind();
    this.#accountTo(0);
  }

  #accountTo(bytes: number): void {
    if (bytes !== this.#bytes) this.#account(bytes - this.#bytes);
    this.#bytes = bytes;
  }
}

function sumOfBytes(parts: readonly { readonly bytes: number }[]): number {
  return parts.reduce((sum, part) => sum + part.bytes, 0);
}
