import assert from "node:assert/strict";
import { CudaError } from "../../../ffi/cuda/errors.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { PinnedMemory } from "../../../ffi/cuda/pinned.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { fails, pattern } from "../../conformance/cuda/case.ts";
import { Gate } from "../../conformance/cuda/gate.ts";
import { cudaTest } from "../../fixtures/cuda.ts";

const INVALID_VALUE = 1;
const OUT_OF_MEMORY = 2;
const INVALID_HANDLE = 400;
const ILLEGAL_STATE = 401;

cudaTest("DeviceMemory refuses sizes that are none", (context, { control }) => {
  for (const bytes of [0, -1, 1.5, NaN, Infinity, 2 ** 53]) {
    fails(INVALID_VALUE, "cuMemAlloc_v2", () => new DeviceMemory(context, bytes));
    fails(INVALID_VALUE, "cuMemHostAlloc", () => new PinnedMemory(context, bytes));
  }
  assert.equal(control.counter("calls:cuMemAlloc_v2"), 0);
});

cudaTest("DeviceMemory says how much room there is when there is none", (context) => {
  using _some = new DeviceMemory(context, 6 << 20);
  assert.throws(() => new DeviceMemory(context, 4 << 20), (error) => {
    assert.ok(error instanceof CudaError);
    assert.equal(error.code, OUT_OF_MEMORY);
    assert.equal(error.text, "no room for 4194304 bytes; 2097152 of 8388608 are free");
    return true;
  });
}, { memoryBytes: 8 << 20 });

cudaTest("DeviceMemory of more than any free block is out of memory", (context) => {
  fails(OUT_OF_MEMORY, "cuMemAlloc_v2", () => new DeviceMemory(context, 2 << 20));
  using _memory = new DeviceMemory(context, 1 << 20);
}, { largestFreeBlock: 1 << 20 });

cudaTest("copies over the ends are refused before the driver is asked", (context, { control }) => {
  using memory = new DeviceMemory(context, 100);
  using other = new DeviceMemory(context, 50);
  const before = control.counter("calls");
  for (const [bytes, offset] of [[101, 0], [1, 100], [10, 91], [10, -1], [10, 0.5], [10, NaN]]) {
    const host = new Uint8Array(bytes);
    fails(INVALID_VALUE, "cuMemcpyHtoD_v2", () => memory.write(host, offset));
    fails(INVALID_VALUE, "cuMemcpyDtoH_v2", () => memory.read(host, offset));
  }
  for (
    const range of [
      { offset: 51 },
      { sourceOffset: 51 },
      { bytes: 51 },
      { bytes: -1 },
      { bytes: 1.5 },
      { offset: 60, bytes: 41 },
    ]
  ) {
    fails(INVALID_VALUE, "cuMemcpyDtoDAsync_v2", () => memory.copyFrom(other, range));
  }
  fails(INVALID_VALUE, "cuMemsetD32Async", () => memory.fill({ bits: 32, value: 0 }, 0, 26));
  fails(INVALID_VALUE, "cuMemsetD32Async", () => memory.fill({ bits: 32, value: 0 }, 2, 1));
  fails(INVALID_VALUE, "cuMemsetD8Async", () => memory.fill({ bits: 8, value: 256 }));
  fails(INVALID_VALUE, "cuMemsetD16Async", () => memory.fill({ bits: 16, value: -1 }));
  fails(INVALID_VALUE, "cuMemcpyDtoDAsync_v2", () => {
    memory.copyFrom(memory, { offset: 5, bytes: 10 });
  });
  assert.equal(control.counter("calls"), before);
});

cudaTest("an error of a copy names what was given and what is there", (context) => {
  using memory = new DeviceMemory(context, 100);
  assert.throws(() => memory.write(new Uint8Array(8), 96), (error) => {
    assert.ok(error instanceof CudaError);
    assert.equal(
      error.message,
      "cuMemcpyHtoD_v2 failed with CUDA_ERROR_INVALID_VALUE (1): 8 bytes at offset 96 are not " +
        "within the device memory of 100 bytes. Expected offset and size to end at 100 at most.",
    );
    return true;
  });
});

