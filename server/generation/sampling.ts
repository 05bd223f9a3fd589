/**
 * Which token comes next: the likeliest, or one drawn from the likely ones. What is drawn depends on
 * the logits, the options and the seed alone.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import { seededRandom } from "../../models/random.ts";

/** How tokens are chosen. */
export interface SamplingOptions {
  /** Logits are divided by it: the higher, the more even. 0 takes the likeliest token. */
  readonly temperature: number;
  /** Draws from so many likeliest tokens; 0 from all. */
  readonly topK: number;
  /** Draws from the fewest likeliest tokens that have this probability together; 1 from all. */
  readonly topP: number;
  /** A whole number below 2^32. */
  readonly seed: number;
}

/** Chooses the tokens of one text. Of tokens with equal logits the lowest comes first. */
export class Sampler {
  readonly #options: SamplingOptions;
  readonly #random: () => number;
  readonly #logits: Float32Array<ArrayBuffer>;
  /** The same memory: what a device gives is not aligned. */
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #sorted: Float32Array<ArrayBuffer>;
  readonly #weights: Float64Array<ArrayBuffer>;

  /**
   * Has drawn nothing yet.
   *
   * @param vocabulary Number of tokens.
   */
  constructor(vocabulary: number, options: SamplingOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#logits = new Float32Array(vocabulary);
    this.#bytes = new Uint8Array(this.#logits.buffer);
    this.#sorted = new Float32Array(vocabulary);
    this.#weights = new Float64Array(vocabulary);
  }

  /**
   * The next token.
   *
   * @param data One FP32 logit for each token.
   * @throws {SluiceError} `execution_failed` when they are no logits.
   */
  next(data: Uint8Array<ArrayBuffer>): number {
    this.#bytes.set(data);
    const likeliest = this.#likeliest();
    return this.#options.temperature === 0 ? likeliest : this.#draw(this.#logits[likeliest]);
  }

  /** Also finds what is no logit: then nothing is likelier than anything else. */
  #likeliest(): number {
    const logits = this.#logits;
    let best = 0;
    for (let token = 0; token < logits.length; token++) {
      const logit = logits[token];
      if (Number.isNaN(logit) || logit === Infinity) throw noLogit(String(logit), `token ${token}`);
      if (logit > logits[best]) best = token;
    }
    if (logits[best] === -Infinity) throw noLogit("-Infinity", "every token");
    return best;
  }

  /** By the inverse of the distribution, over the tokens in their order. */
  #draw(highest: number): number {
    const logits = this.#logits, weights = this.#weights;
    const { count, least } = this.#nucleus(highest);
    // Of those that equal the least, the lowest tokens fill what the others leave.
    let equals = count;
    for (const logit of logits) if (logit > least) equals--;
    let total = 0;
    for (let token = 0; token < logits.length; token++) {
      const logit = logits[token];
      const taken = logit > least || (logit === least && equals-- > 0);
      total += weights[token] = taken ? this.#weight(logit, highest) : 0;
    }
    let left = this.#random() * total;
    let last = 0;
    for (let token = 0; token < weights.length; token++) {
      if (weights[token] === 0) continue;
      last = token;
      left -= weights[token];
      if (left < 0) break;
    }
    return last;
  }

  /** How many of the likeliest tokens may be drawn, and the least of their logits. */
  #nucleus(highest: number): { readonly count: number; readonly least: number } {
    const { topK, topP } = this.#options;
    const sorted = this.#sorted;
    const size = sorted.length;
    let count = topK === 0 ? size : Math.min(topK, size);
    if (count === size && topP === 1) return { count, least: -Infinity };
    sorted.set(this.#logits);
    sorted.sort();
    if (topP < 1) {
      let total = 0;
      for (let rank = 1; rank <= count; rank++) total += this.#weight(sorted[size - rank], highest);
      let left = topP * total;
      let rank = 0;
      while (rank < count && left > 0) left -= this.#weight(sorted[size - ++rank], highest);
      count = rank;
    }
    return { count, least: sorted[size - count] };
  }

  /** In proportion to its probability; 1 for the likeliest. */
  #weight(logit: number, highest: number): number {
    return Math.exp((logit - highest) / this.#options.temperature);
  }
}

function noLogit(given: string, whose: string): SluiceError {
  return new SluiceError(
    "execution_failed",
    `The model gave ${given} as the logit of ${whose}, expected a number`,
  );
}
