import assert from "node:assert/strict";
import { contain } from "../../policies/contained.ts";
import type { Policy, PolicyDefinition, QueueView, Snapshot } from "../../policies/policy.ts";
import { roundRobin } from "../../policies/round_robin.ts";
import { simulate } from "../conformance/policy_simulation.ts";
import { queueView, requestView, snapshotOf } from "./views.ts";

const late = queueView("late", { oldestArrivalMicros: 20, rows: 4, bestRows: 4 });
const early = queueView("early", { oldestArrivalMicros: 10, rows: 2, bestRows: 2 });
const snapshot = snapshotOf([late, early], 30);
const request = requestView({ arrivedMicros: 5 });

/** A policy whose methods give what no type would allow, as a JavaScript file can. */
function misbehaving(parts: Record<string, () => unknown>): Policy {
  const next = () => ({ run: late, rows: 4, because: "mine" });
  return { next, ...parts } as unknown as Policy;
}

function contained(parts: Record<string, () => unknown>) {
  const faults: string[] = [];
  return { faults, policy: contain(misbehaving(parts), (message) => faults.push(message)) };
}

Deno.test("contain() passes on what a sound policy decides, ranks and hears", () => {
  const heard: string[] = [];
  const faults: string[] = [];
  const idle = { idleUntilMicros: 31, because: "later" };
  const run = { run: late, rows: 3, because: "mine" };
  let decision: ReturnType<Policy["next"]> = run;
  const policy = contain({
    rank: (request) => -request.arrivedMicros,
    observe: (event) => void heard.push(event.kind),
    next: () => decision,
  }, (message) => faults.push(message));
  policy.observe?.({ kind: "queue_added", queue: late });
  assert.equal(policy.next(snapshot), run);
  decision = idle;
  assert.equal(policy.next(snapshot), idle);
  assert.equal(policy.rank?.(request), -5);
  assert.deepEqual(heard, ["queue_added"]);
  assert.deepEqual(faults, []);
});

Deno.test("contain() lets no policy change the list that it is shown", () => {
  const changes: readonly ((ready: QueueView[]) => unknown)[] = [
    (ready) => ready.sort((a, b) => a.rows - b.rows),
    (ready) => ready.length = 0,
    (ready) => ready.push(queueView("invented")),
  ];
  for (const change of changes) {
    const faults: string[] = [];
    const next = ({ ready }: Snapshot) => {
      change(ready as QueueView[]);
      return { run: ready[ready.length - 1], rows: 1, because: "mine" };
    };
    const decision = contain({ next }, (fault) => faults.push(fault)).next(snapshot);
    assert.equal("run" in decision && decision.run, early);
    assert.equal(faults.length, 1);
    assert.deepEqual(snapshot.ready, [late, early]);
  }
});

Deno.test("contain() goes on with fifo after a policy has frozen the list that it is shown", () => {
  const faults: string[] = [];
  const next = ({ ready }: Snapshot) => ({
    run: Object.freeze(ready as QueueView[])[0],
    rows: 1,
    because: "mine",
  });
  const policy = contain({ next }, (fault) => faults.push(fault));
  const chosen = [late, early].map(() => {
    const decision = policy.next(snapshot);
    return "run" in decision && decision.run;
  });
  assert.deepEqual(chosen, [late, early]);
  assert.equal(faults.length, 1);
});

Deno.test("contain() has no rank when the policy has none, and that of fifo once it broke", () => {
  assert.equal(contained({}).policy.rank, undefined);
  const { policy } = contained({ next: () => undefined });
  policy.next(snapshot);
  assert.equal(policy.rank?.(request), 5);
});

Deno.test("contain() passes on ranks that order the requests oddly", () => {
  for (const odd of [-Infinity, Infinity, -0, 1e300]) {
    const { faults, policy } = contained({ rank: () => odd });
    assert.equal(policy.rank?.(request), odd);
    assert.deepEqual(faults, []);
  }
});

