/** Loads to put on a policy, drawn by chance from a seed. */
import fc from "fast-check";
import { DEFAULT_PRIORITY } from "../../policies/policy.ts";
import type { QueueLoad } from "./policy_queue.ts";
import type { Load } from "./policy_simulation.ts";

const SECOND = 1_000_000;

const named = (queues: Omit<QueueLoad, "model">[]): QueueLoad[] =>
  queues.map((queue, index) => ({ ...queue, model: `model ${index}` }));

function withKnownQueues(load: Load): Load {
  const arrivals = load.arrivals.map((arrival) => ({
    ...arrival,
    queue: arrival.queue % load.queues.length,
  }));
  return { ...load, arrivals };
}

const machine = { lanes: fc.integer({ min: 1, max: 3 }), depth: fc.integer({ min: 1, max: 2 }) };

const priorityLevel = fc.oneof(fc.constant(DEFAULT_PRIORITY), fc.integer({ min: 1, max: 100 }));

/** Anything that can happen: bursts, clients that leave, models that come and go. */
export const anyLoad: fc.Arbitrary<Load> = fc.record({
  queues: fc.array(
    fc.record({
      weight: fc.double({ min: 0.1, max: 10, noNaN: true }),
      micros: fc.integer({ min: 1, max: 5_000 }),
      microsPerRow: fc.nat({ max: 500 }),
      estimate: fc.double({ min: 0.3, max: 3, noNaN: true }),
      maxRows: fc.integer({ min: 1, max: 8 }),
      addedMicros: fc.oneof(fc.constant(0), fc.nat({ max: 50_000 })),
      removedMicros: fc.option(fc.integer({ min: 60_000, max: 90_000 }), { nil: undefined }),
    }),
    { minLength: 2, maxLength: 5, size: "max" },
  ).map(named),
  arrivals: fc.array(
    fc.record({
      atMicros: fc.nat({ max: 40_000 }),
      queue: fc.nat({ max: 4 }),
      priority: priorityLevel,
      deadlineMicros: fc.option(fc.nat({ max: 200_000 }), { nil: undefined }),
      leavesMicros: fc.option(fc.nat({ max: 120_000 }), { nil: undefined }),
      iterations: fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 5 })),
      declared: fc.boolean(),
      prefill: fc.boolean(),
      tenant: fc.constantFrom("", "one", "another"),
    }),
    { minLength: 1, maxLength: 60, size: "max" },
  ),
  ...machine,
  untilMicros: fc.constant(0),
}).map(withKnownQueues);

const LONGEST = 10_000;
const BACKLOG = 16;

/** Queues that always have more work, of every cost and urgency, and one that sometimes has some. */
export const hostileLoad: fc.Arbitrary<{ load: Load; boundMicros: number }> = fc.record({
  hostile: fc.array(
    fc.record({
      weight: fc.double({ min: 1, max: 10, noNaN: true }),
      micros: fc.integer({ min: 50, max: LONGEST }),
      estimate: fc.double({ min: 0.5, max: 2, noNaN: true }),
      backlog: fc.integer({ min: 1, max: BACKLOG }),
      priority: priorityLevel,
    }),
    { minLength: 1, maxLength: 6, size: "max" },
  ),
  victim: fc.record({
    weight: fc.double({ min: 1, max: 10, noNaN: true }),
    micros: fc.integer({ min: 50, max: LONGEST }),
  }),
  arrivals: fc.array(
    fc.record({ atMicros: fc.nat({ max: SECOND }), priority: priorityLevel }),
    { minLength: 1, maxLength: 10, size: "max" },
  ),
  ...machine,
}).map(({ hostile, victim, arrivals, lanes, depth }) => ({
  // A second of patience, and the time to run all that can wait at once.
  boundMicros: SECOND + (hostile.length + 1) * BACKLOG * LONGEST,
  load: {
    queues: named([victim, ...hostile]),
    arrivals: arrivals.map((arrival) => ({ ...arrival, queue: 0 })),
    lanes,
    depth,
    untilMicros: 4 * SECOND,
  },
}));

