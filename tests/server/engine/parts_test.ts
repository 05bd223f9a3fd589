import assert from "node:assert/strict";
import fc from "fast-check";
import { CostCurve } from "../../../server/engine/cost.ts";
import { Heap, type HeapItem } from "../../../server/engine/heap.ts";
import { MemoryLedger } from "../../../server/engine/memory.ts";

interface Item extends HeapItem {
  readonly key: number;
  readonly order: number;
}

Deno.test("Heap gives items in order, whatever is removed from its middle", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(50), fc.boolean()), { maxLength: 200 }), (steps) => {
      const before = (a: Item, b: Item) => a.key !== b.key ? a.key < b.key : a.order < b.order;
      const heap = new Heap<Item>(before);
      let model: Item[] = [];
      steps.forEach(([key, removes], order) => {
        if (removes && model.length > 0) {
          const victim = model[key % model.length];
          heap.remove(victim);
          assert.equal(victim.heapIndex, -1);
          model = model.filter((item) => item !== victim);
        } else {
          const item = { key, order, heapIndex: -1 };
          heap.push(item);
          model.push(item);
        }
        for (const item of model) assert.equal(heap.items[item.heapIndex], item);
      });
      model.sort((a, b) => before(a, b) ? -1 : 1);
      assert.deepEqual(Array.from({ length: heap.size }, () => heap.pop()), model);
      assert.equal(heap.pop(), undefined);
    }),
  );
});

/** The batch that a curve settles on when `waiting` rows are always there. */
function settles(costOf: (rows: number) => number, waiting: number, slack = Infinity): number {
  const curve = new CostCurve();
  let rows = 0;
  for (let i = 0; i < 60; i++) {
    rows = curve.best(waiting, 32, slack);
    curve.observe(rows, costOf(rows));
  }
  return rows;
}

Deno.test("CostCurve.best() fills the batch where a row gets cheaper", () => {
  assert.equal(settles((rows) => 20 + 2 * rows, 32), 32);
  assert.equal(settles((rows) => 20 + 2 * rows, 100), 32, "at most maxRows");
  assert.equal(settles((rows) => 20 + 2 * rows, 5), 5);
});

Deno.test("CostCurve.best() does not batch where a row gets dearer or stays as it was", () => {
  assert.equal(settles((rows) => 32 * rows ** 1.3, 32), 1); // a real text recogniser
  assert.equal(settles((rows) => 100 * rows, 32), 1);
});

Deno.test("CostCurve.best() finds the size in the middle", () => {
  const angle = new Map([[1, 2300], [2, 3400], [4, 5600], [8, 10400], [16, 30000], [32, 83000]]);
  assert.equal(settles((rows) => angle.get(rows)!, 32), 8);
});

Deno.test("CostCurve.best() does not give up a size whose first iterations were slow", () => {
  let slow = 2;
  const costOf = (rows: number) => 20 + 2 * rows + (rows === 4 && slow-- > 0 ? 1000 : 0);
  assert.equal(settles(costOf, 32), 32);
});

Deno.test("CostCurve.best() keeps within the slack of the waiting deadlines", () => {
  assert.equal(settles((rows) => 20 + 20 * rows, 32, 100), 4);
  assert.equal(settles((rows) => 20 + 20 * rows, 32, 1), 1, "a row at least");
});

Deno.test("CostCurve.best() notices when the world has changed", () => {
  const curve = new CostCurve();
  const run = (times: number, costOf: (rows: number) => number) => {
    let rows = 0;
    for (let i = 0; i < times; i++) {
      curve.observe(rows = curve.best(32, 32, Infinity), costOf(rows));
    }
    return rows;
  };
  assert.equal(run(100, (rows) => 100 * rows), 1);
  assert.equal(run(10_000, (rows) => 100 + rows), 32);
});

Deno.test("CostCurve.estimate() lies between the sizes it knows", () => {
  const curve = new CostCurve();
  assert.equal(curve.estimate(4), 0, "nothing known");
  curve.observe(8, 800);
  assert.equal(curve.estimate(4), 800, "fewer rows cost no more");
  assert.equal(curve.estimate(16), 1600);
  curve.observe(1, 100);
  assert.equal(curve.estimate(2), 200);
  assert.equal(curve.samples, 2);
});

Deno.test("MemoryLedger never lets weights and lanes exceed the capacity", () => {
  const step = fc.record({
    kind: fc.constantFrom("take", "release", "lane"),
    who: fc.nat(4),
    bytes: fc.nat(60),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const ledger = new MemoryLedger(100);
      const owners = Array.from({ length: 5 }, () => ({ bytes: 0 }));
      const lanes = [0, 0, 0, 0, 0];
      const sum = () =>
        owners.reduce((sum, { bytes }) => sum + bytes, 0) + lanes.reduce((a, b) => a + b, 0);
      for (const { kind, who, bytes } of steps) {
        const owner = owners[who];
        if (kind === "release" || (kind === "take" && owner.bytes > 0)) {
          ledger.releasePersistent(owner);
          owner.bytes = 0;
        } else {
          const more = kind === "take" ? bytes : bytes - lanes[who];
          const act = () =>
            kind === "take" ? ledger.takePersistent(owner, "m", bytes) : ledger.setLane(who, bytes);
          if (sum() + more <= 100) {
            act();
            if (kind === "take") owner.bytes = bytes;
            else lanes[who] = bytes;
          } else assert.throws(act, /bytes, but only \d+ of 100 are free/);
        }
        assert.equal(ledger.freeBytes, 100 - sum());
      }
    }),
  );
});
