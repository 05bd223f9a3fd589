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

/** Numbers of 16 bits, drawn evenly from -1 to 1. */
export function halves(count: number, seed: number): Float16Array<ArrayBuffer> {
  return Float16Array.from(uniform(count, seed));
}

/** The same as bfloat16: the upper halves of the bits of floats, and what they stand for. */
export function bfloats(
  count: number,
  seed: number,
): { readonly bits: Uint16Array<ArrayBuffer>; readonly values: Float32Array<ArrayBuffer> } {
  const values = uniform(count, seed);
  const words = new Uint32Array(values.buffer);
  words.forEach((word, i) => words[i] = word & 0xffff0000);
  return { bits: Uint16Array.from(words, (word) => word >>> 16), values };
}
