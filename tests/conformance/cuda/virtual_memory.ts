/**
 * Cases of the conformance suite: virtual memory management.
 *
 * @module
 */
import assert from "node:assert/strict";
import { ChunkPool } from "../../../ffi/cuda/chunk_pool.ts";
import type { Context } from "../../../ffi/cuda/context.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { VirtualRange } from "../../../ffi/cuda/virtual_memory.ts";
import { type ConformanceCase, fails, pattern } from "./case.ts";

const INVALID_VALUE = 1;
const OUT_OF_MEMORY = 2;

/** Address ranges and chunks. */
export const VIRTUAL_MEMORY_CASES: readonly ConformanceCase[] = [
  {
    name: "cuMemGetAllocationGranularity is a power of two, whichever is asked for",
    run(context) {
      using pool = new ChunkPool(context);
      const { symbols, out } = context.enter();
      const properties = Int32Array.of(1, 0, 1, context.device.ordinal, 0, 0, 0, 0);
      for (const option of [0, 1]) {
        const status = symbols.cuMemGetAllocationGranularity(
          out.bytes,
          new Uint8Array(properties.buffer),
          option,
        );
        assert.equal(status, 0);
        assert.equal(Math.log2(out.size) % 1, 0);
        assert.equal(out.size % pool.chunkBytes, 0);
      }
    },
  },
  {
    name: "cuMemAddressReserve takes no memory and gives ranges that do not overlap",
    run(context) {
      using pool = new ChunkPool(context);
      const { free } = context.memoryInfo();
      const ranges = [1, 3, 2].map((chunks) => new VirtualRange(pool, chunks * pool.chunkBytes));
      assert.equal(context.memoryInfo().free, free);
      const spans = ranges.map(({ address, reservedBytes }) => [
        address,
        address + BigInt(reservedBytes),
      ]);
      spans.sort(([a], [b]) => a < b ? -1 : 1);
      for (const [index, [start]] of spans.entries()) {
        assert.equal(start % BigInt(pool.chunkBytes), 0n);
        if (index > 0) assert.ok(spans[index - 1][1] <= start);
      }
      for (const range of ranges) range[Symbol.dispose]();
    },
  },
  {
    name: "a mapped range is memory like any other, over the chunks' borders as well",
    run(context) {
      using pool = new ChunkPool(context);
      using range = new VirtualRange(pool, 3 * pool.chunkBytes);
      range.resize(3 * pool.chunkBytes);
      const bytes = pattern(5000);
      const border = pool.chunkBytes - 2500;
      range.write(bytes, border);
      using plain = new DeviceMemory(context, 5000);
      plain.copyFrom(range, { sourceOffset: border, bytes: 5000 });
      const back = new Uint8Array(5000);
      plain.read(back);
      assert.deepEqual(back, bytes);
      range.fill({ bits: 32, value: 7 }, 2 * pool.chunkBytes - 8, 4);
      const words = new Uint32Array(4);
      range.read(words, 2 * pool.chunkBytes - 8);
      assert.deepEqual(words, Uint32Array.of(7, 7, 7, 7));
    },
  },
  {
    name: "growing and shrinking keeps addresses and the contents that stay mapped",
    run(context) {
      using pool = new ChunkPool(context);
      using range = new VirtualRange(pool, 4 * pool.chunkBytes);
      const { address } = range;
      range.resize(pool.chunkBytes);
      range.write(pattern(4096));
      range.resize(4 * pool.chunkBytes);
      range.resize(pool.chunkBytes);
      assert.equal(range.address, address);
      const back = new Uint8Array(4096);
      range.read(back);
      assert.deepEqual(back, pattern(4096));
    },
  },
  {
    name: "a chunk keeps its contents when it is mapped elsewhere",
    run(context) {
      using pool = new ChunkPool(context);
      using first = new VirtualRange(pool, pool.chunkBytes);
      using second = new VirtualRange(pool, pool.chunkBytes);
      first.resize(pool.chunkBytes);
      first.write(pattern(4096));
      first.resize(0);
      second.resize(pool.chunkBytes);
      const back = new Uint8Array(4096);
      second.read(back);
      assert.deepEqual(back, pattern(4096));
      assert.equal(pool.counts.created, 1);
    },
  },
  {
    name: "cuMemCreate takes memory, which cuMemRelease gives back",
    run(context) {
      const { free } = context.memoryInfo();
      {
        using pool = new ChunkPool(context);
        const chunks = pool.take(4);
        assert.ok(free - context.memoryInfo().free >= 4 * pool.chunkBytes);
        pool.give(chunks);
        assert.ok(free - context.memoryInfo().free >= 4 * pool.chunkBytes, "pooled, not released");
        assert.equal(pool.trim(), 4);
        assert.equal(context.memoryInfo().free, free);
      }
    },
  },
  {
    name: "a chunk that is mapped outlives the release of its handle",
    run(context) {
      using pool = new ChunkPool(context);
      using range = new VirtualRange(pool, pool.chunkBytes);
      const { symbols } = context.enter();
      const [chunk] = pool.take(1);
      const size = BigInt(pool.chunkBytes);
      const { free } = context.memoryInfo();
      assert.equal(symbols.cuMemMap(range.address, size, 0n, chunk, 0n), 0);
      pool.give([chunk]);
      pool.trim();
      assert.equal(context.memoryInfo().free, free);
      assert.equal(symbols.cuMemUnmap(range.address, size), 0);
      assert.equal(context.memoryInfo().free, free + pool.chunkBytes);
    },
  },
  {
    name: "sizes that are no multiple of the granularity are refused",
    run(context) {
      using pool = new ChunkPool(context);
      using range = new VirtualRange(pool, 2 * pool.chunkBytes);
      const { symbols, out } = context.enter();
      const properties = Int32Array.of(1, 0, 1, context.device.ordinal, 0, 0, 0, 0);
      const bytes = new Uint8Array(properties.buffer);
      const size = BigInt(pool.chunkBytes);
      assert.equal(symbols.cuMemCreate(out.bytes, size / 2n, bytes, 0n), INVALID_VALUE);
      assert.equal(symbols.cuMemAddressReserve(out.bytes, 1000n, 0n, 0n, 0n), INVALID_VALUE);
      const [chunk] = pool.take(1);
      assert.equal(symbols.cuMemMap(range.address + 512n, size, 0n, chunk, 0n), INVALID_VALUE);
      assert.equal(symbols.cuMemMap(range.address, size / 2n, 0n, chunk, 0n), INVALID_VALUE);
      pool.give([chunk]);
    },
  },
  {
    name: "what is mapped already is not mapped over",
    run(context) {
      using pool = new ChunkPool(context);
      using range = new VirtualRange(pool, 2 * pool.chunkBytes);
      range.resize(pool.chunkBytes);
      const { symbols } = context.enter();
      const [chunk] = pool.take(1);
      const status = symbols.cuMemMap(range.address, BigInt(pool.chunkBytes), 0n, chunk, 0n);
      assert.notEqual(status, 0);
      pool.give([chunk]);
      range.write(pattern(16));
    },
  },
  {
    name: "a range that is not mapped is not copied to",
    run(context) {
      using pool = new ChunkPool(context);
      using range = new VirtualRange(pool, 2 * pool.chunkBytes);
      const { symbols } = context.enter();
      assert.equal(symbols.cuMemcpyHtoD_v2(range.address, new Uint8Array(16), 16n), INVALID_VALUE);
      fails(INVALID_VALUE, "cuMemcpyHtoD_v2", () => range.write(new Uint8Array(16)));
    },
  },
  {
    name: "more chunks than there is memory for are refused, and none is left behind",
    run(context) {
      const { free, total } = context.memoryInfo();
      using pool = new ChunkPool(context, largeChunk(context, total / 8));
      fails(OUT_OF_MEMORY, "cuMemCreate", () => pool.take(9));
      assert.equal(context.memoryInfo().free, free);
      assert.deepEqual(pool.counts, { created: 0, pooled: 0, taken: 0 });
    },
  },
];

/** A size of chunks near `bytes`: of the smallest ones a large device has too many to create. */
function largeChunk(context: Context, bytes: number): number {
  using smallest = new ChunkPool(context);
  return Math.ceil(bytes / smallest.chunkBytes) * smallest.chunkBytes;
}
