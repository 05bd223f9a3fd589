import assert from "node:assert/strict";
import fc from "fast-check";
import { fifo } from "../../policies/fifo.ts";
import { PATIENCE_MICROS } from "../../policies/patience.ts";
import { DEFAULT_PRIORITY, type Policy, type QueueView } from "../../policies/policy.ts";
import { srtf } from "../../policies/srtf.ts";
import { simulate } from "../conformance/policy_simulation.ts";
import { queueView, snapshotOf } from "./views.ts";

function chosen(policy: Policy, ready: readonly QueueView[], nowMicros = 0): string {
  const decision = policy.next(snapshotOf(ready, nowMicros));
  assert.ok("run" in decision);
  return `${decision.run.model}: ${decision.because}`;
}

Deno.test("srtf runs the shortest iteration of the rows to be joined, the first come among equals", () => {
  const policy = srtf.create({ random: () => 0 });
  const perRow = (rows: number) => 100 * rows;
  const many = queueView("many", { bestRows: 8, rows: 9, iterationMicros: perRow });
  const late = queueView("late", { iterationMicros: perRow, oldestArrivalMicros: 2 });
  const early = queueView("early", { iterationMicros: perRow, oldestArrivalMicros: 1 });
  assert.equal(chosen(policy, [many, late, early]), "early: shortest");
});

Deno.test("srtf runs a queue first of which nothing is known yet", () => {
  const policy = srtf.create({ random: () => 0 });
  const unknown = queueView("unknown", { iterationMicros: () => 0, oldestArrivalMicros: 5 });
  assert.equal(chosen(policy, [queueView("known"), unknown]), "unknown: shortest");
});

Deno.test("srtf estimates a queue anew when it is chosen and when something happens to it", () => {
  let asked = 0;
  const count = () => (asked++, 100);
  const now = PATIENCE_MICROS + 1;
  const other = queueView("other", { oldestArrivalMicros: now, iterationMicros: () => 200 });
  const queue = queueView("queue", { oldestArrivalMicros: now, iterationMicros: count });
  const queues = [other, queue];
  const policy = srtf.create({ random: () => 0 });
  chosen(policy, queues, now);
  assert.equal(asked, 1);
  chosen(policy, queues, now); // it was chosen
  assert.equal(asked, 2);
  queue.oldestArrivalMicros = 0;
  assert.equal(chosen(policy, queues, now), "queue: waited too long");
  assert.equal(asked, 2);
  queue.oldestArrivalMicros = now;
  queue.iterationMicros = () => (asked++, 300);
  assert.equal(chosen(policy, queues, now), "other: shortest"); // it was chosen out of turn
  assert.equal(asked, 3);
  chosen(policy, queues, now);
  assert.equal(asked, 3);
  for (const kind of ["arrival", "cancel"] as const) {
    policy.observe?.({ kind, queue, nowMicros: now });
    chosen(policy, queues, now);
  }
  policy.observe?.({ kind: "charge", queue, nowMicros: now, rows: 1, micros: 100 });
  chosen(policy, queues, now);
  assert.equal(asked, 6);
});

Deno.test("srtf lets what has waited for a second run out of turn, every second time at most", () => {
  const policy = srtf.create({ random: () => 0 });
  const now = PATIENCE_MICROS + 1;
  const short = queueView("short", { oldestArrivalMicros: now, iterationMicros: () => 1 });
  const ready = [short, queueView("long")];
  assert.equal(chosen(policy, ready, now - 1), "short: shortest");
  assert.equal(chosen(policy, ready, now), "long: waited too long");
  assert.equal(chosen(policy, ready, now), "short: shortest");
});

Deno.test("srtf ranks by the iterations that remain, and takes an unknown length for twice what ran", () => {
  const rank = (iterationsDone: number, iterationsTotal: number) =>
    srtf.create({ random: () => 0 }).rank!({
      arrivedMicros: 1_000,
      deadlineMicros: Infinity,
      priority: DEFAULT_PRIORITY,
      iterationsDone,
      iterationsTotal,
      attainedMicros: 0,
    });
  assert.equal(rank(0, 1), 1);
  assert.equal(rank(480, 500), 20);
  assert.equal(rank(0, Infinity), rank(0, 1));
  assert.equal(rank(30, Infinity), 30);
});

Deno.test("srtf completes the k-th request no later than fifo, on one lane with known costs", () => {
  const load = fc.record({
    queues: fc.array(
      fc.integer({ min: 1, max: 10_000 }).map((micros) => ({ model: `${micros}`, micros })),
      { minLength: 2, maxLength: 5, size: "max" },
    ),
    arrivals: fc.array(
      fc.record({ atMicros: fc.nat({ max: 200_000 }), queue: fc.constant(0) }),
      { minLength: 2, maxLength: 60, size: "max" },
    ),
    untilMicros: fc.constant(0),
  }).map((load) => ({
    ...load,
    arrivals: load.arrivals.map(({ atMicros }, index) => ({
      atMicros,
      queue: index % load.queues.length,
    })),
  }));
  fc.assert(
    fc.property(load, (load) => {
      const ends = (definition: typeof srtf) =>
        simulate(definition, load).served.map(({ endMicros }) => endMicros);
      const first = ends(fifo);
      ends(srtf).forEach((end, k) => assert.ok(end <= first[k], `${k}: ${end}, not ${first[k]}`));
    }),
    { numRuns: 100, seed: 21 },
  );
});
