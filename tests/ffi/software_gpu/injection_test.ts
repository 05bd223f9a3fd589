import assert from "node:assert/strict";
import { GATE } from "../../conformance/cuda/gate.ts";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import {
  Arguments,
  Code,
  launch,
  ok,
  type RawDriver,
  RawGate,
  STORE,
  withContext,
} from "./raw_driver.ts";

/** A kernel `store`, and a word for it to store into. */
function storing(driver: RawDriver) {
  const memory = driver.alloc(4), module = driver.load(STORE);
  const store = driver.function(module, "store");
  return {
    memory,
    store: (value = 1, stream = 0n, at = memory) =>
      launch(driver, store, stream, new Arguments(at, value)),
    [Symbol.dispose]() {
      driver.cu.cuMemFree_v2(memory);
      driver.cu.cuModuleUnload(module);
    },
  };
}

softwareGpuTest("the nth next call fails, and only that", (gpu) =>
  withContext(gpu, (driver) => {
    const { cu, out } = driver;
    gpu.control.inject("cuMemGetInfo_v2", 2, Code.OUT_OF_MEMORY);
    gpu.control.inject("cuMemGetInfo_v2", 3, Code.INVALID_VALUE);
    const codes = Array.from({ length: 4 }, () => cu.cuMemGetInfo_v2(out, new Uint8Array(8)));
    assert.deepEqual(codes, [0, Code.OUT_OF_MEMORY, Code.INVALID_VALUE, 0]);
    assert.equal(gpu.control.counter("calls:cuMemGetInfo_v2"), 4);
    assert.throws(() => gpu.control.inject("cuNothing", 1, 1), RangeError);
  }));

softwareGpuTest(
  "a call that fails by request has done nothing",
  (gpu) =>
    withContext(gpu, (driver) => {
      gpu.control.inject("cuMemAlloc_v2", 1, Code.OUT_OF_MEMORY);
      assert.equal(driver.cu.cuMemAlloc_v2(driver.out, 64n), Code.OUT_OF_MEMORY);
      assert.equal(gpu.control.counter("liveAllocations"), 0);
    }),
);

softwareGpuTest(
  "a sticky failure stays until a reset, for every call",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      gpu.control.inject("cuStreamSynchronize", 1, Code.ILLEGAL_ADDRESS);
      assert.equal(cu.cuStreamSynchronize(0n), Code.ILLEGAL_ADDRESS);
      assert.equal(cu.cuMemAlloc_v2(out, 4n), Code.ILLEGAL_ADDRESS);
      assert.equal(cu.cuDeviceGetCount(out), Code.ILLEGAL_ADDRESS);
      assert.equal(cu.cuInit(0), Code.ILLEGAL_ADDRESS);
      gpu.control.reset();
      assert.equal(cu.cuDeviceGetCount(out), Code.NOT_INITIALIZED);
      ok(cu.cuInit(0));
      assert.equal(cu.cuMemAlloc_v2(out, 4n), Code.INVALID_CONTEXT, "as in a new process");
    }),
);

softwareGpuTest(
  "a kernel's fault is told by whoever waits, and names kernel and line",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      using kernel = storing(driver);
      ok(kernel.store(1, 0n, kernel.memory + 4n));
      assert.equal(cu.cuCtxSynchronize(), Code.ILLEGAL_ADDRESS);
      const line = STORE.split("\n").findIndex((text) => text.includes("st.global")) + 1;
      const message = gpu.control.faultMessage();
      assert.match(message, /kernel store, block \(0,0,0\), thread \(0,0,0\)/);
      assert.match(message, new RegExp(`PTX line ${line}\\b`));
      assert.match(message, /behind the end of an allocation of 4/);
      assert.equal(kernel.store(), Code.ILLEGAL_ADDRESS);
      gpu.control.reset();
    }),
);

softwareGpuTest(
  "a lost device ends waiting, and kernels that hang",
  (gpu) =>
    withContext(gpu, (driver) => {
      using kernel = storing(driver);
      gpu.control.delayKernel("store", 1, Infinity);
      ok(kernel.store());
      assert.equal(driver.cu.cuStreamQuery(0n), Code.NOT_READY);
      gpu.control.loseDevice();
      const code = driver.cu.cuStreamSynchronize(0n);
      assert.notEqual(code, 0);
      assert.equal(driver.cu.cuMemAlloc_v2(driver.out, 4n), code);
      gpu.control.reset();
    }),
);

softwareGpuTest("a reset ends kernels that hang, and those that run for ever", (gpu) => {
  withContext(gpu, (driver) => {
    using kernel = storing(driver);
    const spinning = driver.function(driver.load(GATE), "gate");
    ok(driver.cu.cuMemsetD32_v2(kernel.memory, 0, 1n));
    gpu.control.delayKernel("store", 1, Infinity);
    ok(kernel.store(1, driver.stream()));
    ok(launch(driver, spinning, driver.stream(), new Arguments(kernel.memory)));
    gpu.control.reset();
  });
  assert.equal(gpu.control.counter("liveHandles"), 0);
  assert.equal(gpu.control.counter("liveBytes"), 0);
  withContext(gpu, (driver) => {
    using kernel = storing(driver);
    ok(kernel.store(6));
    assert.deepEqual(driver.readWords(kernel.memory, 1), [6]);
  });
});

