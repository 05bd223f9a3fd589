/**
 * Memory of a device, allocated and freed as one.
 *
 * @module
 */
import { allocationFailed, checkSize } from "./allocation.ts";
import type { Context } from "./context.ts";
import { DeviceBytes } from "./device_bytes.ts";
import { CODE } from "./errors.ts";

/** An allocation. Its bytes are whatever was there before. */
export class DeviceMemory extends DeviceBytes {
  /** The context that it belongs to. */
  override readonly context: Context;
  readonly #bytes: number;

  /**
   * Allocates.
   *
   * @throws {CudaError}
   */
  constructor(context: Context, bytes: number) {
    checkSize("cuMemAlloc_v2", bytes);
    const driver = context.enter();
    const status = driver.symbols.cuMemAlloc_v2(driver.out.bytes, BigInt(bytes));
    if (status !== CODE.success) throw allocationFailed(context, "cuMemAlloc_v2", status, bytes);
    super(context, `device memory of ${bytes} bytes`, driver.out.u64);
    this.context = context;
    this.#bytes = bytes;
  }

  /** How many bytes were asked for. */
  override get bytes(): number {
    return this.#bytes;
  }

  /** Frees it. The driver waits for all work of the context first. */
  protected override release(address: bigint): void {
    const driver = this.context.makeCurrent();
    driver.check("cuMemFree_v2", driver.symbols.cuMemFree_v2(address));
  }
}
