import assert from "node:assert/strict";
import fc from "fast-check";
import { HALVING_MICROS, las2d, LEVEL_MICROS, THRESHOLDS_MICROS } from "../../policies/las_2d.ts";
import { PATIENCE_MICROS } from "../../policies/patience.ts";
import type { Policy, QueueView } from "../../policies/policy.ts";
import { type Arrival, simulate } from "../conformance/policy_simulation.ts";
import { queueView, requestView, snapshotOf } from "./views.ts";

function chosen(policy: Policy, ready: readonly QueueView[], nowMicros = 0): string {
  const decision = policy.next(snapshotOf(ready, nowMicros));
  assert.ok("run" in decision);
  return `${decision.run.model}: ${decision.because}`;
}

/** A policy that knows two queues, of which `first` came first. */
function withTwo() {
  const policy = las2d.create({ random: () => 0 });
  const first = queueView("first", { waitingSinceMicros: 0 });
  const second = queueView("second", { waitingSinceMicros: 1 });
  for (const queue of [first, second]) policy.observe?.({ kind: "queue_added", queue });
  const charge = (queue: QueueView, micros: number) =>
    policy.observe?.({ kind: "charge", queue, nowMicros: 0, rows: 1, micros });
  return { policy, first, second, ready: [second, first], charge };
}

Deno.test("las2d goes by waiting inside a level, and by level at each threshold", () => {
  for (const threshold of THRESHOLDS_MICROS) {
    const { policy, first, second, ready, charge } = withTwo();
    charge(second, threshold / 2);
    charge(first, threshold - 1);
    if (threshold === THRESHOLDS_MICROS[0]) {
      assert.equal(chosen(policy, ready), "first: least attained service");
    }
    charge(first, 1);
    assert.equal(chosen(policy, ready), "second: least attained service");
  }
});

Deno.test("las2d counts half of what was attained for each second that has passed", () => {
  const { policy, first, ready, charge } = withTwo();
  charge(first, 4 * THRESHOLDS_MICROS[0] - 1);
  for (const queue of ready) queue.lastServedMicros = 2 * HALVING_MICROS;
  assert.equal(chosen(policy, ready, 2 * HALVING_MICROS - 1), "second: least attained service");
  assert.equal(chosen(policy, ready, 2 * HALVING_MICROS), "first: least attained service");
});

Deno.test("las2d takes a queue that it was not told of as one that attained nothing", () => {
  const { policy, first, charge } = withTwo();
  charge(first, THRESHOLDS_MICROS[0]);
  const unheard = queueView("unheard", { waitingSinceMicros: 5 });
  assert.equal(chosen(policy, [first, unheard]), "unheard: least attained service");
});

Deno.test("las2d promotes a queue that has waited for a second", () => {
  const { policy, first, ready, charge } = withTwo();
  charge(first, 8 * THRESHOLDS_MICROS[2]);
  ready[0].waitingSinceMicros = PATIENCE_MICROS;
  assert.equal(chosen(policy, ready, PATIENCE_MICROS), "second: least attained service");
  assert.equal(chosen(policy, ready, PATIENCE_MICROS + 1), "first: promoted: waited too long");
});

Deno.test("las2d ranks by what a request attained, then by its tenant, then by its wait", () => {
  const { rank } = las2d.create({ random: () => 0 });
  const levels = [0, ...THRESHOLDS_MICROS];
  const ranks = levels.flatMap((attainedMicros) =>
    levels.map((tenantMicros) => rank!(requestView({ attainedMicros, tenantMicros })))
  );
  ranks.forEach((each, level) => assert.equal(each, level * LEVEL_MICROS));
  const waits = (waitingSinceMicros: number, attainedMicros: number) =>
    rank!(requestView({ waitingSinceMicros, attainedMicros }));
  assert.ok(waits(1, THRESHOLDS_MICROS[0] - 1) < waits(2, 0), "alike inside a level");
  const promoted = levels.length * LEVEL_MICROS;
  assert.ok(waits(0, THRESHOLDS_MICROS[0]) > waits(promoted - 1, 0), "not promoted yet");
  assert.ok(waits(0, THRESHOLDS_MICROS[0]) < waits(promoted + 1, 0), "promoted");
});

