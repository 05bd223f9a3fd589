import assert from "node:assert/strict";
import fc from "fast-check";
import { seededRandom } from "../../models/random.ts";
import { arrivalTimes, type DrawnArrivals } from "./arrivals.ts";

const rate = fc.integer({ min: 1, max: 200 });
const anyArrivals: fc.Arbitrary<DrawnArrivals> = fc.oneof(
  rate.map((rate): DrawnArrivals => ({ kind: "constant", rate })),
  rate.map((rate): DrawnArrivals => ({ kind: "poisson", rate })),
  fc.record({ kind: fc.constant("gamma"), rate, cv: fc.constantFrom(0.2, 1, 4) }),
  fc.record({ kind: fc.constant("ramp"), rate, to: rate }),
  fc.record({ kind: fc.constant("burst"), rate, size: fc.integer({ min: 1, max: 20 }) }),
);
const seed = fc.nat();

const draw = (arrivals: DrawnArrivals, seconds: number, seed: number) =>
  arrivalTimes(arrivals, seconds, seededRandom(seed));

function gaps(times: readonly number[]): { mean: number; cv: number } {
  const all = times.slice(1).map((time, i) => time - times[i]);
  const mean = all.reduce((sum, gap) => sum + gap, 0) / all.length;
  const variance = all.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / all.length;
  return { mean, cv: Math.sqrt(variance) / mean };
}

Deno.test("arrivalTimes() gives ascending times within the run, the same for the same seed", () => {
  fc.assert(fc.property(anyArrivals, seed, (arrivals, seed) => {
    const times = draw(arrivals, 3, seed);
    assert.deepEqual(times, draw(arrivals, 3, seed));
    assert.deepEqual(times, times.toSorted((a, b) => a - b));
    assert.ok(times.every((time) => time >= 0 && time < 3));
  }));
});

Deno.test("arrivalTimes() spaces constant arrivals evenly", () => {
  assert.deepEqual(draw({ kind: "constant", rate: 4 }, 1, 1), [0, 0.25, 0.5, 0.75]);
});

Deno.test("arrivalTimes() gives bursts at the mean rate", () => {
  assert.deepEqual(draw({ kind: "burst", rate: 6, size: 3 }, 1, 1), [0, 0, 0, 0.5, 0.5, 0.5]);
});

for (const cv of [0.25, 1, 3]) {
  Deno.test(`arrivalTimes() gives gamma arrivals their rate and a variation of ${cv}`, () => {
    const found = gaps(draw({ kind: "gamma", rate: 100, cv }, 500, 7));
    assert.ok(Math.abs(found.mean * 100 - 1) < 0.05, `mean ${found.mean}`);
    assert.ok(Math.abs(found.cv / cv - 1) < 0.08, `cv ${found.cv}`);
  });
}

Deno.test("arrivalTimes() gives Poisson arrivals their rate and a variation of 1", () => {
  const found = gaps(draw({ kind: "poisson", rate: 100 }, 500, 3));
  assert.ok(Math.abs(found.mean * 100 - 1) < 0.02, `mean ${found.mean}`);
  assert.ok(Math.abs(found.cv - 1) < 0.03, `cv ${found.cv}`);
});

for (const [from, to] of [[10, 190], [190, 10], [100, 100]]) {
  Deno.test(`arrivalTimes() ramps from ${from}/s to ${to}/s linearly`, () => {
    const times = draw({ kind: "ramp", rate: from, to }, 100, 5);
    const half = times.filter((time) => time < 50).length;
    assert.ok(Math.abs(times.length / 10_000 - 1) < 0.04, `${times.length}`);
    const expected = 50 * (from + (from + to) / 2) / 2;
    assert.ok(Math.abs(half / expected - 1) < 0.08, `${half} of ${expected}`);
  });
}
