/**
 * Shortest remaining time first, with ageing.
 *
 * ## What it optimises
 * The average completion time: of the queues with work, the one whose next iteration is expected to
 * be shortest runs next; among equals, the one whose oldest request arrived first. On one lane, with
 * costs that are known and nothing joined, the k-th request to be done is done no later than it
 * would be under `fifo`, for every k.
 *
 * ## When to use it
 * When costs differ much and the average counts: many short requests beside few long ones. Nobody
 * need declare a cost, it is learned; a queue of which nothing is known yet runs first, and is known
 * from then on.
 *
 * ## What it costs
 * The long wait for the short. So that they do not starve, a queue that has waited for a second
 * without an iteration gets one out of turn, at most every second iteration (`patience.ts`).
 *
 * Inside a queue fewer iterations to go come first, without exception: a long request starves while
 * short ones of its own model take all that the model is given. A request of unknown length is taken
 * to be half done: it starts as a short one, and the longer it runs, the longer it is taken to last.
 *
 * @module
 */
import { Patience } from "./patience.ts";
import type { PolicyDefinition, QueueView } from "./policy.ts";
import { RunDecision } from "./run_decision.ts";

/** The shortest iteration first; no queue with work waits for ever. */
export const srtf: PolicyDefinition = {
  name: "srtf",
  promises: { noStarvation: true, workConserving: true, shortestFirst: true },
  create() {
    const decision = new RunDecision();
    const patience = new Patience();
    /** What each queue's next iteration is expected to take, until something happens to it. */
    const expected = new Map<QueueView, number>();
    return {
      observe({ queue }) {
        expected.delete(queue);
      },
      rank({ iterationsDone, iterationsTotal }) {
        return iterationsTotal === Infinity
          ? Math.max(1, iterationsDone)
          : iterationsTotal - iterationsDone;
      },
      next(snapshot) {
        const overdue = patience.overdue(snapshot);
        if (overdue !== undefined) {
          expected.delete(overdue);
          return decision.of(overdue, "waited too long");
        }
        const { ready } = snapshot;
        let shortest = ready[0];
        let least = Infinity;
        for (const queue of ready) {
          let micros = expected.get(queue);
          if (micros === undefined) {
            micros = queue.iterationMicros(queue.bestRows);
            expected.set(queue, micros);
          }
          if (
            micros < least ||
            (micros === least && queue.oldestArrivalMicros < shortest.oldestArrivalMicros)
          ) {
            shortest = queue;
            least = micros;
          }
        }
        expected.delete(shortest);
        return decision.of(shortest, "shortest");
      },
    };
  },
};
