/**
 * "Did you mean ...?" for names that people type.
 *
 * @module
 */
import { closest, distance } from "fastest-levenshtein";

/** The candidate that `word` was probably meant to be; undefined when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (candidates.length === 0) return undefined;
  const candidate = closest(word, [...candidates]);
  return distance(word, candidate) <= Math.max(word.length, candidate.length) * 0.5
    ? candidate
    : undefined;
}

/** `; did you mean "x"?`, or nothing when no candidate is near. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const candidate = nearest(word, candidates);
  return candidate === undefined ? "" : `; did you mean "${candidate}"?`;
}
