/**
 * Inputs of kernels: the same ones for the same seed.
 *
 * @module
 */
import { seededRandom } from "../../models/random.ts";

/** Numbers drawn evenly from -scale to scale. */
export function uniform(count: number, seed: number, scale = 1): Float32Array<ArrayBuffer> {
  const random = seededRandom(seed);
  return Float32Array.from({ length: count }, () => (random() * 2 - 1) * scale);
}

/** Integers drawn evenly from 0 to below `limit`. */
export function integers(count: number, seed: number, limit: number): Int32Array<ArrayBuffer> {
  const random = seededRandom(seed);
  return Int32Array.from({ length: count }, () => Math.floor(random() * limit));
}
