/** Time of one decision among 100 ready queues: `deno bench -A tests/policies/decision_bench.ts`. */
import { contain } from "../../policies/contained.ts";
import { POLICIES } from "../../policies/mod.ts";
import { queueView, snapshotOf } from "./views.ts";

const queues = Array.from(
  { length: 100 },
  (_, index) => queueView(`model ${index}`, { oldestArrivalMicros: (index * 37) % 100 }),
);

for (const [name, definition] of POLICIES) {
  const policy = contain(definition.create({ random: () => 0 }), (fault) => {
    throw new Error(fault);
  });
  for (const queue of queues) policy.observe?.({ kind: "queue_added", queue });
  let nowMicros = 0;
  Deno.bench(name, () => {
    nowMicros += 10;
    const decision = policy.next(snapshotOf(queues, nowMicros));
    if (!("run" in decision)) throw new Error("It idles");
    const queue = queues.find((queue) => queue === decision.run)!;
    queue.lastServedMicros = nowMicros;
    policy.observe?.({ kind: "charge", queue, nowMicros, rows: 1, micros: 100 });
  });
}
