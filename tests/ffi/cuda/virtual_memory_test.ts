import assert from "node:assert/strict";
import fc from "fast-check";
import { ChunkPool } from "../../../ffi/cuda/chunk_pool.ts";
import { PinnedMemory } from "../../../ffi/cuda/pinned.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { VirtualRange } from "../../../ffi/cuda/virtual_memory.ts";
import { fails, pattern } from "../../conformance/cuda/case.ts";
import { Gate } from "../../conformance/cuda/gate.ts";
import { cudaTest } from "../../fixtures/cuda.ts";
import { VirtualMemoryModel, type VirtualMemoryStep } from "./virtual_memory_model.ts";

const INVALID_VALUE = 1;
const OUT_OF_MEMORY = 2;
const MAP_FAILED = 205;
const INVALID_HANDLE = 400;
const ILLEGAL_STATE = 401;
const CHUNK = 2 << 20;

cudaTest("VirtualRange reserves whole chunks and maps none", (context) => {
  using pool = new ChunkPool(context);
  const { free } = context.memoryInfo();
  using range = new VirtualRange(pool, CHUNK + 1);
  assert.equal(range.reservedBytes, 2 * CHUNK);
  assert.equal(range.bytes, 0);
  assert.equal(context.memoryInfo().free, free);
  fails(INVALID_VALUE, "cuMemcpyHtoD_v2", () => range.write(new Uint8Array(1)));
});

cudaTest("resize() maps as many chunks as the bytes need", (context) => {
  using pool = new ChunkPool(context);
  using range = new VirtualRange(pool, 4 * CHUNK);
  for (
    const [bytes, chunks] of [[1, 1], [CHUNK, 1], [CHUNK + 1, 2], [4 * CHUNK, 4], [5, 1], [0, 0]]
  ) {
    range.resize(bytes);
    assert.equal(range.bytes, chunks * CHUNK);
    assert.equal(pool.counts.taken, chunks);
  }
});

cudaTest("resize() refuses more than is reserved, and what is no size", (context) => {
  using pool = new ChunkPool(context);
  using range = new VirtualRange(pool, 2 * CHUNK);
  for (const bytes of [2 * CHUNK + 1, -1, 0.5, NaN, Infinity]) {
    fails(INVALID_VALUE, "cuMemMap", () => range.resize(bytes));
  }
  assert.equal(range.bytes, 0);
});

cudaTest("resize() maps nothing when there is too little memory", (context) => {
  using pool = new ChunkPool(context);
  using range = new VirtualRange(pool, 9 * CHUNK);
  range.resize(2 * CHUNK);
  range.write(pattern(64), CHUNK);
  fails(OUT_OF_MEMORY, "cuMemCreate", () => range.resize(9 * CHUNK));
  assert.equal(range.bytes, 2 * CHUNK);
  assert.deepEqual(pool.counts, { created: 2, pooled: 0, taken: 2 });
  const back = new Uint8Array(64);
  range.read(back, CHUNK);
  assert.deepEqual(back, pattern(64));
  range.resize(8 * CHUNK);
}, { memoryBytes: 8 * CHUNK });

for (const [call, nth] of [["cuMemMap", 2], ["cuMemSetAccess", 1]] as const) {
  cudaTest(`resize() maps nothing when ${call} fails`, (context, { control }) => {
    using pool = new ChunkPool(context);
    using range = new VirtualRange(pool, 4 * CHUNK);
    range.resize(CHUNK);
    range.write(pattern(64));
    control.inject(call, nth, MAP_FAILED);
    fails(MAP_FAILED, call, () => range.resize(4 * CHUNK));
    assert.equal(range.bytes, CHUNK);
    assert.deepEqual(pool.counts, { created: 4, pooled: 3, taken: 1 });
    const back = new Uint8Array(64);
    range.read(back);
    assert.deepEqual(back, pattern(64));
    range.resize(4 * CHUNK);
    range.write(pattern(64), 4 * CHUNK - 64);
  });
}