cudaTest("write() and read() take arrays of any type, and parts of them", (context) => {
  using memory = new DeviceMemory(context, 64);
  memory.write(Float32Array.of(1, 2, 3, 4).subarray(1, 3), 8);
  const back = new Float32Array(4);
  memory.read(back.subarray(2), 8);
  assert.deepEqual(back, Float32Array.of(0, 0, 2, 3));
  memory.write(new DataView(Uint8Array.of(9, 8, 7).buffer, 1, 2));
  const bytes = new Uint8Array(2);
  memory.read(bytes);
  assert.deepEqual(bytes, Uint8Array.of(8, 7));
  memory.write(new Uint8Array(0));
});

cudaTest("DeviceMemory is not used once it has been freed, and not freed twice", (context, gpu) => {
  const memory = new DeviceMemory(context, 64);
  memory[Symbol.dispose]();
  memory[Symbol.dispose]();
  assert.equal(gpu.control.counter("calls:cuMemFree_v2"), 1);
  fails(INVALID_HANDLE, "cuMemcpyHtoD_v2", () => memory.write(new Uint8Array(8)));
  fails(INVALID_HANDLE, "cuMemcpyDtoH_v2", () => memory.read(new Uint8Array(8)));
  fails(INVALID_HANDLE, "address", () => memory.address);
});

cudaTest("memory that a copy in flight uses is not freed until it is done", (context) => {
  using stream = new Stream(context);
  const device = new DeviceMemory(context, 4096);
  const pinned = new PinnedMemory(context, 4096);
  using gate = new Gate(context);
  pinned.array.set(pattern(4096));
  gate.close(stream);
  device.write(pinned.array, 0, stream);
  // Asked first: freeing what is not refused would wait for the gate.
  for (const memory of [device, pinned]) fails(ILLEGAL_STATE, "test", () => memory.idle("test"));
  fails(ILLEGAL_STATE, "dispose", () => device[Symbol.dispose]());
  fails(ILLEGAL_STATE, "dispose", () => pinned[Symbol.dispose]());
  assert.deepEqual(pinned.array, pattern(4096), "nothing was detached");
  gate.open();
  stream.synchronize();
  pinned[Symbol.dispose]();
  device[Symbol.dispose]();
});

cudaTest("a copy on the device uses both ends until it is done", (context) => {
  using stream = new Stream(context);
  using source = new DeviceMemory(context, 64);
  using target = new DeviceMemory(context, 64);
  using gate = new Gate(context);
  gate.close(stream);
  target.copyFrom(source, {}, stream);
  for (const memory of [source, target]) fails(ILLEGAL_STATE, "test", () => memory.idle("test"));
  gate.open();
  stream.synchronize();
  for (const memory of [source, target]) memory.idle("test");
});

cudaTest("disposing finds out by itself that a copy is done", (context) => {
  using stream = new Stream(context);
  const device = new DeviceMemory(context, 4096);
  device.fill({ bits: 8, value: 1 }, 0, 4096, stream);
  context.synchronize(); // which tells the stream object nothing
  device[Symbol.dispose]();
});

cudaTest("PinnedMemory detaches its views, so that none reads what was freed", (context) => {
  using device = new DeviceMemory(context, 64);
  const pinned = new PinnedMemory(context, 64);
  const view = new Float32Array(pinned.buffer);
  view[0] = 1;
  assert.equal(pinned.bytes, 64);
  pinned[Symbol.dispose]();
  assert.equal(view.length, 0);
  assert.equal(view[0], undefined);
  assert.equal(pinned.bytes, 0);
  fails(INVALID_VALUE, "cuMemcpyHtoD_v2", () => device.write(view));
  fails(INVALID_VALUE, "cuMemcpyDtoH_v2", () => device.read(view));
});

