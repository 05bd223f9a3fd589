/**
 * Lottery scheduling: weighted shares of device time by chance.
 *
 * ## What it optimises
 * Shares in the long run, with next to no state: every queue with work holds tickets in proportion
 * to its weight, one is drawn, and its holder runs next; inside a queue, the request that has waited
 * longest. Whatever queue has work may be next, whatever the others do and however long their requests
 * go on.
 *
 * ## When to use it
 * When shares shall follow the weights on the average, weights differ much, and no pattern of
 * arrivals, chosen or not, may fall in step with the scheduler's own.
 *
 * ## What it costs
 * Chance: after n iterations a queue's share is off by about 1/sqrt(n) of itself, and how long it
 * waits for its next iteration has a mean and no bound. `fair` keeps the same shares at every
 * moment. The draws come from the policy's seed, so the same events give the same decisions.
 *
 * Iterations differ in length, shares are of time. So tickets are divided by what the queue's last
 * iteration was charged: one that used a tenth of the time is ten times as likely to be drawn until
 * it has run again. Of a queue that has not run yet the expected cost is taken.
 *
 * @see Waldspurger, Weihl: Lottery Scheduling (OSDI 1994), "compensation tickets".
 *
 * @module
 */
import type { PolicyDefinition, QueueView } from "./policy.ts";
import { RunDecision } from "./run_decision.ts";

/** Weighted shares of device time among the queues that have work, on the average. */
export const lottery: PolicyDefinition = {
  name: "lottery",
  promises: { noStarvation: false, workConserving: true },
  create({ random }) {
    const decision = new RunDecision();
    /** What each queue's last iteration was charged. */
    const lastMicros = new Map<QueueView, number>();
    /** Nothing is free, however short it was measured. */
    const ticketsOf = (queue: QueueView) =>
      queue.weight /
      Math.max(1, lastMicros.get(queue) ?? queue.iterationMicros(queue.bestRows));
    return {
      observe(event) {
        if (event.kind === "charge") lastMicros.set(event.queue, event.micros);
        if (event.kind === "queue_removed") lastMicros.delete(event.queue);
      },
      next({ ready }) {
        let tickets = 0;
        for (const queue of ready) tickets += ticketsOf(queue);
        let drawn = random() * tickets;
        let winner = ready[0];
        for (const queue of ready) {
          winner = queue;
          drawn -= ticketsOf(queue);
          if (drawn < 0) break;
        }
        return decision.of(winner, "drawn by lot");
      },
    };
  },
};
