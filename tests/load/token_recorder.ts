/**
 * What the readers of generated text see: when it begins, and how it goes on.
 *
 * @module
 */
import { Latencies, type LatencySummary } from "./latency.ts";
import type { Objectives } from "./scenario.ts";
import type { Sample } from "./sender.ts";

/** What was seen of a model's text, of requests that were answered to the end. */
export interface TokenMeasurements {
  /** Tokens in all. */
  readonly count: number;
  /** From intended send to the first token. */
  readonly ttft: LatencySummary;
  /** From actual send to the first token. */
  readonly actualTtft: LatencySummary;
  /** From each token to the next, all requests together. */
  readonly tbt: LatencySummary;
  /** Percentiles and milliseconds of `ttft`. */
  readonly ttftCurve: readonly (readonly [number, number])[];
  /** The same of `tbt`. */
  readonly tbtCurve: readonly (readonly [number, number])[];
}

/** Part of a request's tokens that may come later than the objective: one pause is no stutter. */
const LONGER_SHARE = 0.01;

/** Records one model's text. */
export class TokenRecorder {
  readonly #sloTtftMicros: number;
  readonly #sloTbtMicros: number;
  readonly #ttft = new Latencies();
  readonly #actualTtft = new Latencies();
  readonly #tbt = new Latencies();
  #count = 0;

  /** Begins with nothing. */
  constructor({ sloTtftMs = Infinity, sloTbtMs = Infinity }: Objectives) {
    this.#sloTtftMicros = sloTtftMs * 1000;
    this.#sloTbtMicros = sloTbtMs * 1000;
  }

  /** Counts an answered request; gives whether it met the objectives. */
  add({ tokens, intendedMicros, sentMicros, endMicros }: Sample): boolean {
    const { count, atMicros } = tokens!;
    // Where no text came, its reader knew at the end.
    const first = atMicros[0] ?? endMicros;
    this.#count += count;
    this.#ttft.record(first - intendedMicros);
    this.#actualTtft.record(first - sentMicros);
    let longer = 0;
    for (let i = 1; i < atMicros.length; i++) {
      const gap = atMicros[i] - atMicros[i - 1];
      this.#tbt.record(gap);
      if (gap > this.#sloTbtMicros) longer++;
    }
    return first - intendedMicros <= this.#sloTtftMicros &&
      longer <= LONGER_SHARE * atMicros.length;
  }

  /** All so far. */
  measurements(): TokenMeasurements {
    return {
      count: this.#count,
      ttft: this.#ttft.summary(),
      actualTtft: this.#actualTtft.summary(),
      tbt: this.#tbt.summary(),
      ttftCurve: this.#ttft.curve(),
      tbtCurve: this.#tbt.curve(),
    };
  }
}
