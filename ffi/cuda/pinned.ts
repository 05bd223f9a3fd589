/**
 * Host memory that the device copies from and to without the driver's help.
 *
 * @module
 */
import { checkSize } from "./allocation.ts";
import type { Context } from "./context.ts";
import { CODE, CudaError } from "./errors.ts";
import { Owned } from "./owned.ts";

const byBuffer = new WeakMap<ArrayBuffer, PinnedMemory>();

/** The memory that a buffer is the view of, if it is of any. */
export function pinnedMemoryOf(buffer: ArrayBuffer): PinnedMemory | undefined {
  return byBuffer.get(buffer);
}

/**
 * Pinned memory as an `ArrayBuffer`, without a copy. Disposing it detaches the buffer: its views
 * are empty from then on, and none reaches memory that is no longer there.
 */
export class PinnedMemory extends Owned {
  /** The context that it belongs to. */
  readonly context: Context;
  /** The memory. */
  readonly buffer: ArrayBuffer;
  /** The memory as bytes: what copies take with the least effort. */
  readonly array: Uint8Array<ArrayBuffer>;

  /**
   * Allocates. The system's limits, not the device's, decide how much there is.
   *
   * @throws {CudaError}
   */
  constructor(context: Context, bytes: number) {
    checkSize("cuMemHostAlloc", bytes);
    const driver = context.enter();
    const status = driver.symbols.cuMemHostAlloc(driver.out.bytes, BigInt(bytes), 0);
    if (status !== CODE.success) {
      const outOfMemory = {
        text: `the system gives no ${bytes} bytes of pinned memory`,
        hint: "Free memory of the host, or raise what this process may lock (ulimit -l).",
      };
      const options = status === CODE.outOfMemory ? outOfMemory : undefined;
      throw driver.failure("cuMemHostAlloc", status, options);
    }
    const address = driver.out.u64;
    super(context, `pinned memory of ${bytes} bytes`, address);
    this.context = context;
    this.buffer = Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(address)!, bytes);
    this.array = new Uint8Array(this.buffer);
    byBuffer.set(this.buffer, this);
  }

  /** How many bytes there are; none once it is disposed. */
  get bytes(): number {
    return this.buffer.byteLength;
  }

  /** Detaches the buffer and frees the memory, unless something else may still reach it. */
  protected override release(address: bigint): void {
    if (this.buffer.detached) {
      throw new CudaError(
        "cuMemFreeHost",
        CODE.illegalState,
        `the buffer of the ${this.label} was transferred, so it cannot be freed`,
        { hint: "Copy what is in pinned memory; only its owner may detach it." },
      );
    }
    this.buffer.transfer();
    const driver = this.context.makeCurrent();
    driver.check("cuMemFreeHost", driver.symbols.cuMemFreeHost(address));
  }
}
