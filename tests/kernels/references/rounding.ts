/**
 * Rounding that JavaScript has no operation for.
 *
 * @module
 */

/** To nearest, towards zero, up and down: in the order in which numerics.cu gives them. */
export const ROUNDINGS: readonly ((exact: number) => number)[] = [
  Math.fround,
  (exact) => exact < 0 ? up(exact) : down(exact),
  up,
  down,
];

function up(exact: number): number {
  const nearest = Math.fround(exact);
  return nearest < exact ? -before(-nearest) : nearest;
}

function down(exact: number): number {
  return -up(-exact);
}

/** The next float below one that is not 0. */
function before(value: number): number {
  const word = new Int32Array(1), float = new Float32Array(word.buffer);
  float[0] = value;
  word[0] += value > 0 ? -1 : 1;
  return float[0];
}

/** To the nearest whole number; to the even one where two are as near. */
export function nearestEven(x: number): number {
  const below = Math.floor(x), rest = x - below;
  return rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
}

/** A whole number as an integer from `low` to `high` takes it; no number becomes 0. */
export function saturate(x: number, low: number, high: number): number {
  return Number.isNaN(x) ? 0 : Math.min(Math.max(x, low), high);
}

/** The bits of the nearest half; the GPU's NaN. */
export function halfBits(x: number): number {
  return Number.isNaN(x) ? 0x7fff : new Uint16Array(Float16Array.of(x).buffer)[0];
}

/** The bits of the half next to x on the side of 0. */
export function halfBitsTowardsZero(x: number): number {
  const bits = halfBits(x);
  return Math.abs(Math.f16round(x)) > Math.abs(x) ? bits - 1 : bits;
}

/** The bits of the nearest bfloat16; the GPU's NaN. */
export function bfloatBits(x: number): number {
  if (Number.isNaN(x)) return 0x7fff;
  const [word] = new Uint32Array(Float32Array.of(x).buffer);
  return (word + 0x7fff + (word >>> 16 & 1)) >>> 16;
}

/** What the bits of a bfloat16 stand for. */
export function bfloatValue(bits: number): number {
  return new Float32Array(Uint32Array.of(bits << 16).buffer)[0];
}
