import assert from "node:assert/strict";
import { KernelArguments } from "../../../ffi/cuda/arguments.ts";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice, deviceCount } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { CudaEvent } from "../../../ffi/cuda/event.ts";
import { KernelLaunch } from "../../../ffi/cuda/launch.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { loadModule } from "../../../ffi/cuda/module.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { KERNELS } from "../../conformance/cuda/kernels.ts";
import { cudaTest } from "../../fixtures/cuda.ts";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";

const OUT_OF_MEMORY = 2;
const DEVICE_UNAVAILABLE = 46;
const ILLEGAL_ADDRESS = 700;

/** Runs `scale` on a number and returns what the device says that it took. */
function scaleMicros(context: Context, memory: DeviceMemory, count = 1): number {
  using module = loadModule(context, KERNELS, "kernels");
  using stream = new Stream(context);
  using start = new CudaEvent(context);
  using end = new CudaEvent(context);
  const args = new KernelArguments("pfi").setAll(memory.address, 2, count);
  start.record(stream);
  new KernelLaunch(module.function("scale"), { grid: [1], block: [64] }, args).enqueue(stream);
  end.record(stream);
  stream.synchronize();
  return end.elapsedMicros(start);
}

function numberIn(memory: DeviceMemory): number {
  const host = new Float32Array(1);
  memory.read(host);
  return host[0];
}

softwareGpuTest("configure() decides what devices there are", ({ path, control }) => {
  control.configure({ deviceCount: 2, computeCapability: 90, memoryBytes: 64 * 2 ** 20 });
  using driver = openDriver(path);
  assert.equal(deviceCount(driver), 2);
  const device = new CudaDevice(driver, 1);
  assert.deepEqual(device.computeCapability, { major: 9, minor: 0 });
  assert.equal(device.memoryBytes, 64 * 2 ** 20);
});

softwareGpuTest("configure() refuses a value that makes no sense", ({ control }) => {
  assert.throws(() => control.configure({ computeCapability: 7 }), {
    name: "RangeError",
    message: "The software GPU refuses computeCapability: 7",
  });
  assert.throws(() => control.configure({ threads: 0 }), /threads: 0/);
});

cudaTest("configure() bounds the largest allocation, as fragments do", (context, { control }) => {
  const bytes = 4 * 2 ** 20;
  control.configure({ largestFreeBlock: bytes });
  assert.throws(() => new DeviceMemory(context, bytes + 1), { code: OUT_OF_MEMORY });
  using _fits = new DeviceMemory(context, bytes);
});

softwareGpuTest("reset() brings the defaults back and voids every handle", ({ path, control }) => {
  control.configure({ deviceCount: 3 });
  {
    using driver = openDriver(path);
    using context = new Context(new CudaDevice(driver, 2));
    const memory = new DeviceMemory(context, 4096);
    control.inject("cuMemAlloc_v2", 1, OUT_OF_MEMORY);
    assert.equal(control.counter("liveAllocations"), 1);
    assert.ok(control.counter("liveHandles") > 0);
    control.reset();
    assert.equal(control.counter("liveAllocations"), 0);
    assert.equal(control.counter("liveBytes"), 0);
    assert.equal(control.counter("liveHandles"), 0);
    memory[Symbol.dispose]();
  }
  using driver = openDriver(path);
  assert.equal(deviceCount(driver), 1);
  using context = new Context(new CudaDevice(driver, 0));
  using _allowed = new DeviceMemory(context, 4096);
});

cudaTest("inject() has the call that was asked for fail, once", (context, { control }) => {
  control.inject("cuMemAlloc_v2", 2, OUT_OF_MEMORY);
  using _first = new DeviceMemory(context, 64);
  assert.throws(() => new DeviceMemory(context, 64), { code: OUT_OF_MEMORY });
  using _third = new DeviceMemory(context, 64);
});

softwareGpuTest("inject() knows the names of functions", ({ control }) => {
  assert.throws(() => control.inject("cuMemAlloc_v9", 1, 2), /code 2 for call 1 of cuMemAlloc_v9/);
  assert.throws(() => control.inject("cuMemAlloc_v2", 0, 2), RangeError);
});

