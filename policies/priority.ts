/**
 * Strict priority, with ageing.
 *
 * ## What it optimises
 * The wait of what is most urgent: of the queues with work, the one that holds the most urgent
 * request runs next; among equals, the one whose oldest request arrived first.
 *
 * ## When to use it
 * When some requests are interactive and others can wait, and clients or models say which
 * (`priority`: 1 is most urgent).
 *
 * ## What it costs
 * Under overload the urgent take nearly all. So that the rest does not starve, a queue that has
 * waited longer than {@linkcode PATIENCE_MICROS} without an iteration gets one out of turn, and then
 * waits again; at most every second iteration goes that way, however many have waited so long. So a
 * queue with work waits for its next iteration at most a second, two iterations for each queue that
 * ran out of patience before it, and what was running then.
 *
 * Inside a queue a level of priority is worth {@linkcode LEVEL_MICROS} of waiting: a request is
 * overtaken only by more urgent ones that arrive within that time per level of difference.
 *
 * @module
 */
import type { PolicyDefinition, QueueView } from "./policy.ts";
import { RunDecision } from "./run_decision.ts";

/** How long a queue with work may go without an iteration before it gets one out of turn. */
export const PATIENCE_MICROS = 1_000_000;

/** What one level of priority is worth inside a queue. */
export const LEVEL_MICROS = 100_000;

/** The most urgent first; nothing with work waits for ever. */
export const priority: PolicyDefinition = {
  name: "priority",
  promises: { noStarvation: true, workConserving: true, strictPriority: true },
  create() {
    const decision = new RunDecision();
    let lastWasOutOfTurn = false;
    return {
      rank(request) {
        return request.arrivedMicros + request.priority * LEVEL_MICROS;
      },
      next({ ready, nowMicros }) {
        let urgent = ready[0];
        let impatient: QueueView | undefined;
        let waitingSince = nowMicros - PATIENCE_MICROS;
        for (const queue of ready) {
          if (precedes(queue, urgent)) urgent = queue;
          const since = Math.max(queue.oldestArrivalMicros, queue.lastServedMicros);
          if (since < waitingSince) {
            impatient = queue;
            waitingSince = since;
          }
        }
        lastWasOutOfTurn = impatient !== undefined && !lastWasOutOfTurn;
        return lastWasOutOfTurn && impatient !== undefined
          ? decision.of(impatient, "waited too long")
          : decision.of(urgent, "most urgent");
      },
    };
  },
};

function precedes(queue: QueueView, other: QueueView): boolean {
  return queue.topPriority < other.topPriority ||
    (queue.topPriority === other.topPriority &&
      queue.oldestArrivalMicros < other.oldestArrivalMicros);
}
