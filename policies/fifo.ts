/**
 * First in, first out.
 *
 * ## What it optimises
 * The longest wait: the queue whose oldest request has waited longest runs next.
 *
 * ## When to use it
 * When all models matter alike and cost about the same. It is the default, and what takes over when
 * another policy breaks.
 *
 * ## What it costs
 * A model with long iterations, or with many requests, takes all it asks for: the others wait behind
 * it, however short they are.
 *
 * @module
 */
import type { PolicyDefinition } from "./policy.ts";
import { RunDecision } from "./run_decision.ts";

/** First in, first out among the queues that have work. */
export const fifo: PolicyDefinition = {
  name: "fifo",
  promises: { noStarvation: true, workConserving: true },
  create() {
    const decision = new RunDecision();
    return {
      next({ ready }) {
        let first = ready[0];
        for (let index = 1; index < ready.length; index++) {
          if (ready[index].oldestArrivalMicros < first.oldestArrivalMicros) first = ready[index];
        }
        return decision.of(first, "arrived first");
      },
    };
  },
};
