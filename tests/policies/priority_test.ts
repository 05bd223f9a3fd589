import assert from "node:assert/strict";
import { DEFAULT_PRIORITY, type Policy, type QueueView } from "../../policies/policy.ts";
import { PATIENCE_MICROS } from "../../policies/patience.ts";
import { LEVEL_MICROS, priority } from "../../policies/priority.ts";
import { simulate } from "../conformance/policy_simulation.ts";
import { queueView, requestView, snapshotOf } from "./views.ts";

function chosen(policy: Policy, ready: readonly QueueView[], nowMicros = 0): string {
  const decision = policy.next(snapshotOf(ready, nowMicros));
  assert.ok("run" in decision);
  return `${decision.run.model}: ${decision.because}`;
}

Deno.test("priority runs the most urgent queue, and among equals what has waited longest", () => {
  const policy = priority.create({ random: () => 0 });
  const usual = queueView("usual", { topPriority: 100, waitingSinceMicros: 1 });
  const late = queueView("late", { topPriority: 2, waitingSinceMicros: 3 });
  const early = queueView("early", { topPriority: 2, waitingSinceMicros: 2 });
  assert.equal(chosen(policy, [usual, late, early], 10), "early: most urgent");
});

Deno.test("priority takes one impatient queue out of turn, at most every second time", () => {
  const policy = priority.create({ random: () => 0 });
  const now = 3 * PATIENCE_MICROS;
  const urgent = queueView("urgent", { topPriority: 1, waitingSinceMicros: now });
  const longest = queueView("longest", { waitingSinceMicros: 1 });
  const long = queueView("long", { waitingSinceMicros: 2 });
  const ready = [urgent, long, longest];
  assert.equal(chosen(policy, ready, now), "longest: waited too long");
  longest.lastServedMicros = now;
  assert.equal(chosen(policy, ready, now), "urgent: most urgent");
  assert.equal(chosen(policy, ready, now), "long: waited too long");
  long.lastServedMicros = now;
  assert.equal(chosen(policy, ready, now), "urgent: most urgent");
  assert.equal(chosen(policy, ready, now), "urgent: most urgent");
});

Deno.test("priority waits for its whole patience", () => {
  const policy = priority.create({ random: () => 0 });
  const urgent = queueView("urgent", { topPriority: 1 });
  const other = queueView("other");
  const queues = [urgent, other];
  urgent.waitingSinceMicros = PATIENCE_MICROS;
  assert.equal(chosen(policy, queues, PATIENCE_MICROS), "urgent: most urgent");
  assert.equal(chosen(policy, queues, PATIENCE_MICROS + 1), "other: waited too long");
});

Deno.test("priority keeps to its bound, and the urgent keep half, when all are overloaded", () => {
  const micros = 50_000;
  const usual = Array.from({ length: 40 }, (_, index) => ({
    model: `usual ${index}`,
    micros,
    backlog: 4,
  }));
  const queues = [{ model: "urgent", micros, backlog: 4, priority: 1 }, ...usual];
  const { longestWait, served } = simulate(priority, {
    queues,
    arrivals: [],
    untilMicros: 20 * PATIENCE_MICROS,
  });
  const bound = PATIENCE_MICROS + 2 * queues.length * micros;
  for (const [model, waited] of longestWait) assert.ok(waited <= bound, `${model}: ${waited}`);
  const meantime = served.filter(({ startMicros }) => startMicros < 20 * PATIENCE_MICROS);
  const urgent = meantime.filter(({ model }) => model === "urgent").length;
  assert.ok(urgent >= meantime.length / 2);
});

Deno.test("priority ranks a level of priority as so much waiting inside a queue", () => {
  const rank = (priorityLevel: number, waitingSinceMicros: number) =>
    priority.create({ random: () => 0 }).rank!(
      requestView({ priority: priorityLevel, waitingSinceMicros }),
    );
  assert.ok(rank(1, 50) < rank(2, 0));
  assert.ok(rank(1, LEVEL_MICROS + 1) > rank(2, 0));
  assert.ok(rank(DEFAULT_PRIORITY, 0) < rank(DEFAULT_PRIORITY, 1));
});
