/**
 * Weighted fair sharing of device time, by start-time fair queueing.
 *
 * ## What it optimises
 * Equal shares: while queues have work, each gets device time in proportion to its weight, whatever
 * its iterations cost and however many requests wait. A lightly used model does not feel a heavily
 * used one beside it for longer than the iterations that are running.
 *
 * ## When to use it
 * When models belong to different people or differ in cost, and none may live at the expense of the
 * others.
 *
 * ## What it costs
 * The longest wait is not the shortest possible: a burst on one queue waits for its share while
 * others are served, though they came later. Time unused is not saved up: a queue that was idle
 * starts level with the rest.
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
  promises: { noStarvation: true, workConserving: true, proportionalShare: true },
  create: () => new Fair(),
};

/** An iteration that was chosen and not charged yet. */
interface Pending {
  readonly queue: QueueView;
  /** The queue's virtual time when it was chosen. */
  readonly start: number;
  /** What was added to that time. */
  readonly cost: number;
  readonly chosenMicros: number;
}

class Fair implements Policy {
  /** Virtual time by queue. */
  readonly #times = new Map<QueueView, number>();
  /** In the order they were chosen. */
  readonly #pending: Pending[] = [];
  readonly #decision = new RunDecision();
  #lastStart = 0;

  observe(event: PolicyEvent): void {
    const { queue } = event;
    switch (event.kind) {
      case "queue_added":
        this.#times.set(queue, this.#now());
        break;
      case "queue_removed":
        this.#times.delete(queue);
        break;
      case "arrival":
        // Only where nothing waited before: a queue that has been waiting keeps its place.
        if (queue.rows === 0 || queue.oldestArrivalMicros >= event.nowMicros) {
          this.#times.set(queue, Math.max(this.#time(queue), this.#now()));
        }
        break;
      case "charge": {
        const index = this.#pending.findIndex((pending) => pending.queue === queue);
        const accounted = index < 0 ? 0 : this.#pending.splice(index, 1)[0].cost;
        this.#times.set(queue, this.#time(queue) + cost(event.micros, queue) - accounted);
        break;
      }
    }
  }

  next({ ready, lanes, nowMicros }: Snapshot): Decision {
    this.#forgetLost(lanes);
    let chosen = ready[0];
    let lowest = Infinity;
    for (const queue of ready) {
      const time = this.#time(queue);
      if (time < lowest) {
        chosen = queue;
        lowest = time;
      }
    }
    const expected = cost(chosen.iterationMicros(chosen.bestRows), chosen);
    this.#pending.push({ queue: chosen, start: lowest, cost: expected, chosenMicros: nowMicros });
    this.#times.set(chosen, lowest + expected);
    this.#lastStart = lowest;
    return this.#decision.of(chosen, "least served for its weight");
  }

  /** Of a queue that it was not told of: level with the rest. */
  #time(queue: QueueView): number {
    return this.#times.get(queue) ?? this.#now();
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
    if (latest !== undefined && latest.queue.lastServedMicros < latest.chosenMicros) {
      this.#takeBack(this.#pending.pop()!);
    }
    let running = 0;
    for (const lane of lanes) running += lane.running.length;
    while (this.#pending.length > running) this.#takeBack(this.#pending.shift()!);
  }

  #takeBack({ queue, cost }: Pending): void {
    const time = this.#times.get(queue);
    if (time !== undefined) this.#times.set(queue, time - cost);
  }
}

/** Virtual time of so much device time. Nothing is free, however short it was measured. */
function cost(micros: number, queue: QueueView): number {
  return Math.max(1, micros) / queue.weight;
}