cudaTest("resize() counts a chunk as mapped when it cannot be unmapped", (context, { control }) => {
  using pool = new ChunkPool(context);
  using range = new VirtualRange(pool, 3 * CHUNK);
  range.resize(3 * CHUNK);
  control.inject("cuMemUnmap", 2, MAP_FAILED);
  fails(MAP_FAILED, "cuMemUnmap", () => range.resize(0));
  assert.equal(range.bytes, 2 * CHUNK);
  assert.deepEqual(pool.counts, { created: 3, pooled: 1, taken: 2 });
  range.resize(0);
});

cudaTest("ranges share the chunks of their pool", (context, { control }) => {
  using pool = new ChunkPool(context);
  using first = new VirtualRange(pool, 4 * CHUNK);
  using second = new VirtualRange(pool, 4 * CHUNK);
  first.resize(4 * CHUNK);
  first.resize(CHUNK);
  second.resize(3 * CHUNK);
  assert.equal(control.counter("calls:cuMemCreate"), 4);
  assert.deepEqual(pool.counts, { created: 4, pooled: 0, taken: 4 });
}, { memoryBytes: 4 * CHUNK });

cudaTest("a range that a copy in flight uses grows, but does not shrink", (context) => {
  using pool = new ChunkPool(context);
  using range = new VirtualRange(pool, 2 * CHUNK);
  using stream = new Stream(context);
  using pinned = new PinnedMemory(context, 64);
  using gate = new Gate(context);
  range.resize(CHUNK);
  gate.close(stream);
  range.write(pinned.array, 0, stream);
  range.resize(2 * CHUNK);
  fails(ILLEGAL_STATE, "cuMemUnmap", () => range.resize(CHUNK));
  fails(ILLEGAL_STATE, "dispose", () => range[Symbol.dispose]());
  assert.equal(range.bytes, 2 * CHUNK);
  gate.open();
  stream.synchronize();
  range.resize(0);
});

cudaTest("a pool is not disposed before its ranges, and a disposed range not used", (context) => {
  using pool = new ChunkPool(context);
  const range = new VirtualRange(pool, CHUNK);
  range.resize(CHUNK);
  fails(ILLEGAL_STATE, "dispose", () => pool[Symbol.dispose]());
  range[Symbol.dispose]();
  fails(INVALID_HANDLE, "cuMemMap", () => range.resize(0));
  assert.deepEqual(pool.counts, { created: 1, pooled: 1, taken: 0 });
});

cudaTest("every failure of a range's or a pool's call is an error", (context, { control }) => {
  using pool = new ChunkPool(context);
  using range = new VirtualRange(pool, 2 * CHUNK);
  const calls: Readonly<Record<string, () => unknown>> = {
    cuMemGetAllocationGranularity: () => new ChunkPool(context),
    cuMemAddressReserve: () => new VirtualRange(pool, CHUNK),
    cuMemCreate: () => pool.take(1),
    cuMemMap: () => range.resize(CHUNK),
    cuMemSetAccess: () => range.resize(CHUNK),
  };
  for (const [name, call] of Object.entries(calls)) {
    control.inject(name, 1, 801);
    fails(801, name, call);
  }
  assert.equal(pool.counts.taken, 0);
});

cudaTest("an address range that the driver does not take back is reported", (context, gpu) => {
  using pool = new ChunkPool(context);
  const range = new VirtualRange(pool, CHUNK);
  const { address } = range;
  gpu.control.inject("cuMemAddressFree", 1, INVALID_VALUE);
  range[Symbol.dispose]();
  fails(INVALID_VALUE, "cuMemAddressFree", () => context.enter());
  const { driver } = context;
  const status = driver.symbols.cuMemAddressFree(address, BigInt(CHUNK));
  driver.check("cuMemAddressFree", status);
});

const index = fc.nat(1000);
const steps: fc.Arbitrary<VirtualMemoryStep> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("reserve"), chunks: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("dispose"), range: index }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("resize"),
      range: index,
      chunks: index,
      less: fc.nat(CHUNK - 1),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("write"),
      range: index,
      chunk: index,
      value: fc.nat(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("trim"), kept: fc.nat(8) }) },
);

cudaTest("ranges and their pool do as a model of them does, whatever is done", (context) => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 60 }), (sequence) => {
      using model = new VirtualMemoryModel(context);
      for (const step of sequence) model.apply(step);
      model.checkContents();
    }),
    { seed: 20_251_130, numRuns: 100 },
  );
}, { memoryBytes: 16 * CHUNK });