softwareGpuTest("a kernel beyond the instruction budget times out", (gpu) => {
  gpu.control.configure({ instructionBudget: 10_000 });
  withContext(gpu, (driver) => {
    const memory = driver.alloc(4);
    ok(driver.cu.cuMemsetD32_v2(memory, 0, 1n));
    const spinning = driver.function(driver.load(GATE), "gate");
    ok(launch(driver, spinning, 0n, new Arguments(memory)));
    assert.equal(driver.cu.cuStreamSynchronize(0n), Code.LAUNCH_TIMEOUT);
    assert.match(gpu.control.faultMessage(), /budget of 10000 instructions/);
    gpu.control.reset();
  });
});

softwareGpuTest(
  "the nth launch of a kernel is late, and none before it",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      using kernel = storing(driver);
      const event = driver.event();
      gpu.control.delayKernel("store", 2, Infinity);
      ok(kernel.store(1));
      ok(cu.cuEventRecord(event, 0n));
      ok(kernel.store(2));
      ok(cu.cuEventSynchronize(event));
      assert.equal(cu.cuStreamQuery(0n), Code.NOT_READY);
      gpu.control.reset();
    }),
);

softwareGpuTest("a late launch takes the time it was given", (gpu) =>
  withContext(gpu, (driver) => {
    const { cu, out } = driver;
    using kernel = storing(driver);
    gpu.control.delayKernel("store", 1, 20e6);
    const begin = driver.event(), end = driver.event();
    ok(cu.cuEventRecord(begin, 0n));
    ok(kernel.store());
    ok(cu.cuEventRecord(end, 0n));
    ok(cu.cuCtxSynchronize());
    assert.ok(driver.float(cu.cuEventElapsedTime(out, begin, end)) >= 20);
    for (const event of [begin, end]) ok(cu.cuEventDestroy_v2(event));
  }));

softwareGpuTest(
  "in timed mode kernels take what the table says, without arithmetic if asked",
  (gpu) => {
    gpu.control.configure({ timed: true, skipArithmetic: true, defaultKernelNanos: 3e6 });
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      using kernel = storing(driver);
      ok(cu.cuMemsetD32_v2(kernel.memory, 0, 1n));
      const begin = driver.event(), middle = driver.event(), end = driver.event();
      ok(cu.cuEventRecord(begin, 0n));
      ok(kernel.store());
      ok(cu.cuEventRecord(middle, 0n));
      ok(cu.cuCtxSynchronize());
      gpu.control.setKernelCost("store", 20e6);
      ok(kernel.store());
      ok(cu.cuEventRecord(end, 0n));
      ok(cu.cuCtxSynchronize());
      assert.ok(driver.float(cu.cuEventElapsedTime(out, begin, middle)) >= 3);
      assert.ok(driver.float(cu.cuEventElapsedTime(out, middle, end)) >= 20);
      assert.deepEqual(driver.readWords(kernel.memory, 1), [0], "nothing was stored");
      assert.equal(gpu.control.counter("launches"), 2);
      for (const event of [begin, middle, end]) ok(cu.cuEventDestroy_v2(event));
    });
  },
);

softwareGpuTest(
  "counters tell calls, launches, bytes, and what is left",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const { control } = gpu;
      {
        using kernel = storing(driver);
        const module = 1, context = 1;
        assert.equal(control.counter("liveHandles"), module + context);
        assert.equal(control.counter("liveBytes"), 4);
        ok(cu.cuMemcpyHtoD_v2(kernel.memory, new Uint8Array(4), 4n));
        ok(kernel.store());
        driver.readWords(kernel.memory, 1);
        assert.equal(control.counter("launches"), 1);
        assert.equal(control.counter("bytesToDevice"), 4);
        assert.equal(control.counter("bytesToHost"), 4);
        assert.ok(control.counter("bytesWritten") > 0);
        assert.ok(control.counter("instructions") >= 8);
        assert.equal(control.counter("calls:cuLaunchKernel"), 1);
      }
      const stream = driver.stream();
      assert.equal(control.counter("liveHandles"), 2);
      ok(cu.cuStreamDestroy_v2(stream));
      assert.equal(control.counter("liveBytes"), 0);
      assert.equal(control.counter("calls:cuNothing"), 0);
    }),
);

softwareGpuTest("what waits behind a fault is dropped, not done", (gpu) => {
  withContext(gpu, (driver) => {
    const { cu } = driver;
    using kernel = storing(driver);
    const stream = driver.stream();
    const to = new Uint8Array(4);
    using gate = new RawGate(driver);
    gate.hold(stream);
    ok(kernel.store(1, stream, kernel.memory + 4n));
    ok(cu.cuMemsetD32Async(kernel.memory, 1, 1n, stream));
    ok(cu.cuMemcpyDtoHAsync_v2(to, kernel.memory, 4n, stream));
    gate.open();
    assert.equal(cu.cuStreamSynchronize(stream), Code.ILLEGAL_ADDRESS);
    assert.deepEqual([...to], [0, 0, 0, 0]);
  });
  gpu.control.reset();
});
