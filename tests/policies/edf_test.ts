import assert from "node:assert/strict";
import fc from "fast-check";
import { DUE_MICROS, edf } from "../../policies/edf.ts";
import type { QueueView } from "../../policies/policy.ts";
import { simulate } from "../conformance/policy_simulation.ts";
import { queueView, requestView, snapshotOf } from "./views.ts";

function chosen(...ready: QueueView[]): string {
  const decision = edf.create({ random: () => 0 }).next(snapshotOf(ready));
  assert.ok("run" in decision);
  return `${decision.run.model}: ${decision.because}`;
}

Deno.test("edf runs the queue with the earliest deadline, whatever came first", () => {
  const none = queueView("none");
  const loose = queueView("loose", { earliestDeadlineMicros: 9_000 });
  const tight = queueView("tight", { earliestDeadlineMicros: 500, waitingSinceMicros: 400 });
  assert.equal(chosen(none, loose, tight), "tight: earliest deadline");
});

Deno.test("edf takes what has no deadline, or a later one, to be due after ten seconds of waiting", () => {
  const none = queueView("none", { waitingSinceMicros: 1 });
  const hour = queueView("hour", { earliestDeadlineMicros: 3_600_000_000 });
  const sooner = queueView("sooner", {
    waitingSinceMicros: DUE_MICROS - 10,
    earliestDeadlineMicros: DUE_MICROS - 1,
  });
  assert.equal(chosen(none, hour), "hour: earliest deadline");
  assert.equal(chosen(none, hour, sooner), "sooner: earliest deadline");
  sooner.earliestDeadlineMicros = DUE_MICROS + 1;
  assert.equal(chosen(none, hour, sooner), "hour: earliest deadline");
});

Deno.test("edf ranks requests by when they are due", () => {
  const rank = (waitingSinceMicros: number, deadlineMicros: number) =>
    edf.create({ random: () => 0 }).rank!(requestView({ waitingSinceMicros, deadlineMicros }));
  assert.equal(rank(5, 700), 700);
  assert.equal(rank(5, Infinity), 5 + DUE_MICROS);
  assert.equal(rank(5, 3 * DUE_MICROS), 5 + DUE_MICROS);
});

Deno.test("edf misses no deadline that some order meets, on one lane", () => {
  // Deadlines are those of a schedule that exists, in an order that is not that of arrival.
  const set = fc.array(
    fc.record({
      micros: fc.integer({ min: 1, max: 10_000 }),
      slack: fc.nat({ max: 2_000 }),
      place: fc.nat(),
    }),
    { minLength: 2, maxLength: 30, size: "max" },
  );
  fc.assert(
    fc.property(set, (requests) => {
      const blockedUntil = 100;
      let end = blockedUntil;
      const deadlines = new Map<number, number>();
      const order = requests.map(({ place }, index) => ({ place, index }))
        .sort((one, other) => one.place - other.place);
      for (const { index } of order) {
        end += requests[index].micros;
        deadlines.set(index, end + requests[index].slack);
      }
      const { served } = simulate(edf, {
        queues: [{ model: "blocks while the others arrive", micros: blockedUntil }].concat(
          requests.map(({ micros }, index) => ({ model: `model ${index}`, micros })),
        ),
        arrivals: [{ atMicros: 0, queue: 0 }].concat(
          requests.map((_, index) => ({
            atMicros: 1,
            queue: index + 1,
            deadlineMicros: deadlines.get(index),
          })),
        ),
        untilMicros: 0,
      });
      assert.equal(served.length, requests.length + 1);
      for (const { model, endMicros, requests: [{ deadlineMicros }] } of served) {
        assert.ok(endMicros <= deadlineMicros, `${model}: ${endMicros}, not ${deadlineMicros}`);
      }
    }),
    { numRuns: 200, seed: 22 },
  );
});
