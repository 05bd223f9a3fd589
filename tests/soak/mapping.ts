/**
 * Random calls of the driver's virtual memory management, right and wrong ones, against a model of
 * what each has to yield.
 *
 * @module
 */
import assert from "node:assert/strict";
import { seededRandom } from "../../models/random.ts";
import { softwareGpu, withFreshDevice } from "../fixtures/software_gpu.ts";
import { ok, RawDriver, withContext, words } from "../ffi/software_gpu/raw_driver.ts";

const CHUNK = 2n << 20n;
const MEMORY_CHUNKS = 12;

/** What a chunk of physical memory is, and who holds on to it. */
interface Chunk {
  readonly handle: bigint;
  readonly chunks: bigint;
  references: number;
  mappings: number;
  /** What its first byte holds. */
  mark: number;
}

interface Mapping {
  readonly at: bigint;
  readonly chunk: Chunk;
  accessible: boolean;
}

interface Reservation {
  readonly begin: bigint;
  readonly chunks: bigint;
}

/** Properties for `cuMemCreate`: pinned memory of device 0. */
export const PROPERTIES: Uint8Array<ArrayBuffer> = new Uint8Array(32);
new Uint32Array(PROPERTIES.buffer).set([1, 0, 1, 0]);

/** A description for `cuMemSetAccess`: device 0 reads and writes. */
export const READ_WRITE: Uint8Array<ArrayBuffer> = new Uint8Array(
  new Uint32Array([1, 0, 3]).buffer,
);

/**
 * Takes random steps, right and wrong ones, and compares what each yields with the model.
 *
 * @returns How many steps succeeded.
 */
export function randomSteps(driver: RawDriver, seed: number, steps: number): number {
  const { cu, out } = driver;
  const random = seededRandom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const chunks: Chunk[] = [], reservations: Reservation[] = [], mappings: Mapping[] = [];
  const any = <T>(list: readonly T[]): T | undefined => list[below(list.length)];
  const taken = () => chunks.reduce((sum, chunk) => sum + Number(chunk.chunks), 0);
  const overlaps = (begin: bigint, bytes: bigint) =>
    mappings.some(({ at, chunk }) => at < begin + bytes && begin < at + chunk.chunks * CHUNK);
  const dropUnused = (chunk: Chunk) => {
    if (chunk.references === 0 && chunk.mappings === 0) chunks.splice(chunks.indexOf(chunk), 1);
  };
  let succeeded = 0;
  const expect = (what: string, status: number, code: number) => {
    assert.equal(status, code, `${what}, seed ${seed}`);
    if (code === 0) succeeded++;
  };

  const kinds: (() => void)[] = [
    function reserve() {
      if (reservations.length > 6) return;
      const size = BigInt(1 + below(6));
      expect("reserve", cu.cuMemAddressReserve(out, size * CHUNK, 0n, 0n, 0n), 0);
      reservations.push({ begin: driver.handle(0), chunks: size });
    },
    function unreserve() {
      const reservation = any(reservations);
      if (!reservation) return;
      const { begin, chunks: size } = reservation;
      const busy = overlaps(begin, size * CHUNK);
      expect("free addresses", cu.cuMemAddressFree(begin, size * CHUNK), busy ? 1 : 0);
      if (!busy) reservations.splice(reservations.indexOf(reservation), 1);
    },
    function create() {
      const size = 1 + below(3);
      const fits = taken() + size <= MEMORY_CHUNKS;
      const bytes = BigInt(size) * CHUNK;
      expect("create", cu.cuMemCreate(out, bytes, PROPERTIES, 0n), fits ? 0 : 2);
      if (!fits) return;
      const handle = driver.handle(0);
      chunks.push({ handle, chunks: BigInt(size), references: 1, mappings: 0, mark: 0 });
    },
    function release() {
      const chunk = any(chunks);
      if (!chunk) return;
      expect("release", cu.cuMemRelease(chunk.handle), chunk.references ? 0 : 1);
      if (chunk.references) chunk.references--;
      dropUnused(chunk);
    },
    function map() {
      const chunk = any(chunks), reservation = any(reservations);
      if (!chunk || !reservation) return;
      const at = reservation.begin + BigInt(below(7)) * CHUNK;
      const bytes = chunk.chunks * CHUNK;
      const inside = reservations.some(({ begin, chunks: size }) =>
        begin <= at && at + bytes <= begin + size * CHUNK
      );
      const right = chunk.references > 0 && inside && !overlaps(at, bytes);
      expect("map", cu.cuMemMap(at, bytes, 0n, chunk.handle, 0n), right ? 0 : 1);
      if (!right) return;
      chunk.mappings++;
      mappings.push({ at, chunk, accessible: false });
    },
    function unmap() {
      const mapping = any(mappings);
      if (!mapping) return;
      const { at, chunk } = mapping;
      if (chunk.chunks > 1n) expect("unmap a part", cu.cuMemUnmap(at, CHUNK), 1);
      expect("unmap", cu.cuMemUnmap(at, chunk.chunks * CHUNK), 0);
      mappings.splice(mappings.indexOf(mapping), 1);
      chunk.mappings--;
      dropUnused(chunk);
    },
    function allow() {
      const mapping = any(mappings);
      if (!mapping) return;
      const bytes = mapping.chunk.chunks * CHUNK;
      expect("set access", cu.cuMemSetAccess(mapping.at, bytes, READ_WRITE, 1n), 0);
      mapping.accessible = true;
    },
    function write() {
      const mapping = any(mappings);
      if (!mapping) return;
      const mark = below(256);
      const status = cu.cuMemsetD8_v2(mapping.at, mark, 1n);
      expect("write", status, mapping.accessible ? 0 : 1);
      if (mapping.accessible) mapping.chunk.mark = mark;
    },
    function read() {
      const mapping = any(mappings);
      if (!mapping?.accessible) return;
      assert.equal(driver.read(mapping.at, 1)[0], mapping.chunk.mark, `content, seed ${seed}`);
    },
  ];

  for (let step = 0; step < steps; step++) {
    kinds[below(kinds.length)]();
    const free = driver.handle(cu.cuMemGetInfo_v2(out, words(0n)));
    assert.equal(free, BigInt(MEMORY_CHUNKS - taken()) * CHUNK, `free memory, seed ${seed}`);
  }
  for (const { at, chunk } of mappings) ok(cu.cuMemUnmap(at, chunk.chunks * CHUNK));
  for (const { handle, references } of chunks) {
    for (let i = 0; i < references; i++) ok(cu.cuMemRelease(handle));
  }
  for (const { begin, chunks: size } of reservations) ok(cu.cuMemAddressFree(begin, size * CHUNK));
  return succeeded;
}

/** The memory that {@linkcode randomSteps} wants the device to have. */
export const MEMORY_BYTES: number = MEMORY_CHUNKS * Number(CHUNK);

/** Takes so many steps on a software GPU, and says so. */
export async function runMapping(steps: number, seed: number): Promise<string> {
  assert.ok(softwareGpu !== undefined, "There is no C++ compiler to build the software GPU with");
  const succeeded = await withFreshDevice(softwareGpu, (gpu) => {
    gpu.control.configure({ memoryBytes: MEMORY_BYTES });
    return withContext(gpu, (driver) => randomSteps(driver, seed, steps));
  });
  return `${steps} steps, of which ${succeeded} succeeded, as the model says`;
}
