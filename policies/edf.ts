/**
 * Earliest deadline first.
 *
 * ## What it optimises
 * Deadlines met: the queue that holds the request with the earliest deadline runs next, and inside a
 * queue the requests run in that order. If there is any order in which one lane meets the deadlines
 * of all that wait, this one does.
 *
 * ## When to use it
 * When clients send deadlines (`timeout`) and they differ: some have 20 ms, some have two seconds.
 *
 * ## What it costs
 * It looks at deadlines only: a long iteration with an early one goes before many short ones that
 * are due a little later. Under overload it would run what is late already, before what could still
 * make it. It does not, because the scheduler refuses on arrival, and drops when a batch is formed,
 * what by learned cost cannot end in time: this policy names the most pressing, the scheduler drops
 * it if it is hopeless and asks again. So nothing runs in vain, and who is dropped is whoever the
 * others left no time for. A sequence's deadline is that of all its iterations: while it is the
 * earliest, they run one after the other, and each is checked anew.
 *
 * What has no deadline, or a later one, is due {@linkcode DUE_MICROS} after it began to wait for its
 * next iteration. So nothing waits for ever, and sequences without deadlines take turns with each
 * other and with newcomers.
 *
 * @module
 */
import type { PolicyDefinition } from "./policy.ts";
import { RunDecision } from "./run_decision.ts";

/** When a request is due that has no deadline, or a later one: so long after it began to wait. */
export const DUE_MICROS = 10_000_000;

/** The earliest deadline first. */
export const edf: PolicyDefinition = {
  name: "edf",
  promises: { noStarvation: true, workConserving: true, takesTurns: true, deadlineOrder: true },
  create() {
    const decision = new RunDecision();
    return {
      rank({ waitingSinceMicros, deadlineMicros }) {
        return dueMicros(waitingSinceMicros, deadlineMicros);
      },
      next({ ready }) {
        let pressing = ready[0];
        let earliest = Infinity;
        for (const queue of ready) {
          const due = dueMicros(queue.waitingSinceMicros, queue.earliestDeadlineMicros);
          if (due < earliest) {
            pressing = queue;
            earliest = due;
          }
        }
        return decision.of(pressing, "earliest deadline");
      },
    };
  },
};

/** Of a request; and of a queue, whose earliest is that of its most pressing or longest waiting one. */
function dueMicros(waitingSinceMicros: number, deadlineMicros: number): number {
  return Math.min(deadlineMicros, waitingSinceMicros + DUE_MICROS);
}