cudaTest("copies are counted as the bytes that they are", (context, { control }) => {
  using memory = new DeviceMemory(context, 1000);
  memory.write(new Uint8Array(300));
  memory.read(new Uint8Array(200));
  assert.equal(control.counter("bytesToDevice"), 300);
  assert.equal(control.counter("bytesToHost"), 200);
});

cudaTest("every failure of the driver's is an error that names the call", (context, gpu) => {
  using stream = new Stream(context);
  using memory = new DeviceMemory(context, 64);
  using other = new DeviceMemory(context, 64);
  const host = new Uint8Array(64);
  const calls: Readonly<Record<string, () => unknown>> = {
    cuMemAlloc_v2: () => new DeviceMemory(context, 16),
    cuMemHostAlloc: () => new PinnedMemory(context, 16),
    cuMemGetInfo_v2: () => context.memoryInfo(),
    cuMemcpyHtoD_v2: () => memory.write(host),
    cuMemcpyDtoH_v2: () => memory.read(host),
    cuMemcpyHtoDAsync_v2: () => memory.write(host, 0, stream),
    cuMemcpyDtoHAsync_v2: () => memory.read(host, 0, stream),
    cuMemcpyDtoDAsync_v2: () => memory.copyFrom(other),
    cuMemsetD8Async: () => memory.fill({ bits: 8, value: 0 }),
    cuMemsetD16Async: () => memory.fill({ bits: 16, value: 0 }),
    cuMemsetD32Async: () => memory.fill({ bits: 32, value: 0 }),
    cuCtxSynchronize: () => context.synchronize(),
    cuCtxGetLimit: () => context.limit("stackBytes"),
    cuCtxSetLimit: () => context.setLimit("stackBytes", 4096),
    cuCtxGetStreamPriorityRange: () => context.streamPriorities(),
  };
  for (const [name, call] of Object.entries(calls)) {
    gpu.control.inject(name, 1, 801);
    fails(801, name, call);
    (call() as Disposable | undefined)?.[Symbol.dispose]?.();
  }
});

cudaTest("pinned memory that is out says nothing of the device's", (context, { control }) => {
  control.inject("cuMemHostAlloc", 1, 2);
  assert.throws(() => new PinnedMemory(context, 4096), {
    name: "CUDA_ERROR_OUT_OF_MEMORY",
    text: "the system gives no 4096 bytes of pinned memory",
    hint: "Free memory of the host, or raise what this process may lock (ulimit -l).",
  });
});

cudaTest("without a stream a copy to the device is done for every stream", (context, gpu) => {
  using memory = new DeviceMemory(context, 64);
  using other = new DeviceMemory(context, 64);
  const waits = () => gpu.control.counter("calls:cuStreamSynchronize");
  for (
    const copy of [
      () => memory.write(new Uint8Array(64)),
      () => memory.copyFrom(other),
      () => memory.fill({ bits: 8, value: 1 }),
    ]
  ) {
    const before = waits();
    copy();
    assert.equal(waits(), before + 1, "stream 0 was waited for");
  }
});

cudaTest("PinnedMemory is not freed while something else may reach it", (context) => {
  const pinned = new PinnedMemory(context, 64);
  const address = pinned.live("test");
  const transferred = pinned.buffer.transfer();
  pinned[Symbol.dispose]();
  fails(ILLEGAL_STATE, "cuMemFreeHost", () => context.enter());
  new Uint8Array(transferred).fill(1);
  transferred.transfer();
  context.driver.check("cuMemFreeHost", context.driver.symbols.cuMemFreeHost(address));
});

cudaTest("copies refuse host memory that may shrink beneath them", (context) => {
  using memory = new DeviceMemory(context, 64);
  using stream = new Stream(context);
  const view = new Uint8Array(new ArrayBuffer(64, { maxByteLength: 128 }));
  fails(INVALID_VALUE, "cuMemcpyHtoDAsync_v2", () => memory.write(view, 0, stream));
  fails(INVALID_VALUE, "cuMemcpyDtoHAsync_v2", () => memory.read(view, 0, stream));
});
