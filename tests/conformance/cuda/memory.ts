/**
 * Cases of the conformance suite: device memory, pinned memory, copies, memory information.
 *
 * @module
 */
import assert from "node:assert/strict";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { PinnedMemory } from "../../../ffi/cuda/pinned.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { type ConformanceCase, fails, pattern } from "./case.ts";

const INVALID_VALUE = 1;
const OUT_OF_MEMORY = 2;
const MANY = 1 << 20;

/** Memory and copies. */
export const MEMORY_CASES: readonly ConformanceCase[] = [
  {
    name: "cuMemGetInfo tells free and total, and what an allocation takes",
    run(context) {
      const before = context.memoryInfo();
      assert.ok(before.free > 0 && before.free <= before.total);
      {
        using _memory = new DeviceMemory(context, 32 * MANY);
        assert.ok(before.free - context.memoryInfo().free >= 32 * MANY);
      }
      assert.deepEqual(context.memoryInfo(), before);
    },
  },
  {
    name: "cuMemAlloc gives addresses aligned to 256 bytes that do not overlap",
    run(context) {
      const memories = [1, 100, 4096, MANY].map((bytes) => new DeviceMemory(context, bytes));
      const ranges = memories.map(({ address, bytes }) => [address, address + BigInt(bytes)]);
      ranges.sort(([a], [b]) => a < b ? -1 : 1);
      for (const [index, [start]] of ranges.entries()) {
        assert.equal(start % 256n, 0n);
        if (index > 0) assert.ok(ranges[index - 1][1] <= start);
      }
      for (const memory of memories) memory[Symbol.dispose]();
    },
  },
  {
    name: "cuMemAlloc refuses nothing at all and more than there is",
    run(context) {
      const { symbols, out } = context.enter();
      assert.equal(symbols.cuMemAlloc_v2(out.bytes, 0n), INVALID_VALUE);
      assert.equal(symbols.cuMemAlloc_v2(out.bytes, 1n << 50n), OUT_OF_MEMORY);
      fails(OUT_OF_MEMORY, "cuMemAlloc_v2", () => new DeviceMemory(context, 2 ** 50));
    },
  },
  {
    name: "cuMemFree refuses what was freed before",
    run(context) {
      const { symbols, out } = context.enter();
      assert.equal(symbols.cuMemAlloc_v2(out.bytes, 4096n), 0);
      const address = out.u64;
      assert.equal(symbols.cuMemFree_v2(address), 0);
      assert.equal(symbols.cuMemFree_v2(address), INVALID_VALUE);
    },
  },
  {
    name: "cuMemcpyHtoD and DtoH copy the bytes that were asked for and no others",
    run(context) {
      using memory = new DeviceMemory(context, 4096);
      const all = pattern(4096);
      memory.write(all);
      memory.write(pattern(100, 7), 1001);
      const expected = all.slice();
      expected.set(pattern(100, 7), 1001);
      const back = new Uint8Array(4096);
      memory.read(back);
      assert.deepEqual(back, expected);
      const part = new Uint8Array(64);
      memory.read(part.subarray(8, 40), 1010);
      assert.deepEqual(part.subarray(8, 40), expected.subarray(1010, 1042));
      assert.ok(part.subarray(0, 8).every((byte) => byte === 0));
      assert.ok(part.subarray(40).every((byte) => byte === 0));
    },
  },
  {
    name: "cuMemcpyHtoDAsync and DtoHAsync copy in the order of the stream",
    async run(context) {
      await using stream = new Stream(context);
      using memory = new DeviceMemory(context, MANY);
      using up = new PinnedMemory(context, MANY);
      using down = new PinnedMemory(context, MANY);
      up.array.set(pattern(MANY));
      memory.write(up.array, 0, stream);
      memory.read(down.array, 0, stream);
      await stream.done();
      assert.deepEqual(down.array, up.array);
      down.array.fill(0);
      memory.read(down.array.subarray(5, 9), 5, stream);
      await stream.done();
      assert.deepEqual(down.array.slice(4, 10), Uint8Array.of(0, ...up.array.slice(5, 9), 0));
    },
  },
  {
    name: "copies with a stream take host memory that is not pinned",
    async run(context) {
      await using stream = new Stream(context);
      using memory = new DeviceMemory(context, 1000);
      memory.write(pattern(1000), 0, stream);
      const back = new Uint8Array(1000);
      memory.read(back, 0, stream);
      await stream.done();
      assert.deepEqual(back, pattern(1000));
    },
  },
  {
    name: "cuMemcpyDtoDAsync copies between and within allocations",
    run(context) {
      using stream = new Stream(context);
      using source = new DeviceMemory(context, 1000);
      using target = new DeviceMemory(context, 2000);
      source.write(pattern(1000));
      target.fill({ bits: 8, value: 0xee });
      target.copyFrom(source, { offset: 300, sourceOffset: 100, bytes: 200 });
      target.copyFrom(target, { offset: 1500, sourceOffset: 300, bytes: 200 }, stream);
      stream.synchronize();
      const expected = new Uint8Array(2000).fill(0xee);
      expected.set(pattern(1000).subarray(100, 300), 300);
      expected.set(pattern(1000).subarray(100, 300), 1500);
      const back = new Uint8Array(2000);
      target.read(back);
      assert.deepEqual(back, expected);
    },
  },
  {
    name: "cuMemsetD8Async, D16Async and D32Async write so many values of that width",
    run(context) {
      using stream = new Stream(context);
      using memory = new DeviceMemory(context, 64);
      memory.fill({ bits: 8, value: 0 });
      memory.fill({ bits: 8, value: 0xa1 }, 3, 2, stream);
      memory.fill({ bits: 16, value: 0xb2b1 }, 8, 3, stream);
      memory.fill({ bits: 32, value: 0xc4c3c2c1 }, 20, 2, stream);
      stream.synchronize();
      const back = new Uint8Array(32);
      memory.read(back);
      const expected = new Uint8Array(32);
      expected.set([0xa1, 0xa1], 3);
      expected.set([0xb1, 0xb2, 0xb1, 0xb2, 0xb1, 0xb2], 8);
      expected.set([0xc1, 0xc2, 0xc3, 0xc4, 0xc1, 0xc2, 0xc3, 0xc4], 20);
      assert.deepEqual(back, expected);
    },
  },
  {
    name: "the driver refuses copies and fills over an allocation's end",
    run(context) {
      using memory = new DeviceMemory(context, 2 * MANY);
      const { symbols } = context.enter();
      const end = memory.address + BigInt(memory.bytes);
      const host = new Uint8Array(8 * MANY);
      const size = BigInt(host.length);
      assert.equal(symbols.cuMemcpyHtoD_v2(end - 4n, host, size), INVALID_VALUE);
      assert.equal(symbols.cuMemcpyDtoH_v2(host, end - 4n, size), INVALID_VALUE);
      assert.equal(symbols.cuMemcpyHtoD_v2(0n, host, 4n), INVALID_VALUE);
      assert.equal(symbols.cuMemsetD8Async(end - 4n, 0, size, 0n), INVALID_VALUE);
      assert.equal(symbols.cuMemsetD32Async(memory.address + 2n, 0, 1n, 0n), INVALID_VALUE);
    },
  },
  {
    name: "cuMemHostAlloc gives memory that host and device share",
    run(context) {
      using pinned = new PinnedMemory(context, 100_000);
      assert.ok(pinned.array.every((byte) => byte === 0) || pinned.array.length === 100_000);
      pinned.array.set(pattern(100_000));
      using memory = new DeviceMemory(context, 100_000);
      memory.write(pinned.array);
      pinned.array.fill(0);
      memory.read(pinned.array);
      assert.deepEqual(pinned.array, pattern(100_000));
    },
  },
  {
    name: "cuMemHostAlloc refuses nothing at all, and cuMemFreeHost what it did not give",
    run(context) {
      const { symbols, out } = context.enter();
      assert.notEqual(symbols.cuMemHostAlloc(out.bytes, 4096n, 0x80), 0);
      assert.equal(symbols.cuMemFreeHost(4096n), INVALID_VALUE);
    },
  },
];
