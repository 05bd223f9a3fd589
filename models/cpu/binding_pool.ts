/**
 * Bindings of one model, kept for the signatures that were used last.
 *
 * @module
 */
import type { Session } from "../../ffi/onnxruntime/session.ts";
import type { Signature } from "../device.ts";
import type { Model } from "../model.ts";
import type { TensorSpec } from "../tensor.ts";
import { Binding, type BindingLayout } from "./binding.ts";
import { type ProvenCarry, unproven } from "./carried_slots.ts";
import { inPlaceEstimate, type ShortRun } from "./measure.ts";
import { RunTimes } from "./run_times.ts";
import { iterationElements } from "./working_memory.ts";

/** How much a pool keeps. */
export interface PoolLimits {
  /** Signatures that bindings are kept for. */
  readonly signatures: number;
  /** Host memory of all bindings. Those in use, and one that is the only one, may exceed it. */
  readonly bytes: number;
}

/** What is known and kept for one signature. */
export interface PooledSignature {
  /** Its exact shapes. */
  readonly signature: Signature;
  /** Bindings that nobody uses. */
  readonly free: Binding[];
  /** How long its runs took. */
  readonly times: RunTimes;
  /** Equal input shapes have given different output shapes. */
  outputsVary: boolean;
}

/** A pool of bindings. */
export class BindingPool implements Disposable {
  readonly #session: Session;
  readonly #model: Model;
  /** What bindings have in runs with state. */
  readonly #carry: readonly ProvenCarry[];
  /** The outputs besides. */
  readonly #notCarried: readonly TensorSpec[];
  readonly #shortRuns: readonly ShortRun[];
  readonly #limits: PoolLimits;
  /** In order of their last use, the latest at the end. */
  readonly #signatures = new Map<string, PooledSignature>();
  /** Every binding, those in use included. */
  readonly #bindings = new Set<Binding>();
  readonly #account = (bytes: number) => void (this.#bytes += bytes);
  #latest: PooledSignature | undefined;
  #bytes = 0;

  /** A pool without bindings. */
  constructor(
    session: Session,
    model: Model,
    shortRuns: readonly ShortRun[],
    limits: PoolLimits,
  ) {
    const carry = model.sequence?.carry ?? [];
    const carried = new Set(carry.map(({ output }) => output));
    this.#session = session;
    this.#model = model;
    this.#carry = unproven(carry);
    this.#notCarried = model.signature.outputs.filter(({ name }) => !carried.has(name));
    this.#shortRuns = shortRuns;
    this.#limits = limits;
  }

  /** Host memory of all bindings, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The entry of a signature, made when it is new. */
  entry(signature: Signature): PooledSignature {
    const { key } = signature;
    if (this.#latest?.signature.key === key) return this.#latest;
    const known = this.#signatures.get(key);
    const entry = known ??
      { signature, free: [], times: this.#times(signature), outputsVary: false };
    if (known !== undefined) this.#signatures.delete(key);
    this.#signatures.set(key, entry);
    this.#latest = entry;
    this.#evict();
    return entry;
  }

  /** A signature never run is taken to cost what trials of its size did. */
  #times(signature: Signature): RunTimes {
    const elements = iterationElements(signature, this.#model);
    return new RunTimes(inPlaceEstimate(this.#shortRuns, elements));
  }

  /**
   * A binding that nobody else uses until it is given back.
   *
   * @throws {OnnxRuntimeError} When ONNX Runtime accepts no tensors of these shapes.
   */
  take(entry: PooledSignature): Binding {
    const kept = entry.free.pop();
    if (kept !== undefined) return kept;
    const binding = new Binding(this.#session, this.#layout(entry), this.#account);
    this.#bindings.add(binding);
    return binding;
  }

  #layout({ signature, outputsVary }: PooledSignature): BindingLayout {
    const { inputs } = signature;
    return signature.sequences === undefined
      ? { inputs, outputs: this.#model.signature.outputs, outputsVary }
      : { inputs, outputs: this.#notCarried, carry: this.#carry, outputsVary };
  }

  /** Ends the use of a binding. Not twice for one use. */
  giveBack(entry: PooledSignature, binding: Binding): void {
    if (!this.#bindings.has(binding)) return; // the pool is gone
    entry.outputsVary ||= binding.outputsVary;
    const evicted = this.#signatures.get(entry.signature.key) !== entry;
    const surplus = this.#bytes > this.#limits.bytes && entry.free.length > 0;
    if (evicted || surplus) this.#drop(binding);
    else entry.free.push(binding);
  }

  /** Releases all, those in use included: no run may be in flight. */
  [Symbol.dispose](): void {
    for (const entry of this.#signatures.values()) {
      for (const binding of entry.free) this.#drop(binding);
    }
    for (const binding of this.#bindings) binding.abandon();
    this.#bindings.clear();
    this.#signatures.clear();
    this.#latest = undefined;
  }

  /** Drops the signatures that have not been used for longest while there is too much. */
  #evict(): void {
    for (const [key, entry] of this.#signatures) {
      const tooMany = this.#signatures.size > this.#limits.signatures;
      const tooLarge = this.#bytes > this.#limits.bytes;
      if (!(tooMany || tooLarge) || entry === this.#latest) return;
      this.#signatures.delete(key);
      for (const binding of entry.free.splice(0)) this.#drop(binding);
    }
  }

  #drop(binding: Binding): void {
    this.#bindings.delete(binding);
    binding[Symbol.dispose]();
  }
}
