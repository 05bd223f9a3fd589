/**
 * Strict priority, with ageing.
 *
 * ## What it optimises
 * The wait of what is most urgent: of the queues with work, the one that holds the most urgent
 * request runs next; among equals, the one that has waited longest for an iteration, so that requests
 * of many iterations take turns.
 *
 * ## When to use it
 * When some requests are interactive and others can wait, and clients or models say which
 * (`priority`: 1 is most urgent).
 *
 * ## What it costs
 * Under overload the urgent take nearly all. So that the rest does not starve, a queue that has
 * waited for a second without an iteration gets one out of turn, and then waits again; at most every
 * second iteration goes that way (`patience.ts`).
 *
 * Inside a queue a level of priority is worth {@linkcode LEVEL_MICROS} of waiting for an iteration: a
 * request is overtaken only by more urgent ones that come within that time per level of difference.
 *
 * @module
 */
import { Patience } from "./patience.ts";
import type { PolicyDefinition } from "./policy.ts";
import { RunDecision } from "./run_decision.ts";

/** What one level of priority is worth inside a queue. */
export const LEVEL_MICROS = 100_000;

/** The most urgent first; nothing with work waits for ever. */
export const priority: PolicyDefinition = {
  name: "priority",
  promises: { noStarvation: true, workConserving: true, takesTurns: true, strictPriority: true },
  create() {
    const decision = new RunDecision();
    const patience = new Patience();
    return {
      rank(request) {
        return request.waitingSinceMicros + request.priority * LEVEL_MICROS;
      },
      next(snapshot) {
        const overdue = patience.overdue(snapshot);
        if (overdue !== undefined) return decision.of(overdue, "waited too long");
        const { ready } = snapshot;
        let urgent = ready[0];
        let top = Infinity;
        let since = Infinity;
        for (const queue of ready) {
          const level = queue.topPriority;
          if (level < top || (level === top && queue.waitingSinceMicros < since)) {
            urgent = queue;
            top = level;
            since = queue.waitingSinceMicros;
          }
        }
        return decision.of(urgent, "most urgent");
      },
    };
  },
};