const BAD_NEXT: readonly [what: string, next: () => unknown, message: RegExp][] = [
  ["throws", () => {
    throw new Error("boom");
  }, /^next\(\) threw Error: boom$/],
  ["throws what cannot be shown", () => {
    throw Object.create(null);
  }, /cannot be shown/],
  ["returns nothing", () => undefined, /returned undefined/],
  ["runs undefined", () => ({ run: undefined, idleUntilMicros: 40, because: "-" }), /not ready/],
  ["returns a string", () => "late", /returned "late"/],
  ["returns an empty object", () => ({}), /neither a queue to run nor a finite time/],
  [
    "returns a promise",
    () => Promise.resolve({ run: late, rows: 1, because: "x" }),
    /returned a promise/,
  ],
  ["returns a promise that fails", () => Promise.reject(new Error("boom")), /returned a promise/],
  [
    "runs a queue that is not ready",
    () => ({ run: queueView("idle"), rows: 1, because: "x" }),
    /not ready/,
  ],
  ["runs null", () => ({ run: null, rows: 1, because: "x" }), /not ready/],
  ["runs no rows", () => ({ run: late, rows: 0, because: "x" }), /0 rows of 'late', which has 4/],
  ["runs too many rows", () => ({ run: late, rows: 5, because: "x" }), /5 rows of 'late'/],
  ["runs half a row", () => ({ run: late, rows: 1.5, because: "x" }), /1.5 rows/],
  ["runs NaN rows", () => ({ run: late, rows: NaN, because: "x" }), /NaN rows/],
  ["runs rows as text", () => ({ run: late, rows: "2", because: "x" }), /"2" rows/],
  ["idles until now", () => ({ idleUntilMicros: 30, because: "x" }), /finite time after now/],
  ["idles for ever", () => ({ idleUntilMicros: Infinity, because: "x" }), /finite time after now/],
  ["idles until NaN", () => ({ idleUntilMicros: NaN, because: "x" }), /finite time after now/],
  ["gives no reason", () => ({ run: late, rows: 1 }), /gave undefined as its reason/],
  ["gives a reason of two lines", () => ({ run: late, rows: 1, because: "a\r\nb: c" }), /reason/],
];

for (const [what, next, message] of BAD_NEXT) {
  Deno.test(`contain() reports once and lets fifo take over when next() ${what}`, () => {
    const { faults, policy } = contained({ next });
    for (let turn = 0; turn < 3; turn++) {
      const decision = policy.next(snapshot);
      assert.ok("run" in decision);
      assert.equal(decision.run, early);
      assert.equal(decision.rows, 2);
    }
    assert.equal(faults.length, 1);
    assert.match(faults[0], message);
  });
}

for (
  const [what, rank] of [
    ["throws", () => {
      throw new Error("boom");
    }],
    ["is NaN", () => NaN],
    ["is missing", () => undefined],
    ["is text", () => "5"],
    ["is a bigint", () => 5n],
    ["is a promise", () => Promise.reject(new Error("boom"))],
  ] as const
) {
  Deno.test(`contain() ranks by arrival from then on when a rank ${what}`, () => {
    const { faults, policy } = contained({ rank });
    assert.equal(policy.rank?.(request), 5);
    assert.equal(policy.rank?.({ ...request, arrivedMicros: 6 }), 6);
    assert.equal(faults.length, 1);
    assert.match(faults[0], /^rank\(\)/);
    const decision = policy.next(snapshot);
    assert.ok("run" in decision && decision.run === early);
  });
}

Deno.test("contain() loses no sequence whose rank goes wrong between two iterations", () => {
  for (const wrong of [NaN, Infinity, -Infinity]) {
    const definition: PolicyDefinition = {
      name: "wrong",
      promises: { noStarvation: false, workConserving: true },
      create: (env) => ({
        ...roundRobin.create(env),
        rank: ({ iterationsDone }) => iterationsDone < 3 ? -iterationsDone : wrong,
      }),
    };
    const { served, faults, unserved } = simulate(definition, {
      queues: [{ model: "a", micros: 100 }, { model: "b", micros: 100 }],
      arrivals: [
        { atMicros: 0, queue: 0, iterations: 10 },
        { atMicros: 50, queue: 0, iterations: 5 },
        { atMicros: 250, queue: 1, iterations: 5 },
      ],
      untilMicros: 0,
    });
    assert.equal(faults.length, Number.isNaN(wrong) ? 1 : 0);
    assert.equal(served.length, 20);
    assert.equal(unserved, 0);
  }
});

for (
  const [what, observe] of [
    ["throws", () => {
      throw new Error("boom");
    }],
    ["returns a promise", () => Promise.reject(new Error("boom"))],
  ] as const
) {
  Deno.test(`contain() lets fifo take over when observe() ${what}`, () => {
    const { faults, policy } = contained({ observe });
    policy.observe?.({ kind: "arrival", queue: late, nowMicros: 30 });
    policy.observe?.({ kind: "arrival", queue: late, nowMicros: 31 });
    assert.equal(faults.length, 1);
    assert.match(faults[0], /^observe\(\)/);
    const decision = policy.next(snapshot);
    assert.ok("run" in decision && decision.run === early);
  });
}
