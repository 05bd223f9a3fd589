/**
 * What generation adds to a model version's figures: tokens, and when they came.
 *
 * @module
 */
import type { Histogram, ServedModel } from "../engine/api.ts";
import { microsHistogram } from "../engine/statistics.ts";

/** Figures of one model version; they only grow. */
export interface GenerationStatistics {
  /** Tokens of all prompts, the one that begins each text included. */
  promptTokens: number;
  /** Tokens that were generated, those that end a text included. */
  generatedTokens: number;
  /** From a request's arrival to its first token, microseconds. */
  readonly firstTokenMicros: Histogram;
  /** From one token to the next, microseconds; not where the reader was waited for. */
  readonly tokenGapMicros: Histogram;
}

const statistics = new WeakMap<ServedModel, GenerationStatistics>();

/** The figures of a model version; at zero before its first generation. */
export function generationStatistics(served: ServedModel): GenerationStatistics {
  let figures = statistics.get(served);
  if (figures === undefined) {
    figures = {
      promptTokens: 0,
      generatedTokens: 0,
      firstTokenMicros: microsHistogram(),
      tokenGapMicros: microsHistogram(),
    };
    statistics.set(served, figures);
  }
  return figures;
}
