/**
 * Shortest iteration first, with ageing: a policy to copy. Put the copy anywhere, let the import
 * below point to this folder (it is erased when the file runs, so the path matters to editors only),
 * and start the gateway with `--policy ./mine.ts`. See `docs/policies.md`.
 *
 * ## What it optimises
 * The average wait: a queue whose next iteration is short does not wait behind a long one.
 *
 * ## When to use it
 * When costs differ much and the short requests are the interactive ones.
 *
 * ## What it costs
 * Long iterations wait more than their share; ageing bounds by how much.
 *
 * @module
 */
import type { Decision, PolicyDefinition, QueueView } from "./policy.ts";

/** How many microseconds of iteration one microsecond of waiting makes up for. */
const AGEING = 0.1;

/** Shortest iteration first; waiting makes up for length. */
const shortestFirst: PolicyDefinition = {
  name: "shortest_first",
  // What the conformance suite will hold the policy to.
  promises: { noStarvation: true, workConserving: true, takesTurns: true },

  // Called once per gateway, and again at every switch: keep state in here, not in the module.
  // It may draw on `random()` of its argument, never on Math.random or the time: the same events
  // must give the same decisions.
  create() {
    return {
      // rank(request) orders the requests inside a queue; without it, whichever has waited longest
      // for an iteration is next, and requests of many iterations take turns.
      // observe(event) tells of arrivals, cancellations and charges; this policy needs none.

      // Called for every iteration: which of the queues in `ready` runs on `lane`, how many rows.
      next({ ready, nowMicros }): Decision {
        let best = ready[0];
        for (const queue of ready) {
          if (score(queue, nowMicros) < score(best, nowMicros)) best = queue;
        }
        return { run: best, rows: best.bestRows, because: "shortest, for its wait" };
      },
    };
  },
};

export default shortestFirst;

function score(queue: QueueView, nowMicros: number): number {
  const waited = nowMicros - queue.waitingSinceMicros;
  return queue.iterationMicros(queue.bestRows) - AGEING * waited;
}
