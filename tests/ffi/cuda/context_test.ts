import assert from "node:assert/strict";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { CudaError } from "../../../ffi/cuda/errors.ts";
import { CudaEvent } from "../../../ffi/cuda/event.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { fails } from "../../conformance/cuda/case.ts";
import { cudaTest } from "../../fixtures/cuda.ts";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";

const INVALID_VALUE = 1;
const ILLEGAL_STATE = 401;
const INVALID_CONTEXT = 201;
const INVALID_HANDLE = 400;

cudaTest("Context makes itself current once, not for every call", (context, { control }) => {
  const before = control.counter("calls:cuCtxSetCurrent");
  for (let i = 0; i < 10; i++) context.memoryInfo();
  assert.equal(control.counter("calls:cuCtxSetCurrent"), before);
});

cudaTest("Context refuses to be used once it has been disposed", (context) => {
  const other = new Context(context.device);
  other[Symbol.dispose]();
  fails(INVALID_HANDLE, "cuCtxSetCurrent", () => other.memoryInfo());
  context.memoryInfo();
});

cudaTest("Context is not disposed before what belongs to it", (context) => {
  using other = new Context(context.device);
  {
    using _memory = new DeviceMemory(other, 4096);
    assert.throws(() => other[Symbol.dispose](), (error) => {
      assert.ok(error instanceof CudaError);
      assert.equal(error.code, ILLEGAL_STATE);
      assert.match(
        error.text,
        /context of device 0 is still needed by device memory of 4096 bytes/,
      );
      return true;
    });
    other.memoryInfo();
  }
});

softwareGpuTest("CudaDriver is not closed before its contexts", (gpu) => {
  const driver = openDriver(gpu.path);
  const context = new Context(new CudaDevice(driver, 0));
  fails(ILLEGAL_STATE, "dispose", () => driver[Symbol.dispose]());
  context[Symbol.dispose]();
  driver[Symbol.dispose]();
});

softwareGpuTest("what belongs to different contexts does not work together", (gpu) => {
  gpu.control.configure({ deviceCount: 2 });
  using driver = openDriver(gpu.path);
  using first = new Context(new CudaDevice(driver, 0));
  using second = new Context(new CudaDevice(driver, 1));
  using stream = new Stream(first);
  using event = new CudaEvent(second);
  using memory = new DeviceMemory(second, 16);
  using other = new DeviceMemory(first, 16);
  fails(INVALID_CONTEXT, "cuEventRecord", () => event.record(stream));
  fails(INVALID_CONTEXT, "cuStreamWaitEvent", () => stream.wait(event));
  using early = new CudaEvent(first);
  fails(INVALID_CONTEXT, "cuEventElapsedTime", () => event.elapsedMicros(early));
  fails(INVALID_CONTEXT, "cuMemcpyHtoDAsync_v2", () => memory.write(new Uint8Array(16), 0, stream));
  fails(INVALID_CONTEXT, "cuMemcpyDtoDAsync_v2", () => memory.copyFrom(other));
});

softwareGpuTest("each operation works in its own context, whichever was current", (gpu) => {
  gpu.control.configure({ deviceCount: 2 });
  using driver = openDriver(gpu.path);
  using first = new Context(new CudaDevice(driver, 0));
  using second = new Context(new CudaDevice(driver, 1));
  using a = new DeviceMemory(first, 1 << 20);
  using b = new DeviceMemory(second, 1 << 21);
  assert.equal(first.memoryInfo().free, first.memoryInfo().total - a.bytes);
  assert.equal(second.memoryInfo().free, second.memoryInfo().total - b.bytes);
});

softwareGpuTest("a context that is destroyed underneath is an error, and no more", (gpu) => {
  const reset = Deno.dlopen(gpu.path, {
    cuDevicePrimaryCtxReset_v2: { parameters: ["i32"], result: "i32" },
  });
  try {
    using driver = openDriver(gpu.path);
    using context = new Context(new CudaDevice(driver, 0));
    const memory = new DeviceMemory(context, 16);
    const stream = new Stream(context);
    assert.equal(reset.symbols.cuDevicePrimaryCtxReset_v2(0), 0);
    for (const use of [() => memory.write(new Uint8Array(16)), () => stream.query()]) {
      assert.throws(use, CudaError);
    }
    stream[Symbol.dispose]();
    memory[Symbol.dispose]();
    assert.throws(() => context.enter(), CudaError, "what disposing met");
  } finally {
    reset.close();
  }
});

cudaTest("an error of disposing is thrown by the next operation, once", (context, { control }) => {
  const memory = new DeviceMemory(context, 4096);
  const { free } = context.memoryInfo();
  control.inject("cuMemFree_v2", 1, 1);
  const address = memory.address;
  memory[Symbol.dispose]();
  fails(1, "cuMemFree_v2", () => new DeviceMemory(context, 16));
  assert.equal(context.memoryInfo().free, free, "the operation itself was not begun");
  context.driver.check("cuMemFree_v2", context.driver.symbols.cuMemFree_v2(address));
});

softwareGpuTest("a fault is kept, told to listeners, and does not spoil disposing", (gpu) => {
  using driver = openDriver(gpu.path);
  using context = new Context(new CudaDevice(driver, 0));
  using stream = new Stream(context);
  const memory = new DeviceMemory(context, 4096);
  memory.fill({ bits: 8, value: 1 }, 0, 4096, stream);
  const told: CudaError[] = [];
  driver.onFault((fault) => told.push(fault));
  gpu.control.inject("cuStreamQuery", 1, 700);
  fails(700, "cuStreamQuery", () => stream.query());
  assert.equal(told.length, 1);
  assert.equal(driver.fault, told[0]);
  assert.ok(told[0].sticky);
  assert.throws(() => memory.write(new Uint8Array(16)), (error) => {
    assert.ok(error instanceof CudaError && error.sticky);
    return true;
  });
  assert.equal(told.length, 1);
  memory[Symbol.dispose]();
  assert.ok(memory.disposed, "nothing is in flight any more");
  driver.raiseDeferred(); // that it could not be freed is no news
  gpu.control.reset(); // the way out that only a test has
});

softwareGpuTest("Context stays usable when another driver object of the library goes", (gpu) => {
  using driver = openDriver(gpu.path);
  using context = new Context(new CudaDevice(driver, 0));
  {
    using again = openDriver(gpu.path);
    using other = new Context(new CudaDevice(again, 0));
    context.memoryInfo();
    other.memoryInfo();
  }
  using stream = new Stream(context);
  stream.synchronize();
});

cudaTest("setLimit() refuses what is no size", (context) => {
  for (const bytes of [-1, 0.5, NaN, 2 ** 60]) {
    fails(INVALID_VALUE, "cuCtxSetLimit", () => context.setLimit("stackBytes", bytes));
  }
});
