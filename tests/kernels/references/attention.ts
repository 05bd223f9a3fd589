/**
 * Attention of one new token over a cache, in fp64.
 *
 * @module
 */

/** Sizes of the cache and of what asks it. */
export interface AttentionShape {
  /** How many sequences there are. */
  readonly sequences: number;
  /** Heads of the query. */
  readonly heads: number;
  /** How many heads of the query share a head of the cache. */
  readonly sharedBy: number;
  /** Positions that the cache has room for. */
  readonly capacity: number;
  /** Elements of a head. */
  readonly width: number;
}

/** The result for every sequence and head, with scores scaled by 1 / sqrt(width). */
export function attend(
  query: ArrayLike<number>,
  keys: ArrayLike<number>,
  values: ArrayLike<number>,
  lengths: ArrayLike<number>,
  { sequences, heads, sharedBy, capacity, width }: AttentionShape,
): Float64Array {
  const result = new Float64Array(sequences * heads * width);
  for (let row = 0; row < sequences * heads; row++) {
    const sequence = Math.floor(row / heads), head = row % heads;
    const cache = (sequence * (heads / sharedBy) + Math.floor(head / sharedBy)) * capacity * width;
    const scores = Array.from({ length: lengths[sequence] }, (_, position) => {
      let score = 0;
      for (let i = 0; i < width; i++) {
        score += query[row * width + i] * keys[cache + position * width + i];
      }
      return score / Math.sqrt(width);
    });
    const highest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - highest));
    const sum = powers.reduce((sum, power) => sum + power, 0);
    powers.forEach((power, position) => {
      for (let i = 0; i < width; i++) {
        result[row * width + i] += power / sum * values[cache + position * width + i];
      }
    });
  }
  return result;
}
