/**
 * The suite finds what it is there to find: faults of earlier schedulers, and breaches of the
 * interface, each written as a policy and held against the case that must fail.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Policy, PolicyDefinition, PolicyPromises, QueueView } from "../../policies/policy.ts";
import { conformanceCases } from "./policy.ts";

// That a load fails is enough here; the smallest that does need not be found.
fc.configureGlobal({ endOnFailure: true });

const ALL: PolicyPromises = {
  noStarvation: true,
  workConserving: true,
  takesTurns: true,
  proportionalShare: true,
  strictPriority: true,
  shortestFirst: true,
  deadlineOrder: true,
};

function policy(create: PolicyDefinition["create"]): PolicyDefinition {
  return { name: "faulty", promises: ALL, create };
}

/** Picks by the smallest number, the first of equals. */
function smallest(of: (queue: QueueView) => number, queues: readonly QueueView[]): QueueView {
  return queues.reduce((best, queue) => of(queue) < of(best) ? queue : best);
}

function runs(choose: (ready: readonly QueueView[]) => QueueView): Policy {
  return {
    next({ ready }) {
      const run = choose(ready);
      return { run, rows: run.bestRows, because: "by a faulty rule" };
    },
  };
}

/** Least service first, counted in steps of so many microseconds, from `start` on. */
function leastServed(stepMicros: number): Policy {
  const served = new Map<QueueView, number>();
  return {
    ...runs((ready) => smallest((queue) => served.get(queue) ?? 0, ready)),
    observe(event) {
      if (event.kind !== "charge") return;
      const micros = Math.floor(event.micros / stepMicros) * stepMicros;
      served.set(event.queue, (served.get(event.queue) ?? 0) + micros);
    },
  };
}

