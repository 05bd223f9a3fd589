import assert from "node:assert/strict";
import { ModuleLoader } from "../../../ffi/cuda/module_loader.ts";
import { KERNELS, MANY_KERNELS } from "../../conformance/cuda/kernels.ts";
import { cudaTest } from "../../fixtures/cuda.ts";

const OUT_OF_MEMORY = 2;
const INVALID_CONTEXT = 201;

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
