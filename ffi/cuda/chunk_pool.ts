/**
 * Physical memory of a device in chunks of one size, to be mapped wherever it is needed.
 *
 * @module
 */
import { allocationFailed, checkSize } from "./allocation.ts";
import type { Context } from "./context.ts";
import { checkCount, CODE, CudaError } from "./errors.ts";
import { Owned } from "./owned.ts";

const PINNED = 1; // CU_MEM_ALLOCATION_TYPE_PINNED: stays where it is, as device memory does
const ON_DEVICE = 1; // CU_MEM_LOCATION_TYPE_DEVICE
const READ_WRITE = 3; // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
const MINIMUM_GRANULARITY = 0; // CU_MEM_ALLOC_GRANULARITY_MINIMUM

/** `CUmemGenericAllocationHandle`: a chunk. */
export type Chunk = bigint;

/** Chunks by where they are. */
export interface ChunkCounts {
  /** All that were created and not released. */
  readonly created: number;
  /** Those that wait in the pool. */
  readonly pooled: number;
  /** Those that were taken. */
  readonly taken: number;
}

/**
 * A pool of chunks. Creating and releasing one costs much more than mapping it, so those that are
 * given back wait for the next who needs some, until they are trimmed.
 */
export class ChunkPool extends Owned {
  /** The context that it belongs to. */
  readonly context: Context;
  /** Size of a chunk. */
  readonly chunkBytes: number;
  /** `CUmemAccessDesc` that lets the device read and write a mapped chunk. */
  readonly access: Uint8Array<ArrayBuffer>;
  readonly #properties: Uint8Array<ArrayBuffer>;
  readonly #pooled: Chunk[] = [];
  readonly #taken = new Set<Chunk>();

  /**
   * An empty pool.
   *
   * @param chunkBytes A multiple of the device's granularity, which it is by default.
   * @throws {CudaError}
   */
  constructor(context: Context, chunkBytes?: number) {
    const { ordinal } = context.device;
    const properties = allocationProperties(ordinal);
    const driver = context.enter();
    driver.check(
      "cuMemGetAllocationGranularity",
      driver.symbols.cuMemGetAllocationGranularity(
        driver.out.bytes,
        properties,
        MINIMUM_GRANULARITY,
      ),
    );
    const granularity = driver.out.size;
    if (chunkBytes !== undefined) {
      checkSize("cuMemCreate", chunkBytes);
      if (chunkBytes % granularity !== 0) {
        throw new CudaError(
          "cuMemCreate",
          CODE.invalidValue,
          `chunks cannot have ${chunkBytes} bytes`,
          { hint: `Expected a multiple of ${granularity}, the device's granularity.` },
        );
      }
    }
    const size = chunkBytes ?? granularity;
    super(context, `pool of chunks of ${size} bytes`, 0n);
    this.context = context;
    this.chunkBytes = size;
    this.access = accessDescription(ordinal);
    this.#properties = properties;
  }

  /** How many chunks there are. */
  get counts(): ChunkCounts {
    const pooled = this.#pooled.length;
    const taken = this.#taken.size;
    return { created: pooled + taken, pooled, taken };
  }

  /**
   * Takes chunks, pooled ones first. When the device has too little memory for the rest, all is as
   * it was before.
   *
   * @throws {CudaError} `CUDA_ERROR_OUT_OF_MEMORY`.
   */
  take(count: number): Chunk[] {
    this.live("cuMemCreate");
    checkCount("cuMemCreate", count);
    const missing = count - this.#pooled.length;
    const created: Chunk[] = [];
    const driver = this.context.enter();
    const size = BigInt(this.chunkBytes);
    while (created.length < missing) {
      const status = driver.symbols.cuMemCreate(driver.out.bytes, size, this.#properties, 0n);
      if (status === CODE.success) {
        created.push(driver.out.u64);
        continue;
      }
      // Not kept: whoever failed may free what is pooled and ask for memory of another kind.
      for (const chunk of created) this.#release(chunk);
      throw allocationFailed(this.context, "cuMemCreate", status, missing * this.chunkBytes);
    }
    const reused = this.#pooled.splice(this.#pooled.length - (count - created.length));
    const chunks = [...reused, ...created];
    for (const chunk of chunks) this.#taken.add(chunk);
    return chunks;
  }

  /**
   * Takes chunks back, which must not be mapped any more.
   *
   * @throws {CudaError} When one was given back before, or comes from elsewhere.
   */
  give(chunks: readonly Chunk[]): void {
    for (const chunk of chunks) {
      if (!this.#taken.delete(chunk)) {
        throw new CudaError(
          "cuMemRelease",
          CODE.invalidHandle,
          `chunk 0x${chunk.toString(16)} is not one that was taken from the ${this.label}`,
          { hint: "Give each chunk back once, to the pool that it was taken from." },
        );
      }
      this.#pooled.push(chunk);
    }
  }

  /** Gives pooled chunks back to the device until so many are left; returns how many it gave. */
  trim(kept = 0): number {
    checkCount("cuMemRelease", kept);
    const before = this.#pooled.length;
    while (this.#pooled.length > kept) {
      this.#release(this.#pooled[this.#pooled.length - 1]);
      this.#pooled.pop();
    }
    return before - this.#pooled.length;
  }

  /** Gives all chunks back. */
  protected override release(): void {
    this.trim();
  }

  #release(chunk: Chunk): void {
    const driver = this.context.makeCurrent();
    driver.check("cuMemRelease", driver.symbols.cuMemRelease(chunk));
  }
}

/** `CUmemAllocationProp`: type, handle types, location {type, id}, and 16 bytes of zeros. */
function allocationProperties(ordinal: number): Uint8Array<ArrayBuffer> {
  const fields = new Int32Array(8);
  fields[0] = PINNED;
  fields[2] = ON_DEVICE;
  fields[3] = ordinal;
  return new Uint8Array(fields.buffer);
}

/** `CUmemAccessDesc`: location {type, id}, flags. */
function accessDescription(ordinal: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Int32Array.of(ON_DEVICE, ordinal, READ_WRITE).buffer);
}
