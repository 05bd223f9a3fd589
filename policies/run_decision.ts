/**
 * The decision that a policy fills in anew every turn instead of allocating one.
 *
 * @module
 */
import type { Decision, QueueView } from "./policy.ts";

/** Makes the decisions of one policy; each is valid until the next is made. */
export class RunDecision {
  #decision?: { run: QueueView; rows: number; because: string };

  /** Run this queue, with as many rows as the engine thinks best. */
  of(queue: QueueView, because: string): Decision {
    const decision = this.#decision ??= { run: queue, rows: 0, because };
    decision.run = queue;
    decision.rows = queue.bestRows;
    decision.because = because;
    return decision;
  }
}
