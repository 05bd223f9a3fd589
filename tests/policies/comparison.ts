/**
 * For each policy a load under which it is the right choice, against `fifo`, in virtual time:
 * `deno run tests/policies/comparison.ts` prints the table that `docs/policies.md` shows.
 */
import { seededRandom } from "../../models/random.ts";
import { DEFAULT_POLICY, POLICIES } from "../../policies/mod.ts";
import type { QueueLoad } from "../conformance/policy_queue.ts";
import { type Arrival, type Load, simulate } from "../conformance/policy_simulation.ts";

const SECONDS = 20;
const SECOND = 1_000_000;

/** A load, and whose requests the policy is chosen for. */
export interface Comparison {
  readonly policy: string;
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
}

/** What became of some requests. */
export interface Figures {
  readonly meanMillis: number;
  readonly p99Millis: number;
  /** Part of the device time, while the load lasted. */
  readonly share: number;
  /** Of those with a deadline, the part that ended past it; absent when none had one. */
  readonly missed?: number;
  /** The longest that any request waited, of whichever model. */
  readonly longestMillis: number;
}

const light = (count: number, queue: Omit<QueueLoad & Stream, "model">) =>
  Array.from({ length: count }, (_, index) => ({ ...queue, model: `light ${index}` }));
const startsWith = (prefix: string) => (model: string) => model.startsWith(prefix);

/** One row of the table each, per policy. */
export const COMPARISONS: readonly Comparison[] = [
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
  const waits: number[] = [];
  let micros = 0, all = 0, missed = 0, timed = 0, longest = 0;
  for (const iteration of served) {
    const inside = Math.min(iteration.endMicros, SECONDS * SECOND) - iteration.startMicros;
    all += Math.max(0, inside);
    for (const { arrivedMicros } of iteration.requests) {
      longest = Math.max(longest, iteration.startMicros - arrivedMicros);
    }
    if (!whose(iteration.model)) continue;
    micros += Math.max(0, inside);
    for (const { arrivedMicros, deadlineMicros } of iteration.requests) {
      waits.push(iteration.startMicros - arrivedMicros);
      if (deadlineMicros !== Infinity) timed++;
      if (iteration.endMicros > deadlineMicros) missed++;
    }
  }
  waits.sort((one, other) => one - other);
  return {
    meanMillis: waits.reduce((sum, wait) => sum + wait, 0) / waits.length / 1_000,
    p99Millis: waits[Math.ceil(0.99 * waits.length) - 1] / 1_000,
    share: micros / all,
    missed: timed === 0 ? undefined : missed / timed,
    longestMillis: longest / 1_000,
  };
}

/** The table, in Markdown. */
export function comparisonTable(): string {
  const lines = [
    "| load | of | policy | mean wait | p99 wait | share | missed | longest of any |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
  ];
  for (const comparison of COMPARISONS) {
    const { load, named, policy } = comparison;
    for (const name of [DEFAULT_POLICY.name, policy]) {
      const { meanMillis, p99Millis, share, missed, longestMillis } = measure(comparison, name);
      const first = name === policy ? ["", ""] : [load, named];
      const figures = [
        `${meanMillis.toFixed(1)} ms`,
        `${p99Millis.toFixed(1)} ms`,
        `${(100 * share).toFixed(1)} %`,
        missed === undefined ? "-" : `${(100 * missed).toFixed(1)} %`,
        `${longestMillis.toFixed(1)} ms`,
      ];
      lines.push(`| ${[...first, `\`${name}\``, ...figures].join(" | ")} |`);
    }
  }
  return lines.join("\n");
}

function loadOf(queues: Comparison["queues"]): Load {
  const random = seededRandom(1);
  const arrivals: Arrival[] = [];
  queues.forEach(({ perSecond, burst = 1, timeoutMicros = Infinity, priority }, queue) => {
    if (perSecond === undefined) return;
    const next = () => Math.ceil(-Math.log(1 - random()) * SECOND / perSecond);
    for (let atMicros = next(); atMicros < SECONDS * SECOND; atMicros += next()) {
      const deadlineMicros = atMicros + timeoutMicros;
      for (let i = 0; i < burst; i++) arrivals.push({ atMicros, queue, priority, deadlineMicros });
    }
  });
  return { queues, arrivals, untilMicros: SECONDS * SECOND };
}

if (import.meta.main) console.log(comparisonTable());
