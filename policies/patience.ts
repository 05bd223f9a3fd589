/**
 * What keeps a policy that has favourites from starving the rest: one iteration out of turn for a
 * queue that has waited too long.
 *
 * @module
 */
import type { QueueView, Snapshot } from "./policy.ts";

/** How long a queue with work may go without an iteration before it gets one out of turn. */
export const PATIENCE_MICROS = 1_000_000;

/**
 * Finds the queue whose turn it is out of turn. At most every second decision goes that way, however
 * many queues have waited so long: under overload all have, and the policy still decides the half.
 * So a queue with work waits for its next iteration at most {@linkcode PATIENCE_MICROS}, two
 * iterations for each queue that ran out of patience before it, and what was running then.
 */
export class Patience {
  #lastWasOutOfTurn = false;

  /** The queue that has waited longest beyond its patience, unless the last decision had one too. */
  overdue({ ready, nowMicros }: Snapshot): QueueView | undefined {
    let overdue: QueueView | undefined;
    if (!this.#lastWasOutOfTurn) {
      let earliest = nowMicros - PATIENCE_MICROS;
      for (const queue of ready) {
        const since = queue.waitingSinceMicros;
        if (since < earliest && queue.lastServedMicros < earliest) {
          overdue = queue;
          earliest = Math.max(since, queue.lastServedMicros);
        }
      }
    }
    this.#lastWasOutOfTurn = overdue !== undefined;
    return overdue;
  }
}
