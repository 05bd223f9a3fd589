import assert from "node:assert/strict";
import { input, openVirtualEngine, sequenceModel } from "./fixture.ts";

Deno.test("answer() counts a sequence once, with the time of all its iterations", async () => {
  const costs = new Map([["s", { byRows: [[1, 100]] as const }]]);
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs });
  const served = sluice.engine.find("s");
  let iterations = 0;
  sluice.engine.openSequence({
    served,
    id: "",
    inputs: [input(1, 1)],
    priority: 0,
    timeoutMicros: 0,
    endless: false,
    advance: () => ++iterations < 5 ? [input(1, 1)] : "end",
    fail: assert.fail,
  });
  sluice.clock.advanceTo(250);
  assert.deepEqual(served.statistics.computeInfer, { count: 0, ns: 200_000 });
  sluice.clock.advanceTo(10_000);
  assert.deepEqual(served.statistics.computeInfer, { count: 1, ns: 500_000 });
  assert.deepEqual(served.statistics.queue, { count: 1, ns: 0 });
});
