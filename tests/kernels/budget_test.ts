import assert from "node:assert/strict";
import { overBudget } from "./budget.ts";
import { shippedModules } from "./shipped.ts";

const WITHIN = { registers: 1, sharedBytes: 0, spillBytes: 0 };

Deno.test("overBudget() says what a kernel takes beyond its budget", () => {
  const uses = new Map([["gemm_f32", { registers: 255, sharedBytes: 99_999, spillBytes: 4 }]]);
  assert.deepEqual(overBudget(90, uses).map((line) => line.replace(/\d+$/, "N")), [
    "gemm_f32 takes 255 registers on sm_90; its budget is N",
    "gemm_f32 takes 99999 bytes of shared memory on sm_90; its budget is N",
    "gemm_f32 takes 4 bytes of spills on sm_90; its budget is N",
  ]);
});

Deno.test("overBudget() asks for the budget of a kernel that has none", () => {
  assert.match(
    overBudget(80, new Map([["unheard_of", WITHIN]])).join(),
    /unheard_of has no budget/,
  );
});

Deno.test("overBudget() knows every shipped kernel", () => {
  for (const { ptx } of shippedModules()) {
    for (const [, kernel] of ptx.matchAll(/\.visible \.entry (\w+)\(/g)) {
      assert.deepEqual(overBudget(80, new Map([[kernel, WITHIN]])), []);
    }
  }
});
