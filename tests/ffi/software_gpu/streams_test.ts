import assert from "node:assert/strict";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import {
  ADD,
  Arguments,
  Code,
  launch,
  ok,
  type RawDriver,
  RawGate,
  STORE,
  withContext,
} from "./raw_driver.ts";

/** Queries until a stream is idle, as a program does that has other things to do. */
function poll({ cu }: RawDriver, stream: bigint): void {
  let status;
  do status = cu.cuStreamQuery(stream); while (status === Code.NOT_READY);
  ok(status);
}

softwareGpuTest("a stream does one thing after the other", (gpu) =>
  withContext(gpu, (driver) => {
    const { cu } = driver;
    const stream = driver.stream(), memory = driver.alloc(4), module = driver.load(ADD);
    const add = driver.function(module, "add");
    ok(cu.cuMemsetD32Async(memory, 0, 1n, stream));
    for (let value = 1; value <= 100; value++) {
      ok(launch(driver, add, stream, new Arguments(memory, value)));
    }
    poll(driver, stream);
    assert.deepEqual(driver.readWords(memory, 1), [5050]);
    ok(cu.cuStreamDestroy_v2(stream));
    ok(cu.cuMemFree_v2(memory));
    ok(cu.cuModuleUnload(module));
  }));

softwareGpuTest(
  "streams go on beside one that is held up, on a single processor too",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const held = driver.stream(), free = driver.stream(), memory = driver.alloc(4);
      const module = driver.load(STORE), store = driver.function(module, "store");
      using gate = new RawGate(driver);
      gate.hold(held);
      ok(launch(driver, store, free, new Arguments(memory, 3)));
      ok(cu.cuStreamSynchronize(free));
      assert.equal(cu.cuStreamQuery(held), Code.NOT_READY);
      gate.open();
      ok(cu.cuStreamSynchronize(held));
      assert.deepEqual(driver.readWords(memory, 1), [3]);
      for (const stream of [held, free]) ok(cu.cuStreamDestroy_v2(stream));
      ok(cu.cuMemFree_v2(memory));
      ok(cu.cuModuleUnload(module));
    }),
);

softwareGpuTest(
  "the default stream and blocking streams wait for each other",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const blocking = driver.stream(0), other = driver.stream(0), independent = driver.stream(1);
      const memory = driver.alloc(4);
      using gate = new RawGate(driver);
      gate.hold(blocking);
      ok(cu.cuMemsetD32Async(memory, 1, 1n, 0n));
      ok(cu.cuMemsetD32Async(memory, 2, 1n, other));
      ok(cu.cuMemsetD32Async(memory, 3, 1n, independent));
      ok(cu.cuStreamSynchronize(independent));
      assert.equal(cu.cuStreamQuery(0n), Code.NOT_READY, "the default stream, for the held one");
      assert.equal(cu.cuStreamQuery(other), Code.NOT_READY, "the other, for the default stream");
      gate.open();
      ok(cu.cuStreamSynchronize(other));
      assert.deepEqual(driver.readWords(memory, 1), [2]);
      for (const stream of [blocking, other, independent]) ok(cu.cuStreamDestroy_v2(stream));
      ok(cu.cuMemFree_v2(memory));
    }),
);

softwareGpuTest(
  "a stream that waits for an event comes behind what was recorded then",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const first = driver.stream(), second = driver.stream();
      const event = driver.event(), memory = driver.alloc(4);
      using gate = new RawGate(driver);
      gate.hold(first);
      ok(cu.cuMemsetD32Async(memory, 1, 1n, first));
      ok(cu.cuEventRecord(event, first));
      ok(cu.cuStreamWaitEvent(second, event, 0));
      ok(cu.cuMemsetD32Async(memory, 2, 1n, second));
      assert.equal(cu.cuStreamQuery(second), Code.NOT_READY);
      assert.equal(cu.cuEventQuery(event), Code.NOT_READY);
      gate.open();
      ok(cu.cuStreamSynchronize(second));
      assert.deepEqual(driver.readWords(memory, 1), [2]);
      for (const stream of [first, second]) ok(cu.cuStreamDestroy_v2(stream));
      ok(cu.cuEventDestroy_v2(event));
      ok(cu.cuMemFree_v2(memory));
    }),
);

softwareGpuTest(
  "an event that was never recorded is done and has no time",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      const event = driver.event(), other = driver.event(), untimed = driver.event(2);
      ok(cu.cuEventQuery(event));
      ok(cu.cuEventSynchronize(event));
      ok(cu.cuStreamWaitEvent(0n, event, 0));
      assert.equal(cu.cuEventElapsedTime(out, event, other), Code.INVALID_HANDLE);
      for (const recorded of [event, other, untimed]) ok(cu.cuEventRecord(recorded, 0n));
      ok(cu.cuCtxSynchronize());
      assert.ok(driver.float(cu.cuEventElapsedTime(out, event, other)) >= 0);
      assert.equal(cu.cuEventElapsedTime(out, event, untimed), Code.INVALID_HANDLE);
      for (const destroyed of [event, other, untimed]) ok(cu.cuEventDestroy_v2(destroyed));
    }),
);

