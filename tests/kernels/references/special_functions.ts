/**
 * Functions that JavaScript's Math lacks, in fp64.
 *
 * @module
 */

/** The error function, by the series whose terms all have one sign. */
export function erf(x: number): number {
  let sum = 0, term = x;
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
    sum += term;
    term *= 2 * x * x / (2 * n + 1);
  }
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}

/** The gamma function of positive numbers: Stirling's series, shifted to where it is exact. */
export function gamma(x: number): number {
  let shift = 1;
  for (; x < 15; x++) shift *= x;
  const y = 1 / (x * x);
  const series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x;
  return Math.sqrt(2 * Math.PI / x) * (x / Math.E) ** x * Math.exp(series) / shift;
}

/** What x * x loses when it is rounded (Dekker's product). */
export function squareResidual(x: number): number {
  const split = 134217729 * x;
  const high = split - (split - x), low = x - high;
  const square = x * x;
  return high * high - square + 2 * high * low + low * low;
}

/** Steps until the sequence n/2, 3n+1 reaches 1. */
export function collatzSteps(value: number): number {
  let steps = 0;
  for (; value !== 1; steps++) value = value % 2 === 0 ? value / 2 : 3 * value + 1;
  return steps;
}
