/**
 * Two-dimensional least attained service, discretised (Tiresias).
 *
 * ## What it optimises
 * The average completion time where nothing is known of what is to come: what has had little of the
 * device so far probably needs little. Service has two dimensions, how long and how much of the
 * device; what a queue is charged is their product. Queues are sorted into levels by the service
 * they attained lately, the lowest level runs first, and inside a level the queue whose oldest
 * request arrived first.
 *
 * ## When to use it
 * When a few models or tenants use most of the device and many use it now and then: the occasional
 * ones are answered at once, without weights, priorities or costs that anyone had to set.
 *
 * ## What it costs
 * Steady use is held against a queue: the busiest wait for all others. So that they do not starve, a
 * queue that has waited for a second without an iteration is promoted for one, at most every second
 * iteration (`patience.ts`). Queues of one level share it by their arrivals, not equally.
 *
 * A queue never ends as a training job does, so its past fades: every {@linkcode HALVING_MICROS}
 * what it attained counts half. Levels keep queues of like use from taking turns one by one for
 * their last microsecond of service.
 *
 * Inside a queue, where requests end, all that a request attained counts: it is overtaken by
 * requests that came up to {@linkcode PROMOTION} times that later. So one that takes many iterations
 * gives way to newcomers, yet is promoted before them once it has got less than one part in
 * {@linkcode PROMOTION} of the time since it came.
 *
 * @see Gu et al.: Tiresias, A GPU Cluster Manager for Distributed Deep Learning (NSDI 2019).
 *
 * @module
 */
import { Patience } from "./patience.ts";
import type {
  Decision,
  Policy,
  PolicyDefinition,
  PolicyEvent,
  QueueView,
  RequestView,
  Snapshot,
} from "./policy.ts";
import { RunDecision } from "./run_decision.ts";

/** Service from which on a queue is in the next level: about 1, 10 and 100 % of the device. */
export const THRESHOLDS_MICROS: readonly number[] = [10_000, 100_000, 1_000_000];

/** How often attained service is halved. */
export const HALVING_MICROS = 1_000_000;

/** How many times its service a request waits before it is preferred to newcomers again. */
export const PROMOTION = 8;

/** The least served lately first; no queue with work waits for ever. */
export const las2d: PolicyDefinition = {
  name: "las_2d",
  promises: { noStarvation: true, workConserving: true },
  create: () => new LeastAttained(),
};

interface Account {
  attainedMicros: number;
  level: number;
}

class LeastAttained implements Policy {
  readonly #accounts = new Map<QueueView, Account>();
  readonly #patience = new Patience();
  readonly #decision = new RunDecision();
  #halvedMicros = 0;

  rank({ arrivedMicros, attainedMicros }: RequestView): number {
    return arrivedMicros + PROMOTION * attainedMicros;
  }

  observe(event: PolicyEvent): void {
    const { queue } = event;
    if (event.kind === "queue_added") this.#accounts.set(queue, { attainedMicros: 0, level: 0 });
    if (event.kind === "queue_removed") this.#accounts.delete(queue);
    if (event.kind === "charge") {
      const account = this.#accounts.get(queue);
      if (account !== undefined) attain(account, account.attainedMicros + event.micros);
    }
  }

  next(snapshot: Snapshot): Decision {
    this.#fade(snapshot.nowMicros);
    const overdue = this.#patience.overdue(snapshot);
    if (overdue !== undefined) return this.#decision.of(overdue, "promoted: waited too long");
    let chosen = snapshot.ready[0];
    let lowest = Infinity;
    for (const queue of snapshot.ready) {
      const level = this.#accounts.get(queue)?.level ?? 0;
      if (
        level < lowest ||
        (level === lowest && queue.oldestArrivalMicros < chosen.oldestArrivalMicros)
      ) {
        chosen = queue;
        lowest = level;
      }
    }
    return this.#decision.of(chosen, "least attained service");
  }

  #fade(nowMicros: number): void {
    const times = Math.floor((nowMicros - this.#halvedMicros) / HALVING_MICROS);
    if (times < 1) return;
    this.#halvedMicros += times * HALVING_MICROS;
    for (const account of this.#accounts.values()) {
      attain(account, account.attainedMicros / 2 ** times);
    }
  }
}

function attain(account: Account, micros: number): void {
  account.attainedMicros = micros;
  account.level = 0;
  for (const threshold of THRESHOLDS_MICROS) if (micros >= threshold) account.level++;
}
