/**
 * Ranges of device addresses that stay, while the memory behind them comes and goes.
 *
 * @module
 */
import { checkSize } from "./allocation.ts";
import type { Chunk, ChunkPool } from "./chunk_pool.ts";
import type { Context } from "./context.ts";
import { DeviceBytes } from "./device_bytes.ts";
import { CODE, CudaError } from "./errors.ts";

/**
 * A reserved range of addresses, mapped from its start. What lies in the mapped part keeps its
 * address, and its contents, while the range grows and shrinks at the end.
 */
export class VirtualRange extends DeviceBytes {
  /** The context that it belongs to. */
  override readonly context: Context;
  /** Where its chunks come from. */
  readonly pool: ChunkPool;
  /** The most that it can grow to, bytes. */
  readonly reservedBytes: number;
  readonly #chunks: Chunk[] = [];

  /**
   * Reserves addresses, which takes no memory.
   *
   * @param bytes How much it may grow to; rounded up to whole chunks.
   * @throws {CudaError}
   */
  constructor(pool: ChunkPool, bytes: number) {
    checkSize("cuMemAddressReserve", bytes);
    pool.live("cuMemAddressReserve");
    const reserved = Math.ceil(bytes / pool.chunkBytes) * pool.chunkBytes;
    const driver = pool.context.enter();
    driver.check(
      "cuMemAddressReserve",
      driver.symbols.cuMemAddressReserve(driver.out.bytes, BigInt(reserved), 0n, 0n, 0n),
    );
    super(pool, `range of ${reserved} device addresses`, driver.out.u64);
    this.context = pool.context;
    this.pool = pool;
    this.reservedBytes = reserved;
  }

  /** How many bytes are mapped. */
  override get bytes(): number {
    return this.#chunks.length * this.pool.chunkBytes;
  }

  /**
   * Maps or unmaps whole chunks at the end, until `bytes` are mapped and no chunk more. Either all
   * of it happens or, when the device has too little memory, nothing.
   *
   * Nothing in flight may use the range while it shrinks. Copies are looked at; that no kernel does,
   * and no graph that was launched, is up to the caller. Graphs that are not running do no harm:
   * what they hold are addresses.
   *
   * @throws {CudaError}
   */
  resize(bytes: number): void {
    this.live("cuMemMap");
    if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes > this.reservedBytes) {
      throw new CudaError("cuMemMap", CODE.invalidValue, `${bytes} bytes cannot be mapped`, {
        hint: `Expected an integer from 0 to ${this.reservedBytes}, which are reserved.`,
      });
    }
    const chunks = Math.ceil(bytes / this.pool.chunkBytes);
    if (chunks > this.#chunks.length) this.#grow(chunks);
    else if (chunks < this.#chunks.length) {
      this.idle("cuMemUnmap", (use) => use.recurs !== true);
      this.#shrink(chunks);
    }
  }

  /** Unmaps everything and gives the addresses back. */
  protected override release(address: bigint): void {
    this.#shrink(0, address);
    const driver = this.context.makeCurrent();
    driver.check(
      "cuMemAddressFree",
      driver.symbols.cuMemAddressFree(address, BigInt(this.reservedBytes)),
    );
  }

  #grow(count: number): void {
    const { pool } = this;
    const start = this.live("cuMemMap");
    const before = this.#chunks.length;
    const size = BigInt(pool.chunkBytes);
    const taken = pool.take(count - before);
    const driver = this.context.makeCurrent();
    try {
      for (const chunk of taken) {
        const address = start + BigInt(this.bytes);
        driver.check("cuMemMap", driver.symbols.cuMemMap(address, size, 0n, chunk, 0n));
        this.#chunks.push(chunk);
      }
      driver.check(
        "cuMemSetAccess",
        driver.symbols.cuMemSetAccess(
          start + BigInt(before) * size,
          BigInt(taken.length) * size,
          pool.access,
          1n,
        ),
      );
    } catch (error) {
      pool.give(taken.slice(this.#chunks.length - before));
      this.#shrink(before);
      throw error;
    }
  }

  #shrink(count: number, start = this.live("cuMemUnmap")): void {
    const size = BigInt(this.pool.chunkBytes);
    const driver = this.context.makeCurrent();
    while (this.#chunks.length > count) {
      const last = this.#chunks.length - 1;
      const address = start + BigInt(last) * size;
      driver.check("cuMemUnmap", driver.symbols.cuMemUnmap(address, size));
      this.pool.give([this.#chunks[last]]);
      this.#chunks.pop();
    }
  }
}
