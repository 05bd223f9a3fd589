import assert from "node:assert/strict";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { MEMORY_BYTES, PROPERTIES, randomSteps, READ_WRITE } from "../../soak/mapping.ts";
import { Arguments, Code, launch, ok, type RawDriver, STORE, withContext } from "./raw_driver.ts";

const CHUNK = 2n << 20n;

/** Addresses for so many chunks. */
function reserve(driver: RawDriver, chunks: bigint): bigint {
  const { cu, out } = driver;
  return driver.handle(cu.cuMemAddressReserve(out, chunks * CHUNK, 0n, 0n, 0n));
}

/** A chunk of two mebibytes. */
function create(driver: RawDriver): bigint {
  return driver.handle(driver.cu.cuMemCreate(driver.out, CHUNK, PROPERTIES, 0n));
}

softwareGpuTest(
  "virtual memory: wrong sizes, places and handles are refused",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      const { INVALID_VALUE } = Code;
      assert.equal(cu.cuMemAddressReserve(out, 4096n, 0n, 0n, 0n), INVALID_VALUE);
      assert.equal(cu.cuMemAddressReserve(out, CHUNK, 3n, 0n, 0n), INVALID_VALUE);
      assert.equal(cu.cuMemCreate(out, 4096n, PROPERTIES, 0n), INVALID_VALUE);
      const host = PROPERTIES.slice();
      new Uint32Array(host.buffer)[2] = 2;
      assert.equal(cu.cuMemCreate(out, CHUNK, host, 0n), INVALID_VALUE);
      const at = reserve(driver, 2n), chunk = create(driver);
      const wrong: [string, number][] = [
        ["a part of a granule", cu.cuMemMap(at, 4096n, 0n, chunk, 0n)],
        ["more than the chunk", cu.cuMemMap(at, 2n * CHUNK, 0n, chunk, 0n)],
        ["an offset", cu.cuMemMap(at, CHUNK, CHUNK, chunk, 0n)],
        ["outside of the reservation", cu.cuMemMap(at + 2n * CHUNK, CHUNK, 0n, chunk, 0n)],
        ["an address between granules", cu.cuMemMap(at + 4096n, CHUNK, 0n, chunk, 0n)],
        ["another's handle", cu.cuMemMap(at, CHUNK, 0n, at, 0n)],
        ["flags", cu.cuMemMap(at, CHUNK, 0n, chunk, 1n)],
        ["access to what is not mapped", cu.cuMemSetAccess(at, CHUNK, READ_WRITE, 1n)],
        ["unmapping what is not mapped", cu.cuMemUnmap(at, CHUNK)],
        ["half of a reservation", cu.cuMemAddressFree(at, CHUNK)],
      ];
      for (const [what, status] of wrong) assert.equal(status, INVALID_VALUE, what);
      ok(cu.cuMemMap(at, CHUNK, 0n, chunk, 0n));
      assert.equal(cu.cuMemMap(at, CHUNK, 0n, chunk, 0n), INVALID_VALUE, "on a mapping");
      assert.equal(cu.cuMemSetAccess(at, 2n * CHUNK, READ_WRITE, 1n), INVALID_VALUE, "over a gap");
      assert.equal(cu.cuMemUnmap(at, 2n * CHUNK), INVALID_VALUE, "over a gap");
      assert.equal(cu.cuMemAddressFree(at, 2n * CHUNK), INVALID_VALUE, "while it is mapped");
      ok(cu.cuMemUnmap(at, CHUNK));
      ok(cu.cuMemRelease(chunk));
      assert.equal(cu.cuMemRelease(chunk), INVALID_VALUE, "a second time");
      ok(cu.cuMemAddressFree(at, 2n * CHUNK));
      assert.equal(cu.cuMemAddressFree(at, 2n * CHUNK), INVALID_VALUE, "a second time");
    }),
);

