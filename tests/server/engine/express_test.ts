import assert from "node:assert/strict";
import type { CostTable } from "../../../models/simulated/cost.ts";
import { openVirtualEngine, testModel } from "./fixture.ts";

const COSTS = new Map<string, CostTable>([
  ["long", { byRows: [[1, 10_000]] }],
  ["short", { byRows: [[1, 100], [8, 800]] }],
  ["middling", { byRows: [[1, 300]] }],
]);

/** A busy gateway: `long` occupies both lanes. */
async function busy(expressMicros: number, depth = 1) {
  const models = [...COSTS.keys()].map((name) => testModel(name));
  const sluice = await openVirtualEngine(models, { costs: COSTS, depth }, {
    lanes: 2,
    expressMicros,
  });
  const pass = (micros: number) => sluice.clock.advanceTo(sluice.clock.nowMicros() + micros);
  for (const model of COSTS.keys()) {
    sluice.send(model); // its cost is known from then on
    pass(20_000);
  }
  const occupy = () => {
    sluice.send("long", { rows: 8 });
    pass(1);
  };
  occupy();
  occupy();
  return { ...sluice, pass, [Symbol.asyncDispose]: () => sluice[Symbol.asyncDispose]() };
}

for (const depth of [1, 2]) {
  Deno.test(`a short iteration does not wait behind long ones: depth ${depth}`, async () => {
    await using sluice = await busy(250, depth);
    const short = sluice.send("short"), middling = sluice.send("middling");
    sluice.pass(150);
    assert.ok(short[0].outputs);
    assert.equal(short[0].timing?.lane, sluice.engine.lanes().at(-1)!.id);
    sluice.pass(1000);
    assert.equal(middling.length, 0, "is not that short");
    sluice.pass(30_000);
    assert.ok(middling[0].outputs);
  });
}

Deno.test("without an express lane the short wait as well", async () => {
  await using sluice = await busy(0);
  const short = sluice.send("short");
  sluice.pass(5000);
  assert.equal(short.length, 0);
  assert.equal(sluice.engine.lanes().length, 2);
  sluice.pass(30_000);
  assert.ok(short[0].outputs);
});

Deno.test("what was never run does not take the express lane: its cost is not known", async () => {
  await using sluice = await busy(250);
  const unknown = sluice.send("short", { rows: 3 });
  const inputs = [{
    ...{ name: "x", datatype: "FP32" as const },
    shape: [1, 4],
    data: new Uint8Array(16),
  }];
  assert.equal(unknown.length, 0);
  sluice.repository.models.set("new", [testModel("new")]);
  await sluice.engine.load("new");
  const first = sluice.send("new", { inputs });
  sluice.pass(5000);
  assert.equal(first.length, 0);
  sluice.pass(30_000);
  assert.ok(first[0].outputs);
});

Deno.test("on the express lane a batch stays short, whatever the policy asks for", async () => {
  await using sluice = await busy(250);
  const sent = Array.from({ length: 8 }, () => sluice.send("short"));
  sluice.pass(2000);
  for (const [{ timing, outputs }] of sent) {
    assert.ok(outputs);
    assert.ok(timing!.computeMicros <= 250, `${timing!.batchRows} rows`);
  }
});
