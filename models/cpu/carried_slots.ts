/**
 * Where runs with state find the tensors that carry over: in the arguments of a binding, but not in
 * its memory.
 *
 * @module
 */
import type { Environment } from "../../ffi/onnxruntime/environment.ts";
import type { RunArguments } from "../../ffi/onnxruntime/run.ts";
import { copyTensor, tensorInfo } from "../../ffi/onnxruntime/values.ts";
import { SluiceError } from "../errors.ts";
import type { CarriedTensor } from "../model.ts";
import { ELEMENT_TYPE_OF } from "./element_types.ts";
import type { CarriedRows, StateTransition } from "./state_rows.ts";
import { WriteProof } from "./write_proof.ts";

/** A tensor that a model carries over, and what its runs have shown. */
export interface ProvenCarry {
  /** Its input and output. */
  readonly carried: CarriedTensor;
  /** Of the output. One for all bindings: it is the model that passes a tensor through. */
  readonly proof: WriteProof;
}

/** Carried tensors of which no run has shown anything. */
export function unproven(carry: readonly CarriedTensor[]): ProvenCarry[] {
  return carry.map((carried) => ({ carried, proof: new WriteProof() }));
}

/** The slots of one binding behind those of its own tensors. */
export class CarriedSlots {
  readonly #environment: Environment;
  readonly #arguments: RunArguments;
  readonly #firstInput: number;
  readonly #firstOutput: number;
  readonly #carry: readonly ProvenCarry[];
  /** By carried tensor, where the run in progress leaves the value; null for one that it makes. */
  readonly #bound: (CarriedRows | null)[] = [];
  #next: readonly CarriedRows[] = [];

  /** Slots that belong to no state yet. */
  constructor(
    environment: Environment,
    args: RunArguments,
    firstInput: number,
    firstOutput: number,
    carry: readonly ProvenCarry[],
  ) {
    this.#environment = environment;
    this.#arguments = args;
    this.#firstInput = firstInput;
    this.#firstOutput = firstOutput;
    this.#carry = carry;
  }

  /** Before a run: it takes the one state and leaves the other. */
  bind({ current, next }: StateTransition): void {
    this.#next = next.tensors;
    for (let i = 0; i < this.#carry.length; i++) {
      const { proof } = this.#carry[i];
      const rows = next.tensors[i];
      this.#arguments.setInput(this.#firstInput + i, current.tensors[i].tensor);
      this.#bindOutput(i, proof.isPassedThrough ? null : rows);
      if (proof.isOpen) proof.mark(rows.data);
    }
  }

  /** After a run: returns false when it did not write to all that was bound, and has to run again. */
  prove(): boolean {
    let all = true;
    for (let i = 0; i < this.#carry.length; i++) {
      const { proof } = this.#carry[i];
      const rows = this.#bound[i];
      if (rows === null || proof.isWritten || proof.prove(rows.data)) continue;
      all = false;
      this.#bindOutput(i, null);
    }
    return all;
  }

  /**
   * After the last run: copies what it made itself.
   *
   * @throws {SluiceError} `execution_failed` when that is not what the model declares.
   */
  collect(): void {
    for (let i = 0; i < this.#carry.length; i++) {
      if (this.#bound[i] === null) this.#collectMade(this.#carry[i].carried, this.#next[i], i);
    }
  }

  /** Releases what a run made and nobody collected. */
  releaseMade(): void {
    for (let i = 0; i < this.#carry.length; i++) {
      const made = this.#bound[i] === null ? this.#takeMade(i) : null;
      if (made !== null) this.#environment.runtime.api.ReleaseValue.call(made);
    }
  }

  #bindOutput(index: number, rows: CarriedRows | null): void {
    this.#bound[index] = rows;
    this.#arguments.setOutput(this.#firstOutput + index, rows?.tensor ?? null);
  }

  #takeMade(index: number): Deno.PointerValue {
    return this.#arguments.takeOutput(this.#firstOutput + index);
  }

  #collectMade({ output, datatype }: CarriedTensor, rows: CarriedRows, index: number): void {
    const { runtime } = this.#environment;
    const made = this.#takeMade(index);
    if (made === null) throw new TypeError(`The run gave no output "${output}"`);
    try {
      const { elementType, shape } = tensorInfo(runtime, made);
      if (elementType !== ELEMENT_TYPE_OF[datatype] || String(shape) !== String(rows.shape)) {
        throw new SluiceError(
          "execution_failed",
          `Output "${output}" came as ${elementType ?? "an unknown type"} of shape [${shape}]; ` +
            `expected ${datatype} of shape [${rows.shape}] to carry over`,
        );
      }
      copyTensor(runtime, made, rows.data);
    } finally {
      runtime.api.ReleaseValue.call(made);
    }
  }
}
