import assert from "node:assert/strict";
import { fifo } from "../../policies/fifo.ts";
import { queueView, requestView, snapshotOf } from "./views.ts";

Deno.test("fifo runs the queue whose oldest request arrived first, with its best rows", () => {
  const late = queueView("late", { oldestArrivalMicros: 3 });
  const early = queueView("early", { oldestArrivalMicros: 1, rows: 9, bestRows: 8 });
  const same = queueView("same", { oldestArrivalMicros: 1 });
  const decision = fifo.create({ random: () => 0 }).next(snapshotOf([late, early, same]));
  assert.deepEqual(decision, { run: early, rows: 8, because: "arrived first" });
});

Deno.test("fifo ranks by arrival, so that a request of many iterations runs to its end", () => {
  const { rank } = fifo.create({ random: () => 0 });
  const begun = requestView({ arrivedMicros: 5, waitingSinceMicros: 90, iterationsTotal: 500 });
  assert.ok(rank!(begun) < rank!(requestView({ arrivedMicros: 6, waitingSinceMicros: 6 })));
});
