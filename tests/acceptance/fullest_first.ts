/** The queue with the most rows first: a policy as a user writes one. */
import type { Decision, PolicyDefinition } from "../../policies/policy.ts";

/** A full queue waits no longer than this, whatever comes to the others. */
const PATIENCE_MICROS = 100_000;

const fullestFirst: PolicyDefinition = {
  name: "fullest_first",
  promises: { noStarvation: true, workConserving: true },
  create() {
    return {
      next({ ready, nowMicros }): Decision {
        let fullest = ready[0], oldest = ready[0];
        for (const queue of ready) {
          if (queue.rows > fullest.rows) fullest = queue;
          if (queue.oldestArrivalMicros < oldest.oldestArrivalMicros) oldest = queue;
        }
        return nowMicros - oldest.oldestArrivalMicros > PATIENCE_MICROS
          ? { run: oldest, rows: oldest.bestRows, because: "has waited" }
          : { run: fullest, rows: fullest.bestRows, because: "fullest" };
      },
    };
  },
};

export default fullestFirst;
