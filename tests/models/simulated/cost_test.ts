import assert from "node:assert/strict";
import { costFromSize, iterationMicros } from "../../../models/simulated/cost.ts";
import { floatModel, floatStep } from "./fixtures.ts";

Deno.test("iterationMicros() interpolates between rows and goes on beyond them", () => {
  const table = { byRows: [[2, 100], [4, 140], [8, 160]] } as const;
  const micros = [1, 2, 3, 4, 6, 8, 16].map((rows) => iterationMicros(table, floatStep(rows)));
  assert.deepEqual(micros, [100, 100, 120, 140, 150, 160, 200]);
});

Deno.test("iterationMicros() takes one pair for any number of rows", () => {
  assert.equal(iterationMicros({ byRows: [[1, 70]] }, floatStep(9)), 70);
});

Deno.test("iterationMicros() never falls below 0 where the slope does", () => {
  assert.equal(iterationMicros({ byRows: [[1, 100], [2, 40]] }, floatStep(9)), 0);
});

Deno.test("iterationMicros() prefers what is known of exact shapes", () => {
  const bySignature = new Map([["3x2", 7]]);
  const table = { byRows: [[1, 100]] as const, bySignature };
  assert.equal(iterationMicros(table, floatStep(3)), 7);
  assert.equal(iterationMicros(table, floatStep(4)), 100);
});

Deno.test("costFromSize() makes rows cheaper together than apart, and size dear", () => {
  const small = costFromSize(floatModel("small"));
  const large = costFromSize({ ...floatModel("large"), fileBytes: 10_000_000 });
  const [one, eight] = [iterationMicros(large, floatStep(1)), iterationMicros(large, floatStep(8))];
  assert.ok(eight < 8 * one);
  assert.ok(one > iterationMicros(small, floatStep(1)));
});
