import assert from "node:assert/strict";
import fc from "fast-check";
import { lottery } from "../../policies/lottery.ts";
import type { Policy, QueueView } from "../../policies/policy.ts";
import { simulate } from "../conformance/policy_simulation.ts";
import { queueView, snapshotOf } from "./views.ts";

function drawn(policy: Policy, ...ready: QueueView[]): string {
  const decision = policy.next(snapshotOf(ready));
  assert.ok("run" in decision);
  return decision.run.model;
}

Deno.test("lottery draws by weight", () => {
  const ready = [queueView("one"), queueView("three", { weight: 3 })];
  const draw = (random: number) => drawn(lottery.create({ random: () => random }), ...ready);
  assert.deepEqual([0, 0.24, 0.26, 0.99].map(draw), ["one", "one", "three", "three"]);
});

Deno.test("lottery makes up for what the last iteration was charged, and before it for the expected", () => {
  let random = 0;
  const policy = lottery.create({ random: () => random });
  const short = queueView("short", { iterationMicros: () => 100 });
  const long = queueView("long", { iterationMicros: () => 900 });
  const drawAt = (at: number) => {
    random = at;
    return drawn(policy, short, long);
  };
  assert.deepEqual([0.89, 0.91].map(drawAt), ["short", "long"]);
  policy.observe?.({ kind: "charge", queue: short, nowMicros: 0, rows: 1, micros: 300 });
  assert.deepEqual([0.74, 0.76].map(drawAt), ["short", "long"]);
  policy.observe?.({ kind: "queue_removed", queue: short });
  assert.deepEqual([0.89, 0.91].map(drawAt), ["short", "long"]);
});

Deno.test("lottery takes no iteration for free", () => {
  const policy = lottery.create({ random: () => 0.75 });
  const [free, other] = [queueView("free"), queueView("other", { iterationMicros: () => 2 })];
  policy.observe?.({ kind: "charge", queue: free, nowMicros: 0, rows: 1, micros: 0 });
  assert.equal(drawn(policy, free, other), "other");
});

Deno.test("lottery's shares of device time approach the weights, whatever an iteration costs", () => {
  const backlogged = fc.record({
    weight: fc.integer({ min: 1, max: 4 }),
    micros: fc.integer({ min: 50, max: 500 }),
    microsPerRow: fc.nat({ max: 50 }),
    maxRows: fc.integer({ min: 1, max: 4 }),
    estimate: fc.constantFrom(0.5, 1, 2),
  });
  const untilMicros = 4_000_000;
  fc.assert(
    fc.property(fc.array(backlogged, { minLength: 2, maxLength: 4, size: "max" }), (mix) => {
      const queues = mix.map((queue, index) => ({ ...queue, model: `${index}`, backlog: 4 }));
      const { served } = simulate(lottery, { queues, arrivals: [], untilMicros });
      const weights = mix.reduce((sum, { weight }) => sum + weight, 0);
      mix.forEach(({ weight }, index) => {
        const own = served.filter(({ model }) => model === `${index}`);
        const share = own.reduce((sum, { micros }) => sum + micros, 0) / untilMicros;
        const due = weight / weights;
        // Four standard deviations of that many draws.
        const tolerance = 4 * due / Math.sqrt(own.length);
        assert.ok(Math.abs(share - due) <= tolerance, `${index}: ${share}, not ${due}`);
      });
    }),
    { numRuns: 8, seed: 24 },
  );
});