/** Queues that always have work, whose costs spread tenfold. */
export const backloggedLoad: fc.Arbitrary<Load> = fc.record({
  queues: fc.array(
    fc.record({
      weight: fc.double({ min: 0.5, max: 4, noNaN: true }),
      micros: fc.integer({ min: 50, max: 500 }),
      estimate: fc.double({ min: 0.5, max: 2, noNaN: true }),
      backlog: fc.constant(4),
      iterations: fc.constantFrom(1, 1, 5, 100),
    }),
    { minLength: 2, maxLength: 5, size: "max" },
  ).map(named),
  arrivals: fc.constant([]),
  ...machine,
  untilMicros: fc.constant(SECOND),
});

/** Short loads of requests of every length and urgency. */
export const urgentLoad: fc.Arbitrary<Load> = fc.record({
  queues: fc.array(fc.record({ micros: fc.integer({ min: 50, max: LONGEST }) }), {
    minLength: 2,
    maxLength: 6,
    size: "max",
  }).map(named),
  arrivals: fc.array(
    fc.record({
      atMicros: fc.nat({ max: SECOND / 4 }),
      queue: fc.nat({ max: 5 }),
      priority: priorityLevel,
      deadlineMicros: fc.option(fc.nat({ max: 2 * SECOND }), { nil: undefined }),
      iterations: fc.constantFrom(1, 1, 1, 4),
    }),
    { minLength: 2, maxLength: 80, size: "max" },
  ),
  ...machine,
  untilMicros: fc.constant(0),
}).map(withKnownQueues);

/** Requests without end, in queues with plain ones and beside them, and sequences that come and go. */
export const endlessLoad: fc.Arbitrary<{ load: Load; boundMicros: number }> = fc.record({
  queues: fc.array(
    fc.record({
      weight: fc.double({ min: 1, max: 4, noNaN: true }),
      micros: fc.integer({ min: 1_000, max: 5_000 }),
      estimate: fc.double({ min: 0.5, max: 2, noNaN: true }),
      backlog: fc.nat({ max: 2 }),
    }),
    { minLength: 2, maxLength: 4, size: "max" },
  ).map(named),
  endless: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 5, size: "max" }),
  others: fc.array(
    fc.record({
      atMicros: fc.nat({ max: SECOND }),
      queue: fc.nat({ max: 3 }),
      iterations: fc.integer({ min: 1, max: 20 }),
    }),
    { minLength: 1, maxLength: 8, size: "max" },
  ),
  lanes: fc.integer({ min: 1, max: 2 }),
}).map(({ queues, endless, others, lanes }) => ({
  boundMicros: 5 * SECOND,
  load: withKnownQueues({
    queues,
    arrivals: [
      ...endless.map((queue) => ({ atMicros: 0, queue, iterations: Infinity })),
      ...others,
    ],
    lanes,
    untilMicros: 8 * SECOND,
  }),
}));

/** A queue whose only request goes on and on, and others that always have plain ones. */
export const loneSequenceLoad: fc.Arbitrary<Load> = fc.record({
  lone: fc.record({
    weight: fc.double({ min: 0.5, max: 4, noNaN: true }),
    micros: fc.integer({ min: 50, max: 500 }),
  }),
  others: fc.array(
    fc.record({
      weight: fc.double({ min: 0.5, max: 4, noNaN: true }),
      micros: fc.integer({ min: 50, max: 500 }),
      backlog: fc.constant(4),
    }),
    { minLength: 1, maxLength: 4, size: "max" },
  ),
}).map(({ lone, others }) => ({
  queues: named([lone, ...others]),
  arrivals: [{ atMicros: 0, queue: 0, iterations: Infinity }],
  untilMicros: SECOND,
}));