softwareGpuTest("inject() of a fault makes every later call fail", ({ path, control }) => {
  {
    using driver = openDriver(path);
    using context = new Context(new CudaDevice(driver, 0));
    control.inject("cuCtxSynchronize", 1, ILLEGAL_ADDRESS);
    for (let i = 0; i < 2; i++) {
      assert.throws(() => context.synchronize(), { code: ILLEGAL_ADDRESS });
    }
    assert.throws(() => new DeviceMemory(context, 64), { code: ILLEGAL_ADDRESS });
  }
  control.reset();
  using driver = openDriver(path);
  using context = new Context(new CudaDevice(driver, 0));
  context.synchronize();
});

softwareGpuTest("loseDevice() makes every later call fail", ({ path, control }) => {
  using driver = openDriver(path);
  using context = new Context(new CudaDevice(driver, 0));
  control.loseDevice();
  assert.throws(() => context.synchronize(), { code: DEVICE_UNAVAILABLE });
  assert.match(control.faultMessage(), /lost/);
  control.reset();
});

cudaTest("counter() counts calls, launches and bytes", (context, { control }) => {
  const names = ["launches", "bytesToDevice", "bytesToHost", "bytesRead", "bytesWritten"] as const;
  assert.deepEqual(names.map((name) => control.counter(name)), [0, 0, 0, 0, 0]);
  using memory = new DeviceMemory(context, 64);
  memory.write(new Float32Array(16).fill(1));
  scaleMicros(context, memory, 16);
  assert.equal(numberIn(memory), 2);
  assert.deepEqual(names.map((name) => control.counter(name)), [1, 64, 4, 64, 64]);
  assert.equal(control.counter("calls:cuMemAlloc_v2"), 1);
  assert.equal(control.counter("calls:cuGraphLaunch"), 0);
  assert.ok(control.counter("calls") > 10);
  assert.ok(control.counter("instructions") > 10);
  assert.equal(control.counter("liveBytes"), 64);
});

cudaTest("delayKernel() makes one launch late", (context, { control }) => {
  using memory = new DeviceMemory(context, 4);
  control.delayKernel("scale", 2, 20_000_000);
  scaleMicros(context, memory);
  assert.ok(scaleMicros(context, memory) >= 20_000);
});

softwareGpuTest("delayKernel() of infinity hangs until a reset", ({ path, control }) => {
  using driver = openDriver(path);
  using context = new Context(new CudaDevice(driver, 0));
  using module = loadModule(context, KERNELS, "kernels");
  using memory = new DeviceMemory(context, 4);
  using stream = new Stream(context);
  control.delayKernel("scale", 1, Infinity);
  const args = new KernelArguments("pfi").setAll(memory.address, 2, 1);
  new KernelLaunch(module.function("scale"), { grid: [1], block: [1] }, args).enqueue(stream);
  assert.equal(stream.query(), false);
  control.reset();
  assert.equal(control.counter("liveHandles"), 0);
});

cudaTest("setKernelCost() counts in timed mode, with the arithmetic or without", (
  context,
  { control },
) => {
  using memory = new DeviceMemory(context, 4);
  memory.write(new Float32Array([1]));
  control.configure({ timed: true });
  control.setKernelCost("scale", 3_000_000);
  assert.ok(scaleMicros(context, memory) >= 3000);
  assert.equal(numberIn(memory), 2);
  control.configure({ skipArithmetic: true });
  assert.ok(scaleMicros(context, memory) >= 3000);
  assert.equal(numberIn(memory), 2);
});

softwareGpuTest("faultMessage() names kernel, block, thread and line", ({ path, control }) => {
  using driver = openDriver(path);
  using context = new Context(new CudaDevice(driver, 0));
  using memory = new DeviceMemory(context, 4);
  assert.equal(control.faultMessage(), "");
  assert.throws(() => scaleMicros(context, memory, 2), { code: ILLEGAL_ADDRESS });
  const line = KERNELS.split("\n").findIndex((text) => text.includes("ld.global.f32 %value")) + 1;
  const where = `in kernel scale, block (0,0,0), thread (1,0,0), PTX line ${line}`;
  assert.ok(control.faultMessage().endsWith(where), control.faultMessage());
  control.reset();
});
