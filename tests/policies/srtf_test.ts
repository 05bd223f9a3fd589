import assert from "node:assert/strict";
import fc from "fast-check";
import { fifo } from "../../policies/fifo.ts";
import { PATIENCE_MICROS } from "../../policies/patience.ts";
import type { Policy, QueueView } from "../../policies/policy.ts";
import { srtf } from "../../policies/srtf.ts";
import { simulate } from "../conformance/policy_simulation.ts";
import { queueView, requestView, snapshotOf } from "./views.ts";

function chosen(policy: Policy, ready: readonly QueueView[], nowMicros = 0): string {
  const decision = policy.next(snapshotOf(ready, nowMicros));
  assert.ok("run" in decision);
  return `${decision.run.model}: ${decision.because}`;
}

Deno.test("srtf runs the shortest iteration of the rows to be joined, the longest waiting among equals", () => {
  const policy = srtf.create({ random: () => 0 });
  const perRow = (rows: number) => 100 * rows;
  const many = queueView("many", { bestRows: 8, rows: 9, iterationMicros: perRow });
  const late = queueView("late", { iterationMicros: perRow, waitingSinceMicros: 2 });
  const early = queueView("early", { iterationMicros: perRow, waitingSinceMicros: 1 });
  assert.equal(chosen(policy, [many, late, early]), "early: least work to go");
});

Deno.test("srtf runs a queue first of which nothing is known yet", () => {
  const policy = srtf.create({ random: () => 0 });
  const unknown = queueView("unknown", { iterationMicros: () => 0, waitingSinceMicros: 5 });
  assert.equal(chosen(policy, [queueView("known"), unknown]), "unknown: least work to go");
});

Deno.test("srtf estimates a queue anew when it is chosen and when something happens to it", () => {
  let asked = 0;
  const count = () => (asked++, 100);
  const now = PATIENCE_MICROS + 1;
  const other = queueView("other", { waitingSinceMicros: now, iterationMicros: () => 200 });
  const queue = queueView("queue", { waitingSinceMicros: now, iterationMicros: count });
  const queues = [other, queue];
  const policy = srtf.create({ random: () => 0 });
  chosen(policy, queues, now);
  assert.equal(asked, 1);
  chosen(policy, queues, now); // it was chosen
  assert.equal(asked, 2);
  queue.waitingSinceMicros = 0;
  assert.equal(chosen(policy, queues, now), "queue: waited too long");
  assert.equal(asked, 2);
  queue.waitingSinceMicros = now;
  queue.iterationMicros = () => (asked++, 300);
  assert.equal(chosen(policy, queues, now), "other: least work to go"); // it was chosen out of turn
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
  const short = queueView("short", { waitingSinceMicros: now, iterationMicros: () => 1 });
  const ready = [short, queueView("long")];
  assert.equal(chosen(policy, ready, now - 1), "short: least work to go");
  assert.equal(chosen(policy, ready, now), "long: waited too long");
  assert.equal(chosen(policy, ready, now), "short: least work to go");
});

Deno.test("srtf runs the least work to go: iterations that remain, times what one takes", () => {
  const policy = srtf.create({ random: () => 0 });
  const job = queueView("job", { iterationsLeft: 1_000, iterationMicros: () => 10 });
  const plain = queueView("plain", { iterationMicros: () => 9_000 });
  assert.equal(chosen(policy, [job, plain]), "plain: least work to go");
  job.iterationsLeft = 800;
  policy.observe?.({ kind: "arrival", queue: job, nowMicros: 0 });
  assert.equal(chosen(policy, [job, plain]), "job: least work to go");
});

Deno.test("srtf ranks by the iterations that remain", () => {
  const { rank } = srtf.create({ random: () => 0 });
  assert.equal(rank!(requestView({ iterationsDone: 2, iterationsTotal: 9 })), 7);
  assert.equal(rank!(requestView()), 1);
});

Deno.test("srtf completes the k-th request no later than fifo, on one lane with all known", () => {
  const load = fc.record({
    queues: fc.array(
      fc.integer({ min: 1, max: 10_000 }).map((micros) => ({ model: `${micros}`, micros })),
      { minLength: 2, maxLength: 5, size: "max" },
    ),
    arrivals: fc.array(
      fc.record({
        atMicros: fc.nat({ max: 200_000 }),
        iterations: fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 5 })),
      }),
      { minLength: 2, maxLength: 40, size: "max" },
    ),
    untilMicros: fc.constant(0),
  }).map((load) => ({
    ...load,
    arrivals: load.arrivals.map((arrival, index) => ({
      ...arrival,
      queue: index % load.queues.length,
    })),
  }));
  fc.assert(
    fc.property(load, (load) => {
      const ends = (definition: typeof srtf) =>
        simulate(definition, load).served
          .filter(({ requests: [{ iterationsDone, iterations }] }) =>
            iterationsDone + 1 === iterations
          )
          .map(({ endMicros }) => endMicros);
      const first = ends(fifo);
      ends(srtf).forEach((end, k) => assert.ok(end <= first[k], `${k}: ${end}, not ${first[k]}`));
    }),
    { numRuns: 100, seed: 21 },
  );
});
