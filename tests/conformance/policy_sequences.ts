/** What a policy's promises mean for requests that take many iterations. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { PolicyPromises } from "../../policies/policy.ts";
import { endlessLoad, loneSequenceLoad } from "./policy_loads.ts";
import { assertShares, type Outcome } from "./policy_outcome.ts";
import type { Arrival, Load } from "./policy_simulation.ts";

/** Registers the cases that a policy's promises call for; `run` simulates a load without a fault. */
export function addSequenceCases(
  cases: Map<string, () => void>,
  promises: PolicyPromises,
  run: (load: Load) => Outcome,
): void {
  if (promises.takesTurns) {
    cases.set(
      "lets no request of many iterations hold up others, in its queue or beside it",
      () => {
        fc.assert(
          fc.property(endlessLoad, ({ load, boundMicros }) => {
            for (const { model, startMicros, requests } of run(load).served) {
              for (const { waitingSinceMicros } of requests) {
                const waited = startMicros - waitingSinceMicros;
                assert.ok(waited <= boundMicros, `one of '${model}' waited ${waited} us`);
              }
            }
          }),
          { numRuns: 12, seed: 11 },
        );
      },
    );
  }

  if (promises.proportionalShare) {
    cases.set("shares device time by weight between one sequence and plain requests", () => {
      fc.assert(
        fc.property(loneSequenceLoad, (load) => {
          assertShares(run(load), load.queues, 0, load.untilMicros);
        }),
        { numRuns: 25, seed: 12 },
      );
    });
  }

  if (promises.shortestFirst) {
    cases.set("lets no short request wait behind a long one of its own model", () => {
      const arrivals: Arrival[] = [{ atMicros: 0, queue: 0, iterations: 500 }];
      for (let atMicros = 50; atMicros < 40_000; atMicros += 1_000) {
        arrivals.push({ atMicros, queue: 0 });
      }
      const queues = [{ model: "generator", micros: 100 }];
      const { served } = run({ queues, arrivals, untilMicros: 0 });
      for (const { startMicros, requests: [{ arrivedMicros, iterations }] } of served) {
        if (iterations === 1) assert.equal(startMicros, arrivedMicros + 50);
      }
    });

    cases.set("lets no plain request wait behind a job of shorter iterations", () => {
      const arrivals: Arrival[] = [{ atMicros: 0, queue: 0, iterations: 1_000 }];
      for (let atMicros = 50; atMicros < 80_000; atMicros += 10_000) {
        arrivals.push({ atMicros, queue: 1 });
      }
      const queues = [{ model: "job", micros: 100 }, { model: "plain", micros: 1_000 }];
      const { served } = run({ queues, arrivals, untilMicros: 0 });
      for (const { model, startMicros, requests: [{ arrivedMicros }] } of served) {
        if (model === "plain") assert.ok(startMicros <= arrivedMicros + 100);
      }
    });
  }
}
