/**
 * What every policy has to keep to: the interface's rules, and whatever the policy itself promises.
 * Several cases are faults of earlier schedulers that shared a device among models; their names say
 * which. Whether the scheduler keeps its own side is tested with the engine.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { PolicyDefinition, RequestView } from "../../policies/policy.ts";
import { anyLoad, backloggedLoad, hostileLoad, urgentLoad } from "./policy_loads.ts";
import {
  assertLeast,
  assertShares,
  assertWaits,
  type Outcome,
  sharesOf,
} from "./policy_outcome.ts";
import type { QueueLoad } from "./policy_queue.ts";
import { addSequenceCases } from "./policy_sequences.ts";
import { type Arrival, type Load, simulate } from "./policy_simulation.ts";

const SECOND = 1_000_000;
/** Of simple loads: a policy may be patient for a second, and something may be running then. */
const LONGEST_WAIT = 1.5 * SECOND;

/** Registers the suite for a policy. */
export function policyConformance(definition: PolicyDefinition): void {
  for (const [what, check] of conformanceCases(definition)) {
    Deno.test(`${definition.name} ${what}`, check);
  }
}

/** What the interface, and the policy's own promises, hold it to: a sentence and its check each. */
export function conformanceCases(definition: PolicyDefinition): Map<string, () => void> {
  const { promises } = definition;
  const cases = new Map<string, () => void>();
  const run = (load: Load): Outcome => {
    const outcome = simulate(definition, load);
    assert.deepEqual(outcome.faults, []);
    return outcome;
  };

  cases.set("decides the same when the same happens again", () => {
    fc.assert(
      fc.property(anyLoad, (load) => {
        assert.deepEqual(run(load).decisions, run(load).decisions);
      }),
      { numRuns: 100, seed: 1 },
    );
  });

  cases.set("runs only what is ready, within its rows, and all of it in the end", () => {
    fc.assert(
      fc.property(anyLoad, (load) => {
        assert.equal(run(load).unserved, 0);
      }),
      { numRuns: 200, seed: 2 },
    );
  });

  cases.set("copes with being switched to under load", () => {
    fc.assert(
      fc.property(anyLoad, fc.nat({ max: 50_000 }), (load, switchMicros) => {
        const switched = { ...load, switchMicros };
        const outcome = run(switched);
        assert.equal(outcome.unserved, 0);
        assert.deepEqual(outcome.decisions, run(switched).decisions);
      }),
      { numRuns: 100, seed: 3 },
    );
  });

  cases.set("never chooses a queue without work, nor idles the lane for one", () => {
    const queues = [{ model: "idle", micros: 100 }, { model: "busy", micros: 100, backlog: 1 }];
    const { served } = run({ queues, arrivals: [], untilMicros: 10_000 });
    assert.deepEqual(new Set(served.map(({ model }) => model)), new Set(["busy"]));
  });

  cases.set("ranks every request by a number, whatever its figures", () => {
    const policy = definition.create({ random: () => 0.5 });
    const edges = fc.record({
      arrivedMicros: fc.nat(),
      waitingSinceMicros: fc.nat(),
      deadlineMicros: fc.oneof(fc.nat(), fc.constant(Infinity)),
      priority: fc.integer({ min: 1, max: 2 ** 31 }),
      iterationsDone: fc.nat(),
      iterationsTotal: fc.integer({ min: 1 }),
      attainedMicros: fc.float({ min: 0, max: 1e9, noNaN: true }),
      tenant: fc.string(),
      tenantMicros: fc.float({ min: 0, max: 1e9, noNaN: true }),
    });
    fc.assert(
      fc.property(edges, (request: RequestView) => {
        assert.equal(Number.isNaN(policy.rank?.(request) ?? 0), false);
      }),
      { seed: 4 },
    );
  });

  if (promises.workConserving) {
    cases.set("never idles while something is ready", () => {
      fc.assert(
        fc.property(anyLoad, (load) => {
          assert.equal(run(load).idled, 0);
        }),
        { numRuns: 100, seed: 5 },
      );
    });
  }

  if (promises.noStarvation) {
    cases.set("serves every queue in bounded time, whatever the others do", () => {
      fc.assert(
        fc.property(hostileLoad, ({ load, boundMicros }) => {
          const { longestWait } = run(load);
          for (const model of longestWait.keys()) assertWaits(longestWait, model, boundMicros);
        }),
        { numRuns: 30, seed: 6 },
      );
    });

    cases.set("does not take iterations under a millisecond for free", () => {
      const queues = [
        { model: "short", micros: 40, backlog: 8 },
        { model: "long", micros: 5_000, backlog: 8 },
      ];
      const { longestWait } = run({ queues, arrivals: [], untilMicros: 5 * SECOND });
      assertWaits(longestWait, "long", LONGEST_WAIT);
    });

    cases.set("does not let a newcomer monopolise the lane", () => {
      const queues = [
        { model: "old", micros: 2_000, backlog: 4 },
        { model: "new", micros: 2_000, backlog: 4, addedMicros: 10 * SECOND },
      ];
      const { longestWait } = run({ queues, arrivals: [], untilMicros: 14 * SECOND });
      assertWaits(longestWait, "old", LONGEST_WAIT);
      assertWaits(longestWait, "new", LONGEST_WAIT);
    });

    cases.set("does not starve the old while newcomers keep coming", () => {
      const queues: QueueLoad[] = [{ model: "old", micros: 2_000, backlog: 4 }];
      for (let index = 0; index < 200; index++) {
        const addedMicros = index * 10_000;
        const removedMicros = addedMicros + 30_000;
        queues.push({
          model: `new ${index}`,
          micros: 2_000,
          backlog: 2,
          addedMicros,
          removedMicros,
        });
      }
      const { longestWait } = run({ queues, arrivals: [], untilMicros: 2 * SECOND });
      assertWaits(longestWait, "old", LONGEST_WAIT);
    });
  }

  if (promises.proportionalShare) {
    cases.set("shares device time by weight, whatever an iteration costs", () => {
      fc.assert(
        fc.property(backloggedLoad, (load) => {
          assertShares(run(load), load.queues, 0, load.untilMicros);
        }),
        { numRuns: 25, seed: 7 },
      );
    });

    cases.set("gives a newcomer its share from the start and no more", () => {
      for (const iterations of [1, 100]) {
        const queues = [
          { model: "old", micros: 500, backlog: 4, iterations },
          { model: "new", micros: 50, backlog: 4, iterations, addedMicros: 10 * SECOND },
        ];
        const outcome = run({ queues, arrivals: [], untilMicros: 11 * SECOND });
        assertShares(outcome, queues, 10 * SECOND, 10.1 * SECOND);
      }
    });

    cases.set("lets no queue save up the time in which it had no work", () => {
      const queues = [
        { model: "steady", micros: 500, backlog: 4 },
        { model: "bursty", micros: 500 },
      ];
      const arrivals: Arrival[] = [{ atMicros: 0, queue: 1 }];
      for (let index = 0; index < 1_000; index++) {
        arrivals.push({ atMicros: 10 * SECOND, queue: 1 });
      }
      const outcome = run({ queues, arrivals, untilMicros: 11 * SECOND });
      const share = sharesOf(outcome, 10 * SECOND, 10.5 * SECOND).get("bursty") ?? 0;
      assert.ok(Math.abs(share - 0.5) <= 0.025, `the burst got ${share}`);
    });
  }

  if (promises.strictPriority) {
    cases.set("runs the most urgent first until another has waited for a second", () => {
      fc.assert(
        fc.property(urgentLoad, (load) => {
          for (const { model, startMicros, ready } of run(load).served) {
            if (startMicros >= SECOND) break;
            assertLeast(ready, model, "topPriority");
          }
        }),
        { numRuns: 60, seed: 8 },
      );
    });
  }

  if (promises.shortestFirst) {
    cases.set("runs the shortest first until another has waited for a second", () => {
      fc.assert(
        fc.property(urgentLoad, (load) => {
          for (const { model, startMicros, ready } of run(load).served) {
            if (startMicros >= SECOND) break;
            assertLeast(ready, model, "expectedMicros");
          }
        }),
        { numRuns: 60, seed: 9 },
      );
    });
  }

  if (promises.deadlineOrder) {
    cases.set("runs the earliest deadline first", () => {
      fc.assert(
        fc.property(urgentLoad, (load) => {
          for (const { model, ready, requests } of run(load).served) {
            assertLeast(ready, model, "earliestDeadlineMicros");
            const { earliestDeadlineMicros } = ready.get(model)!;
            assert.equal(requests[0].deadlineMicros, earliestDeadlineMicros);
          }
        }),
        { numRuns: 60, seed: 10 },
      );
    });
  }

  addSequenceCases(cases, promises, run);
  return cases;
}
