import assert from "node:assert/strict";
import { fifo } from "../../policies/fifo.ts";
import { queueView, snapshotOf } from "./views.ts";

Deno.test("fifo runs the queue whose oldest request arrived first, with its best rows", () => {
  const late = queueView("late", { oldestArrivalMicros: 3 });
  const early = queueView("early", { oldestArrivalMicros: 1, rows: 9, bestRows: 8 });
  const same = queueView("same", { oldestArrivalMicros: 1 });
  const decision = fifo.create({ random: () => 0 }).next(snapshotOf([late, early, same]));
  assert.deepEqual(decision, { run: early, rows: 8, because: "arrived first" });
});