softwareGpuTest(
  "the time between events cannot be told while one is not reached",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      const stream = driver.stream(), begin = driver.event(), end = driver.event();
      ok(cu.cuEventRecord(begin, stream));
      using gate = new RawGate(driver);
      gate.hold(stream);
      ok(cu.cuEventRecord(end, stream));
      assert.equal(cu.cuEventElapsedTime(out, begin, end), Code.NOT_READY);
      gate.open();
      ok(cu.cuEventSynchronize(end));
      assert.ok(driver.float(cu.cuEventElapsedTime(out, begin, end)) > 0);
      ok(cu.cuStreamDestroy_v2(stream));
      for (const event of [begin, end]) ok(cu.cuEventDestroy_v2(event));
    }),
);

softwareGpuTest(
  "a stream that is destroyed still does what it was told",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const stream = driver.stream(), memory = driver.alloc(4);
      using gate = new RawGate(driver);
      gate.hold(stream);
      ok(cu.cuMemsetD32Async(memory, 9, 1n, stream));
      ok(cu.cuStreamDestroy_v2(stream));
      assert.equal(cu.cuMemsetD32Async(memory, 8, 1n, stream), Code.INVALID_HANDLE);
      gate.open();
      ok(cu.cuCtxSynchronize());
      assert.deepEqual(driver.readWords(memory, 1), [9]);
      ok(cu.cuMemFree_v2(memory));
    }),
);

softwareGpuTest(
  "freeing memory that is in use waits for what uses it",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const stream = driver.stream(), memory = driver.alloc(4), module = driver.load(STORE);
      gpu.control.delayKernel("store", 1, 20e6);
      ok(launch(driver, driver.function(module, "store"), stream, new Arguments(memory, 1)));
      ok(cu.cuMemFree_v2(memory));
      ok(cu.cuStreamQuery(stream));
      assert.equal(gpu.control.faultMessage(), "");
      ok(cu.cuStreamDestroy_v2(stream));
      ok(cu.cuModuleUnload(module));
    }),
);

softwareGpuTest(
  "an asynchronous copy reads and writes host memory in its turn, not before",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const stream = driver.stream(), memory = driver.alloc(4);
      const from = Uint8Array.of(1, 1, 1, 1), to = new Uint8Array(4);
      using gate = new RawGate(driver);
      gate.hold(stream);
      ok(cu.cuMemcpyHtoDAsync_v2(memory, from, 4n, stream));
      ok(cu.cuMemcpyDtoHAsync_v2(to, memory, 4n, stream));
      from.fill(2);
      assert.deepEqual([...to], [0, 0, 0, 0]);
      gate.open();
      ok(cu.cuStreamSynchronize(stream));
      assert.deepEqual([...to], [2, 2, 2, 2]);
      ok(cu.cuStreamDestroy_v2(stream));
      ok(cu.cuMemFree_v2(memory));
    }),
);

softwareGpuTest("fresh memory is poisoned in adversarial mode", (gpu) => {
  gpu.control.configure({ adversarialSeed: 7 });
  withContext(gpu, (driver) => {
    const memory = driver.alloc(8);
    assert.deepEqual([...driver.read(memory, 8)], Array(8).fill(0xff));
    ok(driver.cu.cuMemFree_v2(memory));
  });
});

softwareGpuTest(
  "priorities are kept within what the device has",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      for (const [asked, given] of [[-3, -3], [-99, -5], [7, 0]]) {
        const stream = driver.handle(cu.cuStreamCreateWithPriority(out, 1, asked));
        assert.equal(driver.int(cu.cuStreamGetPriority(stream, out)), given);
        ok(cu.cuStreamDestroy_v2(stream));
      }
      assert.equal(cu.cuStreamCreateWithPriority(out, 8, 0), Code.INVALID_VALUE);
    }),
);

softwareGpuTest("several processors share one grid", (gpu) => {
  gpu.control.configure({ threads: 3 });
  withContext(gpu, (driver) => {
    const { cu } = driver;
    const memory = driver.alloc(4 * 64 * 200), module = driver.load(STORE);
    const store = driver.function(module, "store");
    const size = { grid: [200], block: [64] } as const;
    for (let value = 1; value <= 5; value++) {
      ok(launch(driver, store, 0n, new Arguments(memory, value), size));
    }
    assert.deepEqual(new Set(driver.readWords(memory, 64 * 200)), new Set([5]));
    ok(cu.cuMemFree_v2(memory));
    ok(cu.cuModuleUnload(module));
  });
});
