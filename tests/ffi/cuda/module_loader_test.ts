import assert from "node:assert/strict";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { ModuleLoader } from "../../../ffi/cuda/module_loader.ts";
import { KERNELS, MANY_KERNELS } from "../../conformance/cuda/kernels.ts";
import { cudaTest } from "../../fixtures/cuda.ts";
import { softwareGpu, withFreshDevice } from "../../fixtures/software_gpu.ts";

const OUT_OF_MEMORY = 2;
const INVALID_CONTEXT = 201;
const ILLEGAL_STATE = 401;

cudaTest("load() tells when the Worker cannot enter the context", async (context, { control }) => {
  await using loader = new ModuleLoader(context);
  control.inject("cuCtxSetCurrent", 1, INVALID_CONTEXT);
  await assert.rejects(loader.load(MANY_KERNELS, "many"), {
    call: "cuCtxSetCurrent",
    code: INVALID_CONTEXT,
  });
  using module = await loader.load(MANY_KERNELS, "many");
  assert.equal(module.label, "module many");
});

cudaTest("load() tells what the driver says without a log", async (context, { control }) => {
  await using loader = new ModuleLoader(context);
  control.inject("cuModuleLoadDataEx", 1, OUT_OF_MEMORY);
  await assert.rejects(loader.load(MANY_KERNELS, "many"), {
    call: "cuModuleLoadDataEx",
    code: OUT_OF_MEMORY,
    name: "CUDA_ERROR_OUT_OF_MEMORY",
  });
});

cudaTest("load() of a small module starts no Worker", async (context, { control }) => {
  await using loader = new ModuleLoader(context);
  const small = KERNELS.slice(0, KERNELS.indexOf(".visible .entry scale_by_factor"));
  const loading = loader.load(small, "small");
  assert.equal(control.counter("calls:cuModuleLoadDataEx"), 1, "loaded before anything awaits");
  (await loading)[Symbol.dispose]();
});

Deno.test({
  name: "load() tells that its Worker has died",
  ignore: softwareGpu === undefined,
  permissions: { ffi: true, read: false }, // it may not even read its own code
  fn: () =>
    withFreshDevice(softwareGpu!, async ({ path }) => {
      using driver = openDriver(path);
      using context = new Context(new CudaDevice(driver, 0));
      await using loader = new ModuleLoader(context);
      for (let i = 0; i < 2; i++) {
        await assert.rejects(loader.load(MANY_KERNELS, "many"), {
          call: "cuModuleLoadDataEx",
          code: ILLEGAL_STATE,
          message: /the Worker that loads modules has died: .*module_loader_worker\.ts/,
        });
      }
    }),
});
