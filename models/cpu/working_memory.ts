/**
 * How much working memory an iteration of a model needs, from a few measured runs.
 *
 * @module
 */
import type { Signature } from "../device.ts";
import type { Model } from "../model.ts";
import { elementCount } from "../tensor.ts";

/** A measured run. */
export interface MemorySample {
  /** Elements of all its inputs together. */
  readonly elements: number;
  /**
   * What an arena of its own took for the run. This is what an iteration is charged: an arena grows
   * by blocks of powers of two from 1 MiB and rarely packs tensors without gaps.
   */
  readonly arenaBytes: number;
  /** Most that tensors used of it at one time. */
  readonly tensorBytes: number;
}

/** For a model that could not be run: room for the inputs and some layers of about their size. */
const GUESS_PER_ELEMENT = 64;
const GUESS_AT_LEAST = 1 << 20;
/** Attention needs the square of its input; nothing in use needs more. */
const STEEPEST_GROWTH = 2;
/** A small run leaves most of its arena's smallest block empty, which says nothing of larger runs. */
const MOST_WASTE = 4;

/** Elements of all inputs together. */
export function inputElements(inputs: readonly { readonly shape: readonly number[] }[]): number {
  return inputs.reduce((sum, { shape }) => sum + elementCount(shape), 0);
}

/** Elements of all inputs of an iteration, those that its sequences carry over included. */
export function iterationElements(signature: Signature, { sequence }: Model): number {
  const { inputs, sequences = 0 } = signature;
  return inputElements(inputs) + sequences * inputElements(sequence?.carry ?? []);
}

/** An upper bound that grows with the size of the inputs. */
export class WorkingMemory {
  /** Ascending in all fields. */
  readonly #samples: readonly MemorySample[];

  /**
   * Learns from measured runs.
   *
   * @param samples In any order.
   */
  constructor(samples: readonly MemorySample[]) {
    let arenaBytes = 0, tensorBytes = 0;
    this.#samples = samples.toSorted((a, b) => a.elements - b.elements).map((sample) => ({
      elements: sample.elements,
      arenaBytes: arenaBytes = Math.max(arenaBytes, sample.arenaBytes),
      tensorBytes: tensorBytes = Math.max(tensorBytes, sample.tensorBytes),
    }));
  }

  /** Bytes that an iteration of so many input elements needs at most, as far as the samples tell. */
  estimate(elements: number): number {
    const last = this.#samples.at(-1);
    if (last === undefined) return Math.max(GUESS_AT_LEAST, elements * GUESS_PER_ELEMENT);
    const covering = this.#samples.find((sample) => sample.elements >= elements);
    if (covering !== undefined) return covering.arenaBytes;
    const factor = (elements / Math.max(1, last.elements)) ** this.#growth();
    const waste = Math.min(last.arenaBytes / Math.max(1, last.tensorBytes), MOST_WASTE);
    const bytes = Math.max(last.arenaBytes, last.tensorBytes * factor * Math.max(1, waste));
    // Between two powers of two an arena may take the larger one.
    return 2 ** Math.ceil(Math.log2(Math.max(1, bytes)));
  }

  /** Exponent with which tensors' memory grows beyond the largest sample. */
  #growth(): number {
    const [before, last] = this.#samples.slice(-2);
    if (last === undefined || before.tensorBytes === 0 || before.elements === last.elements) {
      return 1;
    }
    const exponent = Math.log(last.tensorBytes / before.tensorBytes) /
      Math.log(last.elements / before.elements);
    return Math.min(Math.max(exponent, 1), STEEPEST_GROWTH);
  }
}
