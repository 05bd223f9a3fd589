import assert from "node:assert/strict";
import { ChunkPool } from "../../../ffi/cuda/chunk_pool.ts";
import { fails } from "../../conformance/cuda/case.ts";
import { cudaTest } from "../../fixtures/cuda.ts";

const INVALID_VALUE = 1;
const OUT_OF_MEMORY = 2;
const INVALID_HANDLE = 400;
const NOT_SUPPORTED = 801;
const MIB = 1 << 20;

cudaTest("ChunkPool has chunks of the device's granularity, or a multiple", (context) => {
  using pool = new ChunkPool(context);
  assert.equal(pool.chunkBytes, 2 * MIB);
  using large = new ChunkPool(context, 8 * MIB);
  assert.equal(large.chunkBytes, 8 * MIB);
  for (const bytes of [0, -1, 3 * MIB, 1.5, NaN]) {
    fails(INVALID_VALUE, "cuMemCreate", () => new ChunkPool(context, bytes));
  }
});

cudaTest("take() uses pooled chunks first", (context, { control }) => {
  using pool = new ChunkPool(context);
  const first = pool.take(3);
  assert.deepEqual(pool.counts, { created: 3, pooled: 0, taken: 3 });
  pool.give(first);
  assert.deepEqual(pool.counts, { created: 3, pooled: 3, taken: 0 });
  const second = pool.take(4);
  assert.equal(new Set(second).size, 4);
  assert.ok(first.every((chunk) => second.includes(chunk)));
  assert.equal(control.counter("calls:cuMemCreate"), 4);
  pool.give(second.slice(0, 2));
  assert.deepEqual(pool.counts, { created: 4, pooled: 2, taken: 2 });
  pool.give(second.slice(2));
  assert.deepEqual(pool.take(0), []);
});

cudaTest("take() leaves all as it was when there is no room", (context) => {
  using pool = new ChunkPool(context);
  pool.give(pool.take(3));
  const { free } = context.memoryInfo();
  assert.throws(() => pool.take(9), {
    call: "cuMemCreate",
    code: OUT_OF_MEMORY,
    text: `no room for ${12 * MIB} bytes; ${free} of ${16 * MIB} are free`,
  });
  assert.deepEqual(pool.counts, { created: 3, pooled: 3, taken: 0 });
  assert.equal(context.memoryInfo().free, free);
  pool.give(pool.take(8));
}, { memoryBytes: 16 * MIB });

cudaTest("trim() gives back what is pooled, down to what is to be kept", (context) => {
  using pool = new ChunkPool(context);
  const { free } = context.memoryInfo();
  const chunks = pool.take(5);
  assert.equal(pool.trim(), 0, "what is taken stays");
  pool.give(chunks);
  assert.equal(pool.trim(2), 3);
  assert.deepEqual(pool.counts, { created: 2, pooled: 2, taken: 0 });
  assert.equal(free - context.memoryInfo().free, 4 * MIB);
  assert.equal(pool.trim(), 2);
  assert.equal(context.memoryInfo().free, free);
});

cudaTest("trim() keeps a chunk that the driver does not take back", (context, { control }) => {
  using pool = new ChunkPool(context);
  pool.give(pool.take(2));
  control.inject("cuMemRelease", 2, NOT_SUPPORTED);
  fails(NOT_SUPPORTED, "cuMemRelease", () => pool.trim());
  assert.deepEqual(pool.counts, { created: 1, pooled: 1, taken: 0 });
});

cudaTest("ChunkPool gives all chunks back when it is disposed", (context) => {
  const { free } = context.memoryInfo();
  const pool = new ChunkPool(context);
  pool.give(pool.take(3));
  pool[Symbol.dispose]();
  assert.equal(context.memoryInfo().free, free);
  fails(400, "cuMemCreate", () => pool.take(1));
});

cudaTest("give() refuses chunks that were not taken, or were given back before", (context) => {
  using pool = new ChunkPool(context);
  using other = new ChunkPool(context);
  const [chunk] = pool.take(1);
  fails(INVALID_HANDLE, "cuMemRelease", () => other.give([chunk]));
  pool.give([chunk]);
  fails(INVALID_HANDLE, "cuMemRelease", () => pool.give([chunk]));
  assert.deepEqual(pool.counts, { created: 1, pooled: 1, taken: 0 });
});

cudaTest("take() and trim() refuse what is no number of chunks", (context) => {
  using pool = new ChunkPool(context);
  for (const count of [-1, 0.5, NaN]) {
    fails(INVALID_VALUE, "cuMemCreate", () => pool.take(count));
    fails(INVALID_VALUE, "cuMemRelease", () => pool.trim(count));
  }
});
