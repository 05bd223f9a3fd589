/**
 * For each policy loads under which it is the right choice, against `fifo`, in virtual time:
 * `deno run tests/policies/comparison.ts` prints the tables that `docs/policies.md` shows.
 */
import { seededRandom } from "../../models/random.ts";
import { POLICIES } from "../../policies/mod.ts";
import type { QueueLoad } from "../conformance/policy_queue.ts";
import { type Arrival, type Load, simulate } from "../conformance/policy_simulation.ts";

const SECONDS = 20;
const SECOND = 1_000_000;

/** A load, and whose requests the policy is chosen for. */
export interface Comparison {
  readonly policy: string;
  /** What it is compared with; `fifo` when absent. */
  readonly against?: string;
  /** The load in a few words. */
  readonly load: string;
  /** The models that the figures are of. */
  readonly whose: (model: string) => boolean;
  readonly named: string;
  readonly queues: readonly (QueueLoad & Stream)[];
}

/** How a queue's requests arrive. */
interface Stream {
  /** Requests a second, at times drawn from a seed (a Poisson process); or else `backlog`. */
  readonly perSecond?: number;
  /** They come so many at a time. */
  readonly burst?: number;
  /** Each has so much time. */
  readonly timeoutMicros?: number;
  /** How many iterations they take, drawn from these; and whether they say so. */
  readonly lengths?: readonly number[];
  readonly declared?: boolean;
  /** So many come at the start, of the first length. */
  readonly atOnce?: number;
}

/** What became of some requests. */
export interface Figures {
  /** From arrival to the first iteration. */
  readonly meanMillis: number;
  readonly p99Millis: number;
  /** From arrival to the end of the last iteration. */
  readonly endMillis: number;
  /** Part of the device time, while the load lasted. */
  readonly share: number;
  /** Of those with a deadline, the part that ended past it; absent when none had one. */
  readonly missed?: number;
  /** The longest that any request waited for an iteration, of whichever model. */
  readonly longestMillis: number;
}

const light = (count: number, queue: Omit<QueueLoad & Stream, "model">) =>
  Array.from({ length: count }, (_, index) => ({ ...queue, model: `light ${index}` }));
const startsWith = (prefix: string) => (model: string) => model.startsWith(prefix);

/** Many short texts and few long ones, in iterations. */
const TEXTS = [10, 10, 10, 20, 20, 50, 50, 100, 500];

/** In the order of the policies. */
export const COMPARISONS: readonly Comparison[] = [
  {
    policy: "fifo",
    against: "fair",
    load: "8 models, one request of 200 iterations of 5 ms each, all at once",
    whose: () => true,
    named: "all",
    queues: light(8, { micros: 5_000, atOnce: 1, lengths: [200] }),
  },
  {
    policy: "round_robin",
    load: "6 models of 5 ms; one gets its requests 40 at a time",
    whose: startsWith("light"),
    named: "the other five",
    queues: [
      { model: "bursts", micros: 5_000, perSecond: 2, burst: 40 },
      ...light(5, { micros: 5_000, perSecond: 10 }),
    ],
  },
  {
    policy: "fair",
    load: "a model of 20 ms that always has 16 waiting; one of 1 ms, 200 a second",
    whose: startsWith("light"),
    named: "the short one",
    queues: [
      { model: "heavy", micros: 20_000, backlog: 16 },
      ...light(1, { micros: 1_000, perSecond: 200 }),
    ],
  },
  {
    policy: "fair",
    load: "a model that always has 2 texts of 100 iterations of 20 ms; one of 1 ms, 200 a second",
    whose: startsWith("light"),
    named: "the short one",
    queues: [
      { model: "texts", micros: 20_000, backlog: 2, iterations: 100 },
      ...light(1, { micros: 1_000, perSecond: 200 }),
    ],
  },
  {
    policy: "priority",
    load: "3 models of 10 ms that always have 8 waiting; one of priority 1, 20 a second",
    whose: startsWith("light"),
    named: "the urgent",
    queues: [
      ...Array.from(
        { length: 3 },
        (_, index) => ({ model: `batch ${index}`, micros: 10_000, backlog: 8 }),
      ),
      ...light(1, { micros: 10_000, perSecond: 20, priority: 1 }),
    ],
  },
  {
    policy: "srtf",
    load: "models of 1, 5 and 50 ms at 85 % of capacity",
    whose: () => true,
    named: "all",
    queues: [
      { model: "short", micros: 1_000, perSecond: 150 },
      { model: "medium", micros: 5_000, perSecond: 40 },
      { model: "long", micros: 50_000, perSecond: 10 },
    ],
  },
  {
    policy: "srtf",
    load: "a model that writes texts of 10 to 500 iterations of 1 ms, at 80 % of capacity",
    whose: () => true,
    named: "all",
    queues: [{ model: "texts", micros: 1_000, perSecond: 9.4, lengths: TEXTS }],
  },
  {
    policy: "edf",
    load: "models of 5 ms at 90 % of capacity; deadlines of 25 ms and of 1 s",
    whose: () => true,
    named: "all",
    queues: [
      { model: "tight", micros: 5_000, perSecond: 40, timeoutMicros: 25_000 },
      { model: "loose", micros: 5_000, perSecond: 140, timeoutMicros: SECOND },
    ],
  },
  {
    policy: "las_2d",
    load: "2 models of 10 ms that always have 8 waiting; 20 of 10 ms, one request each 2 s",
    whose: startsWith("light"),
    named: "the occasional",
    queues: [
      { model: "heavy 0", micros: 10_000, backlog: 8 },
      { model: "heavy 1", micros: 10_000, backlog: 8 },
      ...light(20, { micros: 10_000, perSecond: 0.5 }),
    ],
  },
  {
    policy: "las_2d",
    load: "texts of 10 to 500 iterations of 1 ms that nobody declared, at 80 % of capacity",
    whose: () => true,
    named: "all",
    queues: [
      { model: "texts", micros: 1_000, perSecond: 9.4, lengths: TEXTS, declared: false },
    ],
  },
  {
    policy: "lottery",
    load: "2 models of 1 and 10 ms, weights 3 and 1, that always have 8 waiting",
    whose: startsWith("light"),
    named: "weight 3",
    queues: [
      { model: "heavy", micros: 10_000, backlog: 8 },
      ...light(1, { micros: 1_000, weight: 3, backlog: 8 }),
    ],
  },
];

