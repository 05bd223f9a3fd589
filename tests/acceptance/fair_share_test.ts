import assert from "node:assert/strict";
import { openVirtualEngine, sequenceModel, testModel } from "../server/engine/fixture.ts";

/** Costs spread 10x; the last one joins half way. */
const MODELS = [
  { name: "a", micros: 1000, weight: 1 },
  { name: "b", micros: 10_000, weight: 1 },
  { name: "c", micros: 3000, weight: 2 },
  { name: "d", micros: 5500, weight: 3 },
  { name: "late", micros: 2000, weight: 1 },
];
const WINDOW_MICROS = 5_000_000;

/** Jain's index of equality: 1 when all are equal. */
function jain(values: readonly number[]): number {
  const sum = values.reduce((total, value) => total + value, 0);
  return sum ** 2 / (values.length * values.reduce((total, value) => total + value ** 2, 0));
}

for (const lanes of [1, 2]) {
  Deno.test(`fair gives backlogged models device time by their weights, a late one included: ${lanes} lanes`, async () => {
    await using sluice = await openVirtualEngine(
      MODELS.map(({ name, weight }) =>
        // One of them has a single sequence that is always there, the others many requests.
        name === "c" ? { ...sequenceModel(name), weight } : testModel(name, { weight })
      ),
      { costs: new Map(MODELS.map(({ name, micros }) => [name, { byRows: [[1, micros]] }])) },
      { lanes },
    );
    sluice.engine.setPolicy("fair");
    let over = false;
    const backlog = (name: string) => {
      const again = () => void (over || sluice.send(name, { onAnswer: again }));
      for (let index = 0; index < 24; index++) again();
    };
    const input = { name: "x", datatype: "FP32", shape: [1, 4], data: new Uint8Array(16) } as const;
    for (let index = 0; index < 24; index++) {
      sluice.engine.openSequence({
        served: sluice.engine.find("c"),
        id: "",
        inputs: [input],
        priority: 0,
        timeoutMicros: 0,
        endless: false,
        advance: () => over ? "end" : [input],
        fail: (error) => over || assert.fail(error),
      });
    }
    for (const { name } of MODELS) if (name !== "c" && name !== "late") backlog(name);
    const charged = () =>
      MODELS.map(({ name }) => sluice.engine.find(name).statistics.chargedMicros);
    let before = charged();
    const checkWindow = (present: readonly { name: string; weight: number }[]) => {
      sluice.clock.advanceTo(sluice.clock.nowMicros() + WINDOW_MICROS);
      const after = charged();
      const served = MODELS.map((_, index) => after[index] - before[index]);
      before = after;
      const total = served.reduce((sum, micros) => sum + micros, 0);
      const weights = present.reduce((sum, { weight }) => sum + weight, 0);
      const perWeight = present.map(({ name, weight }) => {
        const share = served[MODELS.findIndex((model) => model.name === name)] / total;
        assert.ok(Math.abs(share / (weight / weights) - 1) < 0.05, `${name} got ${share}`);
        return share / weight;
      });
      assert.ok(jain(perWeight) >= 0.98);
    };
    checkWindow(MODELS.slice(0, 4));
    backlog("late");
    checkWindow(MODELS);
    checkWindow(MODELS);
    over = true;
  });
}
