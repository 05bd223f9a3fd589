import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { KernelArguments } from "../../../ffi/cuda/arguments.ts";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { CudaEvent } from "../../../ffi/cuda/event.ts";
import { captureGraph } from "../../../ffi/cuda/graph.ts";
import { KernelLaunch } from "../../../ffi/cuda/launch.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { loadModule } from "../../../ffi/cuda/module.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { fails } from "../../conformance/cuda/case.ts";
import { KERNELS } from "../../conformance/cuda/kernels.ts";
import { cudaTest } from "../../fixtures/cuda.ts";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";

const INVALID_VALUE = 1;
const INVALID_CONTEXT = 201;

cudaTest("enqueue() is one call of the driver", (context, { control }) => {
  using module = loadModule(context, KERNELS, "kernels");
  using memory = new DeviceMemory(context, 4);
  using stream = new Stream(context);
  const args = new KernelArguments("pfi").setAll(memory.address, 2, 1);
  const kernel = module.function("scale");
  for (const cooperative of [false, true]) {
    const launch = new KernelLaunch(kernel, { grid: [1], block: [32], cooperative }, args);
    const before = control.counter("calls");
    for (let i = 0; i < 10; i++) launch.enqueue(stream);
    assert.equal(control.counter("calls") - before, 10);
  }
});

cudaTest("an iteration replayed as a graph is one call of the driver", (context, { control }) => {
  using module = loadModule(context, KERNELS, "kernels");
  using memory = new DeviceMemory(context, 4);
  using stream = new Stream(context);
  using start = new CudaEvent(context);
  using end = new CudaEvent(context);
  const args = new KernelArguments("pfi").setAll(memory.address, 2, 1);
  const launch = new KernelLaunch(module.function("scale"), { grid: [1], block: [32] }, args);
  using graph = captureGraph(stream, () => {
    start.recordInGraph(stream);
    for (let i = 0; i < 8; i++) launch.enqueue(stream);
    end.recordInGraph(stream);
  });
  using exec = graph.instantiate();
  const before = control.counter("calls");
  exec.launch(stream);
  assert.equal(control.counter("calls") - before, 1);
  stream.synchronize();
  assert.equal(control.counter("launches"), 8);
});

softwareGpuTest("ten thousand launches force no major garbage collection", async ({ path }) => {
  const loop = fileURLToPath(new URL("./launch_loop.ts", import.meta.url));
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--allow-ffi", "--v8-flags=--trace-gc", loop, path],
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  const [, during] = new TextDecoder().decode(stdout).match(/^begin$(.*)^end$/ms)!;
  assert.doesNotMatch(during, /Mark-Compact/);
});

cudaTest("launches refuse a stream of another context", (context) => {
  using other = new Context(new CudaDevice(context.driver, 1));
  using stream = new Stream(other);
  using module = loadModule(context, KERNELS, "kernels");
  const args = new KernelArguments("pfi");
  for (const cooperative of [false, true]) {
    const shape = { grid: [1], block: [1], cooperative };
    const launch = new KernelLaunch(module.function("scale"), shape, args);
    assert.throws(() => launch.enqueue(stream), { code: INVALID_CONTEXT });
  }
  using own = new Stream(context);
  using graph = captureGraph(own, () => {});
  using exec = graph.instantiate();
  assert.throws(() => exec.launch(stream), { call: "cuGraphLaunch", code: INVALID_CONTEXT });
  assert.throws(() => exec.upload(stream), { call: "cuGraphUpload", code: INVALID_CONTEXT });
}, { deviceCount: 2 });

cudaTest("a launch that the driver refuses names the call", (context, { control }) => {
  using module = loadModule(context, KERNELS, "kernels");
  using stream = new Stream(context);
  const args = new KernelArguments("pfi");
  const launch = new KernelLaunch(module.function("scale"), { grid: [1], block: [1] }, args);
  control.inject("cuLaunchKernel", 1, 701);
  assert.throws(() => launch.enqueue(stream), {
    call: "cuLaunchKernel",
    code: 701,
    name: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    hint: /more threads, registers or shared memory/,
  });
});

cudaTest("CudaFunction refuses numbers that the driver cannot be given", (context) => {
  using module = loadModule(context, KERNELS, "kernels");
  const kernel = module.function("scale");
  const calls = {
    cuFuncSetAttribute: (count: number) => kernel.setMaxDynamicSharedBytes(count),
    cuOccupancyMaxActiveBlocksPerMultiprocessor: (count: number) =>
      kernel.blocksPerMultiprocessor(count),
    cuOccupancyMaxPotentialBlockSize: (count: number) => kernel.suggestedLaunch(count),
  };
  for (const [name, call] of Object.entries(calls)) {
    for (const count of [-1, 0.5, NaN, 2 ** 32 + 32]) fails(INVALID_VALUE, name, () => call(count));
  }
  const name = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
  fails(INVALID_VALUE, name, () => kernel.blocksPerMultiprocessor(32, 0.5));
});