softwareGpuTest(
  "a chunk keeps its content wherever it is mapped, also in two places",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const at = reserve(driver, 3n), chunk = create(driver);
      const other = at + 2n * CHUNK;
      for (const place of [at, other]) {
        ok(cu.cuMemMap(place, CHUNK, 0n, chunk, 0n));
        ok(cu.cuMemSetAccess(place, CHUNK, READ_WRITE, 1n));
      }
      ok(cu.cuMemsetD32_v2(at, 77, 2n));
      assert.deepEqual(driver.readWords(other, 2), [77, 77]);
      ok(cu.cuMemUnmap(at, CHUNK));
      assert.deepEqual(driver.readWords(other, 2), [77, 77]);
      ok(cu.cuMemRelease(chunk));
      assert.equal(gpu.control.counter("liveBytes"), Number(CHUNK), "the mapping holds it");
      ok(cu.cuMemUnmap(other, CHUNK));
      assert.equal(gpu.control.counter("liveBytes"), 0);
      ok(cu.cuMemAddressFree(at, 3n * CHUNK));
    }),
);

softwareGpuTest("chunks count against the device's memory", (gpu) => {
  gpu.control.configure({ memoryBytes: Number(3n * CHUNK) });
  withContext(gpu, (driver) => {
    const { cu, out } = driver;
    const chunks = [create(driver), create(driver), create(driver)];
    assert.equal(cu.cuMemCreate(out, CHUNK, PROPERTIES, 0n), Code.OUT_OF_MEMORY);
    assert.equal(cu.cuMemAlloc_v2(out, 4n), Code.OUT_OF_MEMORY);
    for (const chunk of chunks) ok(cu.cuMemRelease(chunk));
  });
});

softwareGpuTest(
  "neighbouring chunks are one piece of memory for a copy",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const at = reserve(driver, 2n), chunks = [create(driver), create(driver)];
      chunks.forEach((chunk, index) =>
        ok(cu.cuMemMap(at + BigInt(index) * CHUNK, CHUNK, 0n, chunk, 0n))
      );
      ok(cu.cuMemSetAccess(at, 2n * CHUNK, READ_WRITE, 1n));
      ok(cu.cuMemsetD32_v2(at + CHUNK - 4n, 5, 2n));
      assert.deepEqual(driver.readWords(at + CHUNK - 4n, 2), [5, 5]);
      ok(cu.cuMemUnmap(at, 2n * CHUNK));
      for (const chunk of chunks) ok(cu.cuMemRelease(chunk));
      ok(cu.cuMemAddressFree(at, 2n * CHUNK));
    }),
);

for (const accessible of [false, true]) {
  const where = accessible ? "unmapped while it was enqueued" : "mapped without access";
  softwareGpuTest(
    `a kernel that stores to what is ${where} is a fault, not a crash`,
    (gpu) =>
      withContext(gpu, (driver) => {
        const { cu } = driver;
        const module = driver.load(STORE), store = driver.function(module, "store");
        const at = reserve(driver, 1n), chunk = create(driver), stream = driver.stream();
        ok(cu.cuMemMap(at, CHUNK, 0n, chunk, 0n));
        if (accessible) {
          gpu.control.delayKernel("store", 1, 50e6);
          ok(cu.cuMemSetAccess(at, CHUNK, READ_WRITE, 1n));
        }
        ok(launch(driver, store, stream, new Arguments(at, 1)));
        if (accessible) ok(cu.cuMemUnmap(at, CHUNK));
        assert.equal(cu.cuStreamSynchronize(stream), Code.ILLEGAL_ADDRESS);
        assert.match(gpu.control.faultMessage(), /kernel store/);
        gpu.control.reset();
      }),
  );
}

softwareGpuTest("a reset takes access away with what was mapped", (gpu) => {
  const at = withContext(gpu, (driver) => {
    const { cu } = driver;
    const range = reserve(driver, 1n);
    ok(cu.cuMemMap(range, CHUNK, 0n, create(driver), 0n));
    ok(cu.cuMemSetAccess(range, CHUNK, READ_WRITE, 1n));
    return range;
  });
  gpu.control.reset();
  withContext(gpu, (driver) => {
    const { cu, out } = driver;
    const range = driver.handle(cu.cuMemAddressReserve(out, CHUNK, 0n, at, 0n));
    assert.equal(cu.cuMemsetD8_v2(at, 1, 1n), Code.INVALID_VALUE);
    ok(cu.cuMemAddressFree(range, CHUNK));
  });
});

for (let seed = 1; seed <= 3; seed++) {
  softwareGpuTest(`random steps of virtual memory agree with the model, seed ${seed}`, (gpu) => {
    gpu.control.configure({ memoryBytes: MEMORY_BYTES });
    assert.ok(withContext(gpu, (driver) => randomSteps(driver, seed, 1500)) > 300);
  });
}
