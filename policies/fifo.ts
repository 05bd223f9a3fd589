/**
 * First in, first out.
 *
 * ## What it optimises
 * The order of arrival: whichever request came first runs next, and one that takes many iterations
 * runs to its end. Where all take about the same, their average completion is the earliest so: taking
 * turns would end them all late.
 *
 * ## When to use it
 * When all models matter alike and requests cost about the same: plain ones, or jobs of like length
 * that run one after the other. It is what takes over when another policy breaks.
 *
 * ## What it costs
 * A model with long iterations, or with many requests, takes all it asks for: the others wait behind
 * it, however short they are. So does a single request of many iterations: while a text is generated
 * nothing else runs. Jobs alone hold up no request: the scheduler puts all others before them.
 *
 * @module
 */
import type { PolicyDefinition } from "./policy.ts";
import { RunDecision } from "./run_decision.ts";

/** First in, first out among all that waits. */
export const fifo: PolicyDefinition = {
  name: "fifo",
  promises: { noStarvation: true, workConserving: true },
  create() {
    const decision = new RunDecision();
    return {
      rank: ({ arrivedMicros }) => arrivedMicros,
      next({ ready }) {
        let first = ready[0];
        let earliest = Infinity;
        for (const queue of ready) {
          const arrivedMicros = queue.oldestArrivalMicros;
          if (arrivedMicros < earliest) {
            first = queue;
            earliest = arrivedMicros;
          }
        }
        return decision.of(first, "arrived first");
      },
    };
  },
};
