/**
 * Shortest remaining time first, with ageing.
 *
 * ## What it optimises
 * The average completion time: of the queues with work, the one whose first request needs the least
 * device time to its end runs next: what its iteration is expected to take, times the iterations it
 * has to go. Inside a queue the request with the fewest to go is first; among equals, the one that has
 * waited longest. On one lane, with costs and lengths that are known and nothing joined, and until
 * ageing sets in, the k-th request to be done is done no later than under `fifo`, for every k.
 *
 * ## When to use it
 * When costs differ much and the average counts: many short requests beside few long ones, short
 * generations beside long ones, requests beside a job, jobs of different lengths. Nobody need declare
 * a cost, it is learned; a queue of which nothing is known yet runs first, and is known from then on.
 * A length that is not declared is taken to be that of others of its model; a request that has
 * outlasted them, to be half done.
 *
 * ## What it costs
 * The long wait for the short. So that they do not starve, a queue that has waited for a second
 * without an iteration gets one out of turn, at most every second iteration (`patience.ts`).
 *
 * Inside a queue fewer iterations to go come first, without exception: a long request starves while
 * short ones of its own model take all that the model is given. And one that declares too few
 * iterations comes before others until it ends.
 *
 * @module
 */
import { Patience } from "./patience.ts";
import type { PolicyDefinition, QueueView } from "./policy.ts";
import { RunDecision } from "./run_decision.ts";

/** The least work to go first; no queue with work waits for ever. */
export const srtf: PolicyDefinition = {
  name: "srtf",
  promises: { noStarvation: true, workConserving: true, shortestFirst: true },
  create() {
    const decision = new RunDecision();
    const patience = new Patience();
    /** What each queue's first request is expected to take, until something happens to the queue. */
    const expected = new Map<QueueView, number>();
    return {
      observe({ queue }) {
        expected.delete(queue);
      },
      rank({ iterationsDone, iterationsTotal }) {
        return iterationsTotal - iterationsDone;
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
        let since = Infinity;
        for (const queue of ready) {
          let micros = expected.get(queue);
          if (micros === undefined) {
            micros = queue.iterationMicros(queue.bestRows) * queue.iterationsLeft;
            expected.set(queue, micros);
          }
          if (micros < least || (micros === least && queue.waitingSinceMicros < since)) {
            shortest = queue;
            least = micros;
            since = queue.waitingSinceMicros;
          }
        }
        expected.delete(shortest);
        return decision.of(shortest, "least work to go");
      },
    };
  },
};
