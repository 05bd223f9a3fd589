import assert from "node:assert/strict";
import { openVirtualEngine, testModel } from "./fixture.ts";

Deno.test("Watchdog: an overdue iteration fails readiness, is reported once, and recovers", async () => {
  let hang = false;
  await using sluice = await openVirtualEngine([testModel("m")], {
    costs: new Map([["m", { byRows: [[1, 1000]] }]]),
    faults: { iteration: () => hang ? "hang" : undefined },
  });
  for (let i = 0; i < 10; i++) {
    sluice.send("m");
    sluice.clock.advanceTo(sluice.clock.nowMicros() + 2000);
  }
  assert.equal(sluice.engine.notReadyReason(), undefined);
  hang = true;
  const stuck = sluice.send("m");
  sluice.clock.advanceTo(sluice.clock.nowMicros() + 900_000);
  assert.equal(sluice.engine.notReadyReason(), undefined, "not before a second");
  sluice.clock.advanceTo(sluice.clock.nowMicros() + 1_200_000);
  assert.match(sluice.engine.notReadyReason()!, /model 'm\/1' .* has been running on lane 0/);
  assert.equal(sluice.reports.length, 1);
  hang = false;
  sluice.device.releaseHung();
  sluice.clock.advanceTo(sluice.clock.nowMicros() + 10_000);
  assert.ok(stuck[0].outputs);
  assert.equal(sluice.engine.notReadyReason(), undefined);
});

Deno.test("Watchdog: an iteration stays overdue when one that became so later ends", async () => {
  let hang = false;
  await using sluice = await openVirtualEngine([testModel("stuck"), testModel("slow")], {
    costs: new Map([
      ["stuck", { byRows: [[1, 1000]] }],
      ["slow", { byRows: [[1, 1000], [2, 3_000_000]] }],
    ]),
    faults: { iteration: ({ name }) => hang && name === "stuck" ? "hang" : undefined },
  }, { lanes: 2 });
  const advance = (micros: number) => sluice.clock.advanceTo(sluice.clock.nowMicros() + micros);
  for (const model of ["stuck", "slow"]) {
    sluice.send(model);
    advance(2000);
  }
  hang = true;
  sluice.send("stuck");
  advance(1_000_000);
  const slow = sluice.send("slow", { rows: 2 });
  advance(2_500_000);
  assert.equal(sluice.reports.length, 2);
  advance(1_000_000);
  assert.ok(slow[0].outputs);
  assert.match(sluice.engine.notReadyReason()!, /model 'stuck\/1'/);
  hang = false;
  sluice.device.releaseHung();
});

Deno.test("Watchdog: waiting behind another iteration on the lane is no running", async () => {
  await using sluice = await openVirtualEngine([testModel("long"), testModel("quick")], {
    depth: 2,
    ephemeralBytes: () => 100,
    costs: new Map([
      ["long", { byRows: [[1, 3_000_000]] }],
      ["quick", { byRows: [[1, 1000], [2, 800_000]] }],
    ]),
  });
  sluice.send("quick");
  sluice.clock.advanceTo(2000);
  sluice.send("long");
  sluice.clock.advanceTo(3000);
  const behind = sluice.send("quick", { rows: 2 });
  sluice.clock.advanceTo(4000);
  assert.deepEqual(sluice.engine.lanes()[0].running, ["long", "quick"]);
  sluice.clock.advanceTo(10e6);
  assert.equal(behind[0].atMicros, 3_802_000);
  assert.deepEqual(sluice.reports, []);
});
