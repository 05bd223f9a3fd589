import assert from "node:assert/strict";
import { roundRobin } from "../../policies/round_robin.ts";
import type { Policy, QueueView } from "../../policies/policy.ts";
import { queueView, snapshotOf } from "./views.ts";

function turns(policy: Policy, ready: readonly QueueView[], count: number): string[] {
  return Array.from({ length: count }, () => {
    const decision = policy.next(snapshotOf(ready));
    assert.ok("run" in decision);
    return decision.run.model;
  });
}

Deno.test("roundRobin gives every queue one iteration in turn", () => {
  const policy = roundRobin.create({ random: () => 0 });
  const queues = ["a", "b", "c"].map((model) => queueView(model));
  for (const queue of queues) policy.observe?.({ kind: "queue_added", queue });
  assert.deepEqual(turns(policy, queues, 7), ["a", "b", "c", "a", "b", "c", "a"]);
});

Deno.test("roundRobin lets a queue that had no work take its turn next, and once", () => {
  const policy = roundRobin.create({ random: () => 0 });
  const [a, b, c] = ["a", "b", "c"].map((model) => queueView(model));
  turns(policy, [a, b, c], 3);
  turns(policy, [a, c], 4);
  assert.deepEqual(turns(policy, [a, b, c], 4), ["b", "a", "c", "b"]);
});

Deno.test("roundRobin puts a newcomer at the end of the round", () => {
  const policy = roundRobin.create({ random: () => 0 });
  const [a, b, c] = ["a", "b", "c"].map((model) => queueView(model));
  turns(policy, [a, b], 3);
  policy.observe?.({ kind: "queue_added", queue: c });
  assert.deepEqual(turns(policy, [a, b, c], 4), ["b", "a", "c", "b"]);
});