Deno.test("las2d lets no request of many iterations hold up a short one of its model, nor starve", () => {
  const micros = 1_000;
  const arrivals: Arrival[] = [{ atMicros: 0, queue: 0, iterations: 100, declared: false }];
  // Short ones take all that there is.
  for (let atMicros = 1; atMicros < 3_000_000; atMicros += micros) {
    arrivals.push({ atMicros, queue: 0 });
  }
  const { served } = simulate(las2d, {
    queues: [{ model: "m", micros }],
    arrivals,
    untilMicros: 0,
  });
  const long = served.filter(({ requests: [{ iterations }] }) => iterations === 100);
  const starts = long.map(({ startMicros }) => startMicros).filter((start) => start < 3_000_000);
  const unlevelled = THRESHOLDS_MICROS[0] / micros;
  const promotions = 2;
  assert.equal(starts.length, unlevelled + promotions);
  for (let index = unlevelled; index < starts.length; index++) {
    const waited = starts[index] - (starts[index - 1] + micros);
    assert.ok(waited >= (THRESHOLDS_MICROS.length + 1) * LEVEL_MICROS, `promoted after ${waited}`);
  }
  for (const { startMicros, requests: [{ arrivedMicros, iterations }] } of served) {
    if (iterations === 1) {
      assert.ok(startMicros - arrivedMicros <= (unlevelled + promotions) * micros);
    }
  }
});

Deno.test("las2d lets an occasional tenant pass a busy one in the queue they share", () => {
  const micros = 10_000;
  const arrivals: Arrival[] = [];
  for (let i = 0; i < 500; i++) arrivals.push({ atMicros: i * micros, queue: 0, tenant: "busy" });
  for (let i = 0; i < 20; i++) arrivals.push({ atMicros: 0, queue: 0, tenant: "busy" });
  for (let i = 1; i < 5; i++) {
    arrivals.push({ atMicros: i * HALVING_MICROS + 1, queue: 0, tenant: "occasional" });
  }
  const { served } = simulate(las2d, {
    queues: [{ model: "m", micros }],
    arrivals,
    untilMicros: 0,
  });
  for (const { startMicros, requests: [{ arrivedMicros, tenant }] } of served) {
    if (tenant === "occasional") assert.ok(startMicros - arrivedMicros <= micros);
  }
});

Deno.test("las2d starves no queue, whatever newcomers and lesser ones do", () => {
  const load = fc.record({
    busyMicros: fc.integer({ min: 100, max: 10_000 }),
    others: fc.array(
      fc.record({
        micros: fc.integer({ min: 100, max: 10_000 }),
        addedMicros: fc.nat({ max: 3_000_000 }),
        backlog: fc.integer({ min: 1, max: 4 }),
      }),
      { minLength: 1, maxLength: 12, size: "max" },
    ),
    lanes: fc.integer({ min: 1, max: 2 }),
  });
  fc.assert(
    fc.property(load, ({ busyMicros, others, lanes }) => {
      const queues = [
        { model: "busy", micros: busyMicros, backlog: 8 },
        ...others.map((other, index) => ({ ...other, model: `other ${index}` })),
      ];
      const { longestWait } = simulate(las2d, {
        queues,
        arrivals: [],
        lanes,
        untilMicros: 5_000_000,
      });
      const bound = PATIENCE_MICROS + (2 * queues.length + 1) * 10_000;
      assert.equal(longestWait.size, queues.length);
      for (const [model, waited] of longestWait) assert.ok(waited <= bound, `${model}: ${waited}`);
    }),
    { numRuns: 8, seed: 23 },
  );
});
