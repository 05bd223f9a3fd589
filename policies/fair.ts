/**
 * Weighted fair sharing of device time, by start-time fair queueing.
 *
 * ## What it optimises
 * Equal shares: while queues have work, each gets device time in proportion to its weight, whatever
 * its iterations cost, however many requests wait and however many iterations they take. A lightly
 * used model does not feel a heavily used one beside it, nor one that generates long texts, for
 * longer than the iterations that are running. Inside a queue the request that has waited longest for an iteration is next:
 * requests of many iterations take turns.
 *
 * ## When to use it
 * When models belong to different people or differ in cost, and none may live at the expense of the
 * others. It is the default: with a single model it is first come, first served, with a turn for each
 * request of many iterations.
 *
 * ## What it costs
 * The longest wait is not the shortest possible: a burst on one queue waits for its share while
 * others are served, though they came later. Time unused is not saved up: a queue that was idle, or
 * that no lane could run, starts level with the rest. Shares are of queues: one sequence alone cannot
 * use two lanes, and requests of many iterations that share a queue all end late.
 *
 * Every queue has a virtual time, its device time in microseconds divided by its weight, and the
 * lowest runs next. An iteration is accounted when it is chosen, with what it is expected to cost,
 * so that several lanes do not all choose the same queue; the charge corrects that.
 *
 * @see Goyal, Vin, Cheng: Start-time Fair Queueing (1996); Jin, Chase, Kaur: Interposed Proportional
 * Sharing for a Storage Service Utility (2004), for several iterations at once.
 *
 * @module
 */
import type {
  Decision,
  Policy,
  PolicyDefinition,
  PolicyEvent,
  QueueView,
  Snapshot,
} from "./policy.ts";
import { RunDecision } from "./run_decision.ts";

/** Weighted shares of device time among the queues that have work. */
export const fair: PolicyDefinition = {
  name: "fair",
  promises: { noStarvation: true, workConserving: true, takesTurns: true, proportionalShare: true },
  create: () => new Fair(),
};

/** What a queue has had. */
interface Account {
  readonly queue: QueueView;
  /** Its virtual time. */
  time: number;
  /** The last decision at which it was ready. */
  ready: number;
}

/** An iteration that was chosen and not charged yet. */
interface Pending {
  readonly account: Account;
  /** The queue's virtual time when it was chosen. */
  readonly start: number;
  /** What was added to that time. */
  readonly cost: number;
  readonly chosenMicros: number;
}

class Fair implements Policy {
  readonly #accounts = new Map<QueueView, Account>();
  /** In the order they were chosen. */
  readonly #pending: Pending[] = [];
  readonly #decision = new RunDecision();
  #decisions = 0;
  #lastStart = 0;

  observe(event: PolicyEvent): void {
    const { queue } = event;
    if (event.kind === "queue_removed") this.#accounts.delete(queue);
    if (event.kind === "charge") {
      const account = this.#account(queue);
      const index = this.#pending.findIndex((pending) => pending.account === account);
      const accounted = index < 0 ? 0 : this.#pending.splice(index, 1)[0].cost;
      account.time += cost(event.micros, queue) - accounted;
    }
  }

  next({ ready, lanes, nowMicros }: Snapshot): Decision {
    this.#forgetLost(lanes);
    const now = this.#now();
    const before = this.#decisions++;
    let chosen = this.#account(ready[0]);
    for (const queue of ready) {
      const account = this.#account(queue);
      // What could not run the last time has no claim to the time since. A queue whose only sequence
      // has just ended an iteration could, unless others ran beside it on lanes it has no use for.
      if (account.ready < before) account.time = Math.max(account.time, now);
      account.ready = this.#decisions;
      if (account.time < chosen.time) chosen = account;
    }
    const { queue, time: start } = chosen;
    const expected = cost(queue.iterationMicros(queue.bestRows), queue);
    this.#pending.push({ account: chosen, start, cost: expected, chosenMicros: nowMicros });
    chosen.time += expected;
    this.#lastStart = start;
    return this.#decision.of(queue, "least served for its weight");
  }

  /** Of a queue that was not seen yet: level with the rest. */
  #account(queue: QueueView): Account {
    let account = this.#accounts.get(queue);
    if (account === undefined) {
      account = { queue, time: this.#now(), ready: 0 };
      this.#accounts.set(queue, account);
    }
    return account;
  }

  /** The virtual time of the device: where the iteration in flight that is furthest back started. */
  #now(): number {
    if (this.#pending.length === 0) return this.#lastStart;
    let earliest = Infinity;
    for (const { start } of this.#pending) earliest = Math.min(earliest, start);
    return earliest;
  }

  /**
   * Takes back what was accounted for iterations that will never be charged: one that the scheduler
   * did not start after all, because every client had left, and any that got lost with the device.
   */
  #forgetLost(lanes: Snapshot["lanes"]): void {
    const latest = this.#pending.at(-1);
    if (latest !== undefined && latest.account.queue.lastServedMicros < latest.chosenMicros) {
      takeBack(this.#pending.pop()!);
    }
    let running = 0;
    for (const lane of lanes) running += lane.running.length;
    while (this.#pending.length > running) takeBack(this.#pending.shift()!);
  }
}

function takeBack({ account, cost }: Pending): void {
  account.time -= cost;
}

/** Virtual time of so much device time. Nothing is free, however short it was measured. */
function cost(micros: number, queue: QueueView): number {
  return Math.max(1, micros) / queue.weight;
}
