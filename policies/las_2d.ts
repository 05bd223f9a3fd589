/**
 * Two-dimensional least attained service, discretised (Tiresias).
 *
 * ## What it optimises
 * The average completion time where nothing is known of what is to come: what has had little of the
 * device so far probably needs little. Service has two dimensions, how long and how much of the
 * device; what is charged is their product. Queues are sorted into levels by the service they attained
 * lately, the lowest level runs first, and inside a level the queue that has waited longest for an
 * iteration. Inside a queue requests are sorted by what they attained themselves, and those that
 * attained alike by what their tenant did lately.
 *
 * ## When to use it
 * When a few models or tenants use most of the device and many use it now and then: the occasional
 * ones are answered at once, without weights, priorities or costs that anyone had to set. And for
 * requests of many iterations whose number nobody knows: a short one does not wait for the long ones
 * of its model to end.
 *
 * ## What it costs
 * Steady use is held against a queue: the busiest wait for all others. So that they do not starve, a
 * queue that has waited for a second without an iteration is promoted for one, at most every second
 * iteration (`patience.ts`). Requests of many iterations take turns inside a level: the long ones end
 * late, all of them.
 *
 * A queue never ends as a training job does, so its past fades, and a tenant's too: every
 * {@linkcode HALVING_MICROS} what it attained counts half. Levels keep queues of like use from taking
 * turns one by one for their last microsecond of service.
 *
 * Inside a queue a level is worth {@linkcode LEVEL_MICROS} of waiting for an iteration: newcomers come
 * before a request that attained more, until it has waited for so long per level between them. Then
 * it is promoted for one iteration, and waits anew: it never starves, and never runs on at the expense
 * of a newcomer.
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

/** Service from which on the next level begins: lately, about 1, 10 and 100 % of the device. */
export const THRESHOLDS_MICROS: readonly number[] = [10_000, 100_000, 1_000_000];

/** How often a queue's attained service is halved. */
export const HALVING_MICROS = 1_000_000;

/** What one level is worth inside a queue. */
export const LEVEL_MICROS = 250_000;

/** The least served first; nothing with work waits for ever. */
export const las2d: PolicyDefinition = {
  name: "las_2d",
  promises: { noStarvation: true, workConserving: true, takesTurns: true },
  create: () => new LeastAttained(),
};

/** What a queue attained lately. */
interface Account {
  attainedMicros: number;
  /** How many times everything had been halved when the figures here were right. */
  halvings: number;
  level: number;
}

class LeastAttained implements Policy {
  readonly #accounts = new Map<QueueView, Account>();
  readonly #patience = new Patience();
  readonly #decision = new RunDecision();

  rank({ waitingSinceMicros, attainedMicros, tenantMicros }: RequestView): number {
    // A tenant's level counts among requests that attained alike: it is worth less than one of theirs.
    const level = levelOf(attainedMicros) * (THRESHOLDS_MICROS.length + 1) + levelOf(tenantMicros);
    return waitingSinceMicros + level * LEVEL_MICROS;
  }

  observe(event: PolicyEvent): void {
    const { queue } = event;
    if (event.kind === "queue_added") {
      this.#accounts.set(queue, { attainedMicros: 0, halvings: 0, level: 0 });
    }
    if (event.kind === "queue_removed") this.#accounts.delete(queue);
    if (event.kind === "charge") {
      const account = this.#accounts.get(queue);
      if (account !== undefined) attain(account, event.micros, halvingsUntil(event.nowMicros));
    }
  }

  next(snapshot: Snapshot): Decision {
    const overdue = this.#patience.overdue(snapshot);
    if (overdue !== undefined) return this.#decision.of(overdue, "promoted: waited too long");
    const halvings = halvingsUntil(snapshot.nowMicros);
    let chosen = snapshot.ready[0];
    let lowest = Infinity;
    let since = Infinity;
    for (const queue of snapshot.ready) {
      const account = this.#accounts.get(queue);
      if (account !== undefined && account.halvings < halvings) attain(account, 0, halvings);
      const level = account?.level ?? 0;
      if (level < lowest || (level === lowest && queue.waitingSinceMicros < since)) {
        chosen = queue;
        lowest = level;
        since = queue.waitingSinceMicros;
      }
    }
    return this.#decision.of(chosen, "least attained service");
  }
}

function halvingsUntil(nowMicros: number): number {
  return Math.floor(nowMicros / HALVING_MICROS);
}

/** Adds service, after what was there has faded. */
function attain(account: Account, micros: number, halvings: number): void {
  account.attainedMicros = account.attainedMicros / 2 ** (halvings - account.halvings) + micros;
  account.halvings = halvings;
  account.level = levelOf(account.attainedMicros);
}

function levelOf(micros: number): number {
  let level = 0;
  for (const threshold of THRESHOLDS_MICROS) if (micros >= threshold) level++;
  return level;
}
