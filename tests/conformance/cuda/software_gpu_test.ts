import assert from "node:assert/strict";
import { type SymbolName, SYMBOLS } from "../../../ffi/cuda/symbols.ts";
import { cudaTest } from "../../fixtures/cuda.ts";
import { softwareGpu } from "../../fixtures/software_gpu.ts";
import { runCase } from "./case.ts";
import { CASES } from "./suite.ts";

const called = new Set<SymbolName>();

for (const each of CASES) {
  cudaTest(`software GPU: ${each.name}`, async (context, { control }) => {
    await runCase(each, context);
    for (const name of Object.keys(SYMBOLS) as SymbolName[]) {
      if (control.counter(`calls:${name}`) > 0) called.add(name);
    }
  });
}

Deno.test({
  name: "the conformance suite calls every function of the table",
  ignore: softwareGpu === undefined,
  fn() {
    const missing = Object.keys(SYMBOLS).filter((name) => !called.has(name as SymbolName));
    // A context is given back after the case that ran in it.
    assert.deepEqual(missing, []);
  },
});
