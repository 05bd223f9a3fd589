import assert from "node:assert/strict";
import { loadModule } from "../../../ffi/cuda/module.ts";
import { fatbinOf, KERNELS } from "../../conformance/cuda/kernels.ts";
import { cudaTest } from "../../fixtures/cuda.ts";

const OUT_OF_MEMORY = 2;
const NO_BINARY = 209;

cudaTest("loadModule() tells what the driver says without a log", (context, { control }) => {
  control.inject("cuModuleLoadDataEx", 1, OUT_OF_MEMORY);
  assert.throws(() => loadModule(context, KERNELS, "kernels"), {
    call: "cuModuleLoadDataEx",
    code: OUT_OF_MEMORY,
    name: "CUDA_ERROR_OUT_OF_MEMORY",
  });
});

cudaTest("loadModule() tells that the software GPU unpacks no fatbin", (context) => {
  for (const flag of [0x2000, 0x8000]) {
    const fatbin = fatbinOf(KERNELS);
    new DataView(fatbin.buffer).setUint16(16 + 40, flag, true);
    assert.throws(() => loadModule(context, fatbin, "packed"), {
      code: NO_BINARY,
      message: /PTX is compressed: build it with --no-compress/,
    });
  }
});

cudaTest("context and driver outlive a module", (context) => {
  using _module = loadModule(context, KERNELS, "kernels");
  assert.throws(() => context[Symbol.dispose](), /is still needed by module kernels/);
});
