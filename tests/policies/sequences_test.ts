/** What is promised of every policy that is made for generations beside requests, counted in iterations. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { edf } from "../../policies/edf.ts";
import { fair } from "../../policies/fair.ts";
import { las2d } from "../../policies/las_2d.ts";
import type { PolicyDefinition } from "../../policies/policy.ts";
import { priority } from "../../policies/priority.ts";
import { roundRobin } from "../../policies/round_robin.ts";
import { srtf } from "../../policies/srtf.ts";
import type { Served } from "../conformance/policy_outcome.ts";
import { type Load, simulate } from "../conformance/policy_simulation.ts";

const LONG = 500;

/** A generation of 500 iterations; while it runs, a plain request and a short generation come. */
const besideGeneration = fc.record({
  micros: fc.integer({ min: 100, max: 2_000 }),
  plainCost: fc.double({ min: 0.1, max: 5, noNaN: true }),
  short: fc.integer({ min: 10, max: 30 }),
  maxRows: fc.constantFrom(1, 4),
  begun: fc.double({ min: 0.01, max: 0.9, noNaN: true }),
}).map(({ micros, plainCost, short, maxRows, begun }): Load => {
  const atMicros = Math.ceil(begun * LONG * micros);
  return {
    queues: [
      { model: "generator", micros, maxRows },
      { model: "plain", micros: Math.ceil(plainCost * micros) },
    ],
    arrivals: [
      { atMicros: 0, queue: 0, iterations: LONG, prefill: true },
      { atMicros, queue: 0, iterations: short, prefill: true },
      { atMicros, queue: 1 },
    ],
    untilMicros: 0,
  };
});

/** Iterations that ran, or went on running, while a request waited for this one. */
function iterationsWaited(served: readonly Served[], { startMicros }: Served, since: number) {
  return served.filter((other) => other.startMicros < startMicros && other.endMicros > since)
    .length;
}

for (const definition of [roundRobin, fair, priority, srtf, edf, las2d] as PolicyDefinition[]) {
  Deno.test(`${definition.name} lets what comes beside a generation of 500 iterations wait for two`, () => {
    fc.assert(
      fc.property(besideGeneration, (load) => {
        const { served, faults } = simulate(definition, load);
        assert.deepEqual(faults, []);
        const ran = new Map<number, number>();
        for (const iteration of served) {
          for (const { iterations, waitingSinceMicros } of iteration.requests) {
            ran.set(iterations, (ran.get(iterations) ?? 0) + 1);
            if (iterations === LONG) continue;
            const waited = iterationsWaited(served, iteration, waitingSinceMicros);
            assert.ok(waited <= 2, `one of ${iterations} iterations waited for ${waited}`);
          }
        }
        for (const [iterations, count] of ran) assert.equal(count, iterations);
        assert.equal(ran.size, 3);
      }),
      { numRuns: 30, seed: 31 },
    );
  });
}
