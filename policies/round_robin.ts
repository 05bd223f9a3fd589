/**
 * Round robin: one iteration each, in turn.
 *
 * ## What it optimises
 * Equal numbers of iterations: of the queues with work, the one whose last turn lies furthest back
 * runs next, and inside a queue the request that has waited longest. A queue waits for at most one
 * iteration of every other, however many iterations their requests take.
 *
 * ## When to use it
 * When models cost about the same and none may hold up the others by the number of its requests, or
 * by how long they go on.
 *
 * ## What it costs
 * Iterations count alike, whatever they take: a model of 50 ms gets fifty times the device time of
 * one of 1 ms. Where costs differ, use `fair`. Requests that take many iterations end late, all of
 * them at about the same time, as with every policy that takes turns.
 *
 * @module
 */
import type { PolicyDefinition, QueueView } from "./policy.ts";
import { RunDecision } from "./run_decision.ts";

/** One iteration each, in turn, among the queues that have work. */
export const roundRobin: PolicyDefinition = {
  name: "round_robin",
  promises: { noStarvation: true, workConserving: true, takesTurns: true },
  create() {
    const decision = new RunDecision();
    /** The number of each queue's last turn; a newcomer's is that of the turn it came in. */
    const lastTurn = new Map<QueueView, number>();
    let turn = 0;
    return {
      observe(event) {
        if (event.kind === "queue_added") lastTurn.set(event.queue, turn);
        if (event.kind === "queue_removed") lastTurn.delete(event.queue);
      },
      next({ ready }) {
        let chosen = ready[0];
        let furthest = Infinity;
        for (const queue of ready) {
          const last = lastTurn.get(queue) ?? 0;
          if (last < furthest) {
            chosen = queue;
            furthest = last;
          }
        }
        lastTurn.set(chosen, ++turn);
        return decision.of(chosen, "next in turn");
      },
    };
  },
};
