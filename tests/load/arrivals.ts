/**
 * When requests come, drawn in advance: the server's answers cannot change it.
 *
 * @module
 */
import type { Random } from "../../models/random.ts";
import type { Arrivals } from "./scenario.ts";

/** Arrivals that follow from numbers alone. */
export type DrawnArrivals = Exclude<Arrivals, { kind: "trace" }>;

/** Seconds at which requests come, ascending, from 0 up to but not including `seconds`. */
export function arrivalTimes(arrivals: DrawnArrivals, seconds: number, random: Random): number[] {
  const times: number[] = [];
  const next = arrivalAfter(arrivals, seconds, random);
  for (let at = next(); at < seconds; at = next()) times.push(at);
  return times;
}

/** Gives one arrival after the other. */
function arrivalAfter(arrivals: DrawnArrivals, seconds: number, random: Random): () => number {
  const { rate } = arrivals;
  let index = 0, sum = 0;
  switch (arrivals.kind) {
    case "constant":
      return () => index++ / rate;
    case "burst":
      return () => Math.floor(index++ / arrivals.size) * arrivals.size / rate;
    case "poisson":
      return () => sum += exponential(random) / rate;
    case "gamma": {
      const shape = 1 / arrivals.cv ** 2;
      return () => sum += gamma(shape, random) / shape / rate;
    }
    case "ramp": {
      const slope = (arrivals.to - rate) / seconds;
      return () => rampTime(sum += exponential(random), rate, slope);
    }
  }
}

/**
 * When `expected` requests have come on average, at a rate that begins at `rate` and grows by
 * `slope`: the root of `rate t + slope t^2 / 2 = expected`; never, when the rate falls to 0 before.
 */
function rampTime(expected: number, rate: number, slope: number): number {
  const square = rate ** 2 + 2 * slope * expected;
  // This form of the root holds for a slope of 0 too, and loses no digits near it.
  return square < 0 ? Infinity : 2 * expected / (rate + Math.sqrt(square));
}

/** An exponentially distributed number of mean 1. */
export function exponential(random: Random): number {
  return -Math.log(1 - random());
}

/** A gamma-distributed number of this shape and scale 1, after Marsaglia and Tsang (2000). */
function gamma(shape: number, random: Random): number {
  if (shape < 1) return gamma(shape + 1, random) * (1 - random()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(random);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random()) < x * x / 2 + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** A normally distributed number, by Box and Muller. */
function normal(random: Random): number {
  return Math.sqrt(2 * exponential(random)) * Math.cos(2 * Math.PI * random());
}