/** Runs a comparison's load under a policy and measures those it is made for. */
export function measure({ queues, whose }: Comparison, policy: string): Figures {
  const { served, faults } = simulate(POLICIES.get(policy)!, loadOf(queues));
  if (faults.length > 0) throw new Error(faults[0]);
  const waits: number[] = [], ends: number[] = [];
  let micros = 0, all = 0, missed = 0, timed = 0, longest = 0;
  for (const { model, startMicros, endMicros, requests } of served) {
    const inside = Math.max(0, Math.min(endMicros, SECONDS * SECOND) - startMicros);
    all += inside;
    if (whose(model)) micros += inside;
    for (const request of requests) {
      const { arrivedMicros, waitingSinceMicros, deadlineMicros, iterationsDone } = request;
      longest = Math.max(longest, startMicros - waitingSinceMicros);
      if (!whose(model)) continue;
      if (iterationsDone === 0) waits.push(startMicros - arrivedMicros);
      if (iterationsDone + 1 < request.iterations) continue;
      ends.push(endMicros - arrivedMicros);
      if (deadlineMicros !== Infinity) timed++;
      if (endMicros > deadlineMicros) missed++;
    }
  }
  waits.sort((one, other) => one - other);
  return {
    meanMillis: meanOf(waits) / 1_000,
    p99Millis: waits[Math.ceil(0.99 * waits.length) - 1] / 1_000,
    endMillis: meanOf(ends) / 1_000,
    share: micros / all,
    missed: timed === 0 ? undefined : missed / timed,
    longestMillis: longest / 1_000,
  };
}

/** A policy's table, in Markdown. */
export function comparisonTable(policy: string): string {
  const lines = [
    "| load | of | policy | mean wait | p99 wait | mean end | share | missed | longest of any |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
  ];
  for (const comparison of COMPARISONS.filter((one) => one.policy === policy)) {
    const { load, named, against = "fifo" } = comparison;
    for (const name of [against, policy]) {
      const figures = measure(comparison, name);
      const { meanMillis, p99Millis, endMillis, share, missed, longestMillis } = figures;
      const cells = [
        ...(name === policy ? ["", ""] : [load, named]),
        `\`${name}\``,
        ...[meanMillis, p99Millis, endMillis].map((millis) => `${millis.toFixed(1)} ms`),
        `${(100 * share).toFixed(1)} %`,
        missed === undefined ? "-" : `${(100 * missed).toFixed(1)} %`,
        `${longestMillis.toFixed(1)} ms`,
      ];
      lines.push(`| ${cells.join(" | ")} |`);
    }
  }
  return lines.join("\n");
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function loadOf(queues: Comparison["queues"]): Load {
  const random = seededRandom(1);
  const arrivals: Arrival[] = [];
  queues.forEach((stream, queue) => {
    const { perSecond = 0, burst = 1, atOnce = 0, lengths = [1], declared, priority } = stream;
    for (let i = 0; i < atOnce; i++) {
      arrivals.push({ atMicros: 0, queue, priority, iterations: lengths[0], declared });
    }
    const next = () => Math.ceil(-Math.log(1 - random()) * SECOND / perSecond);
    for (let atMicros = next(); atMicros < SECONDS * SECOND; atMicros += next()) {
      const deadlineMicros = atMicros + (stream.timeoutMicros ?? Infinity);
      const iterations = lengths[lengths.length === 1 ? 0 : Math.floor(random() * lengths.length)];
      for (let i = 0; i < burst; i++) {
        arrivals.push({ atMicros, queue, priority, deadlineMicros, iterations, declared });
      }
    }
  });
  return { queues, arrivals, untilMicros: SECONDS * SECOND };
}

if (import.meta.main) {
  for (const policy of POLICIES.keys()) {
    console.log(`### \`${policy}\`\n\n${comparisonTable(policy)}\n`);
  }
}
