/** What became of a load in the simulation, and what it comes to. */
import assert from "node:assert/strict";
import type { Waiting } from "./policy_queue.ts";

/** One iteration that ran. */
export interface Served {
  readonly model: string;
  readonly startMicros: number;
  readonly endMicros: number;
  readonly micros: number;
  /** Its requests, as they were when it was chosen. */
  readonly requests: readonly Waiting[];
  /** Queues that had work when it was chosen, by name, as they were then. */
  readonly ready: ReadonlyMap<string, ReadyQueue>;
}

/** What a queue showed of itself when another, or it, was chosen. */
export interface ReadyQueue {
  readonly topPriority: number;
  readonly earliestDeadlineMicros: number;
  /** What its first request was expected to cost to its end. */
  readonly expectedMicros: number;
}

/** What became of a load. */
export interface Outcome {
  /** Every decision as a line. */
  readonly decisions: readonly string[];
  readonly served: readonly Served[];
  /** What the policy did that it must not; empty when all is well. */
  readonly faults: readonly string[];
  /** How often it left a lane idle though something was ready. */
  readonly idled: number;
  /** Requests that were never run though their clients stayed. */
  readonly unserved: number;
  /** The longest that each queue had work and no iteration of it started. */
  readonly longestWait: ReadonlyMap<string, number>;
}

/** The queue that was chosen has the smallest number of all that were ready. */
export function assertLeast(ready: Served["ready"], model: string, of: keyof ReadyQueue): void {
  const numbers = Array.from(ready.values(), (queue) => queue[of]);
  assert.equal(ready.get(model)?.[of], Math.min(...numbers), `${of} of '${model}'`);
}

/** A queue with work never went without an iteration for longer. */
export function assertWaits(
  longestWait: Outcome["longestWait"],
  model: string,
  boundMicros: number,
): void {
  const waited = longestWait.get(model) ?? Infinity;
  assert.ok(
    waited <= boundMicros,
    `'${model}' had work and waited ${waited} us, not ${boundMicros}`,
  );
}

/** Each queue's part of the device time of the iterations that started in a window. */
export function sharesOf({ served }: Outcome, from: number, to: number): Map<string, number> {
  const times = new Map<string, number>();
  let all = 0;
  for (const { model, startMicros, micros } of served) {
    if (startMicros < from || startMicros >= to) continue;
    times.set(model, (times.get(model) ?? 0) + micros);
    all += micros;
  }
  for (const [model, micros] of times) times.set(model, micros / all);
  return times;
}

/** Device time is shared by weight, to 5 % of each share. */
export function assertShares(
  outcome: Outcome,
  queues: readonly { readonly model: string; readonly weight?: number }[],
  from: number,
  to: number,
): void {
  const shares = sharesOf(outcome, from, to);
  const weights = queues.reduce((sum, { weight = 1 }) => sum + weight, 0);
  for (const { model, weight = 1 } of queues) {
    const share = shares.get(model) ?? 0;
    const due = weight / weights;
    assert.ok(Math.abs(share - due) <= 0.05 * due, `${model}: ${share}, not ${due}`);
  }
}
