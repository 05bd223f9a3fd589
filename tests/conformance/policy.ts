/**
 * What every policy has to keep to: the interface's rules, and whatever the policy itself promises.
 * Several cases are faults of earlier schedulers that shared a device among models; their names say
 * which. Whether the scheduler keeps its own side is tested with the engine.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { PolicyDefinition, RequestView } from "../../policies/policy.ts";
import { anyLoad, backloggedLoad, hostileLoad, urgentLoad } from "./policy_loads.ts";
import type { QueueLoad } from "./policy_queue.ts";
import {
  type Arrival,
  type Load,
  type Outcome,
  type ReadyQueue,
  type Served,
  simulate,
} from "./policy_simulation.ts";

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

  cases.set("ranks every request by a number, those of unknown length included", () => {
    const policy = definition.create({ random: () => 0.5 });
    const edges = fc.record({
      arrivedMicros: fc.nat(),
      deadlineMicros: fc.oneof(fc.nat(), fc.constant(Infinity)),
      priority: fc.integer({ min: 1, max: 2 ** 31 }),
      iterationsDone: fc.nat(),
      iterationsTotal: fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.constant(Infinity)),
      attainedMicros: fc.float({ min: 0, max: 1e9, noNaN: true }),
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
          const shares = sharesOf(run(load), 0, load.untilMicros);
          const weights = load.queues.reduce((sum, { weight }) => sum + (weight ?? 1), 0);
          for (const { model, weight = 1 } of load.queues) {
            const share = shares.get(model) ?? 0;
            const due = weight / weights;
            assert.ok(Math.abs(share - due) <= 0.05 * due, `${model}: ${share}, not ${due}`);
          }
        }),
        { numRuns: 25, seed: 7 },
      );
    });

    cases.set("gives a newcomer its share from the start and no more", () => {
      const queues = [
        { model: "old", micros: 500, backlog: 4 },
        { model: "new", micros: 50, backlog: 4, addedMicros: 10 * SECOND },
      ];
      const outcome = run({ queues, arrivals: [], untilMicros: 11 * SECOND });
      const share = sharesOf(outcome, 10 * SECOND, 10.1 * SECOND).get("new") ?? 0;
      assert.ok(Math.abs(share - 0.5) <= 0.025, `the newcomer got ${share}`);
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

  return cases;
}

/** The queue that was chosen has the smallest number of all that were ready. */
function assertLeast(ready: Served["ready"], model: string, of: keyof ReadyQueue): void {
  const numbers = Array.from(ready.values(), (queue) => queue[of]);
  assert.equal(ready.get(model)?.[of], Math.min(...numbers), `${of} of '${model}'`);
}

function assertWaits(
  longestWait: Outcome["longestWait"],
  model: string,
  boundMicros: number,
): void {
  const waited = longestWait.get(model) ?? Infinity;
  assert.ok(
    waited <= boundMicros,
    `'${model}' had work and waited ${waited} us, not ${boundMicros}`,
  );
}

/** Each queue's part of the device time of the iterations that started in a window. */
function sharesOf({ served }: Outcome, from: number, to: number): Map<string, number> {
  const times = new Map<string, number>();
  let all = 0;
  for (const { model, startMicros, micros } of served) {
    if (startMicros < from || startMicros >= to) continue;
    times.set(model, (times.get(model) ?? 0) + micros);
    all += micros;
  }
  for (const [model, micros] of times) times.set(model, micros / all);
  return times;
}