const FAULTS: readonly [what: string, definition: PolicyDefinition, fails: string][] = [
  [
    "service counted in whole milliseconds",
    policy(() => leastServed(1_000)),
    "does not take iterations under a millisecond for free",
  ],
  [
    "a newcomer that starts with no service behind it",
    policy(() => leastServed(1)),
    "does not let a newcomer monopolise the lane",
  ],
  [
    "a newcomer that starts with no service behind it, against its share",
    policy(() => leastServed(1)),
    "gives a newcomer its share from the start and no more",
  ],
  [
    "credit for time without work",
    policy(() => leastServed(1)),
    "lets no queue save up the time in which it had no work",
  ],
  [
    "a choice among all queues, those without work included",
    policy(() => {
      const all: QueueView[] = [];
      return {
        ...runs(() => all[0]),
        observe: (event) => void (event.kind === "queue_added" && all.push(event.queue)),
      };
    }),
    "never chooses a queue without work, nor idles the lane for one",
  ],
  [
    "the most served first, where nothing is known of what remains",
    policy(() => runs((ready) => smallest((queue) => -queue.servedMicros, ready))),
    "serves every queue in bounded time, whatever the others do",
  ],
  [
    "a rank that is no number for some requests",
    policy(() => ({
      ...runs((ready) => ready[0]),
      rank: ({ tenantMicros, deadlineMicros }) => tenantMicros * deadlineMicros,
    })),
    "ranks every request by a number, whatever its figures",
  ],
  [
    "chance of its own",
    policy(() => runs((ready) => ready[Math.floor(Math.random() * ready.length)])),
    "decides the same when the same happens again",
  ],
  [
    "state that outlives the policy",
    (() => {
      let turn = 0;
      return policy(() => runs((ready) => ready[turn++ % ready.length]));
    })(),
    "decides the same when the same happens again",
  ],
  [
    "more rows than there are",
    policy(() => ({ next: ({ ready }) => ({ run: ready[0], rows: 9, because: "all" }) })),
    "runs only what is ready, within its rows, and all of it in the end",
  ],
  [
    "sorting what it is shown",
    policy(() => runs((ready) => (ready as QueueView[]).sort((a, b) => a.rows - b.rows)[0])),
    "runs only what is ready, within its rows, and all of it in the end",
  ],
  [
    "idling for ever",
    policy(() => ({ next: ({ nowMicros }) => ({ idleUntilMicros: nowMicros + 1, because: "-" }) })),
    "runs only what is ready, within its rows, and all of it in the end",
  ],
  [
    "waiting a little before every iteration",
    policy(() => {
      let waited = false;
      return {
        next({ ready, nowMicros }) {
          waited = !waited;
          return waited
            ? { idleUntilMicros: nowMicros + 10, because: "to gather a batch" }
            : { run: ready[0], rows: ready[0].bestRows, because: "gathered" };
        },
      };
    }),
    "never idles while something is ready",
  ],
  [
    "the first queue always",
    policy(() => runs((ready) => ready[0])),
    "serves every queue in bounded time, whatever the others do",
  ],
  [
    "the newest queue always",
    policy(() => runs((ready) => ready[ready.length - 1])),
    "does not starve the old while newcomers keep coming",
  ],
  [
    "equal numbers of iterations taken for equal shares",
    policy(() => runs((ready) => smallest((queue) => queue.lastServedMicros, ready))),
    "shares device time by weight, whatever an iteration costs",
  ],
  [
    "priorities ignored",
    policy(() => runs((ready) => smallest((queue) => queue.oldestArrivalMicros, ready))),
    "runs the most urgent first until another has waited for a second",
  ],
  [
    "the work of a whole queue taken for that of its next iteration",
    policy(() => runs((ready) => smallest((queue) => queue.remainingMicros, ready))),
    "runs the shortest first until another has waited for a second",
  ],
  [
    "short requests behind a long one that came before",
    policy(() => ({
      ...runs((ready) => ready[0]),
      rank: ({ arrivedMicros }) => arrivedMicros,
    })),
    "lets no short request wait behind a long one of its own model",
  ],
  [
    "the most served first inside a queue",
    policy(() => ({
      ...runs((ready) => ready[0]),
      rank: ({ iterationsDone }) => -iterationsDone,
    })),
    "lets no short request wait behind a long one of its own model",
  ],
  [
    "short iterations taken for short requests",
    policy(() => runs((ready) => smallest((queue) => queue.iterationMicros(1), ready))),
    "lets no plain request wait behind a job of shorter iterations",
  ],
  [
    "requests that run to their end, in all queues",
    policy(() => ({
      ...runs((ready) => smallest((queue) => queue.oldestArrivalMicros, ready)),
      rank: ({ arrivedMicros }) => arrivedMicros,
    })),
    "lets no request of many iterations hold up others, in its queue or beside it",
  ],
  [
    "requests that run to their end, inside a queue",
    policy(() => ({
      ...runs((ready) => smallest((queue) => queue.lastServedMicros, ready)),
      rank: ({ arrivedMicros }) => arrivedMicros,
    })),
    "lets no request of many iterations hold up others, in its queue or beside it",
  ],
  [
    "a sequence that is taken for a newcomer after every iteration",
    policy(() => {
      const served = new Map<QueueView, number>();
      return {
        ...runs((ready) => smallest((queue) => served.get(queue) ?? 0, ready)),
        observe(event) {
          const { queue } = event;
          if (event.kind === "arrival" && queue.waitingSinceMicros >= event.nowMicros) {
            served.set(queue, Math.max(0, ...served.values()));
          }
          if (event.kind !== "charge") return;
          served.set(queue, (served.get(queue) ?? 0) + event.micros / queue.weight);
        },
      };
    }),
    "shares device time by weight between one sequence and plain requests",
  ],
  [
    "deadlines ignored",
    policy(() => runs((ready) => smallest((queue) => queue.oldestArrivalMicros, ready))),
    "runs the earliest deadline first",
  ],
  [
    "deadlines of queues that run their first come first",
    policy(() => runs((ready) => smallest((queue) => queue.earliestDeadlineMicros, ready))),
    "runs the earliest deadline first",
  ],
  [
    "a policy that cannot do without having seen every queue come",
    policy(() => {
      const turns = new Map<QueueView, { last: number }>();
      let turn = 0;
      return {
        ...runs((ready) => {
          const chosen = smallest((queue) => turns.get(queue)!.last, ready);
          turns.get(chosen)!.last = ++turn;
          return chosen;
        }),
        observe(event) {
          if (event.kind === "arrival") turns.set(event.queue, { last: turn });
        },
      };
    }),
    "copes with being switched to under load",
  ],
];

for (const [what, definition, fails] of FAULTS) {
  Deno.test(`policyConformance() finds ${what}`, () => {
    const check = conformanceCases(definition).get(fails);
    assert.ok(check, `there is a case "${fails}"`);
    assert.throws(check);
  });
}
