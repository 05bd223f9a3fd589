import assert from "node:assert/strict";
import { cudaTest } from "../../fixtures/cuda.ts";
import { CudaGpu } from "../../kernels/cuda_gpu.ts";
import { runAll } from "../../kernels/kernel_case.ts";
import { MODES } from "../../kernels/modes.ts";
import { shippedModules } from "../../kernels/shipped.ts";

for (const [mode, options] of Object.entries(MODES)) {
  for (const { name, ptx, cases } of shippedModules()) {
    cudaTest(
      `shipped kernels of ${name} are right, ${mode}`,
      (context) => runAll(cases, new CudaGpu(context), ptx),
      options,
    );
  }
}

Deno.test("every shipped kernel has a case", () => {
  for (const { name, ptx, cases } of shippedModules()) {
    for (const [, kernel] of ptx.matchAll(/\.visible \.entry (\w+)\(/g)) {
      assert.ok(
        cases.some((one) => one.name.split(/[ ,]/)[0] === kernel),
        `${kernel} of ${name} has no case`,
      );
    }
  }
});
