/**
 * The primary context of a device: what all that is made on the device belongs to.
 *
 * @module
 */
import type { CudaDevice } from "./device.ts";
import type { CudaDriver } from "./driver.ts";
import { checkCount, CODE, CudaError } from "./errors.ts";
import { Owned } from "./owned.ts";
import { EventPoller, type PollScheduler } from "./poller.ts";
import type { SymbolName } from "./symbols.ts";

/** What a device sets aside for kernels, and its number in `CUlimit`. */
export const CONTEXT_LIMITS = {
  stackBytes: 0, // CU_LIMIT_STACK_SIZE
  printfBytes: 1, // CU_LIMIT_PRINTF_FIFO_SIZE
  heapBytes: 2, // CU_LIMIT_MALLOC_HEAP_SIZE
} as const;

/** Name of a limit. */
export type ContextLimit = keyof typeof CONTEXT_LIMITS;

/** Memory of a device, bytes. */
export interface MemoryInfo {
  /** What can be allocated, other processes' share taken off. */
  readonly free: number;
  /** All of it. */
  readonly total: number;
}

/**
 * Stands for the context that is current on this thread, as each has its own instance of this
 * module. A library that was opened twice has one all the same, so no driver object knows it.
 */
let current: object | undefined;

/**
 * The context that every user of a device in this process shares. The driver counts how often it
 * is opened; memory and all else return with the last one.
 *
 * A context is current on a thread, and most calls go to the current one. So whoever makes a call
 * does {@linkcode enter} first, which costs two comparisons when nothing has changed.
 */
export class Context extends Owned {
  /** The device that it is on. */
  readonly device: CudaDevice;
  /** The driver. */
  readonly driver: CudaDriver;
  /** Tells when events of this context have fired. */
  readonly poller: EventPoller;
  readonly #token = {}; // not the context itself, which could not be collected then

  /**
   * Opens it and makes it current.
   *
   * @param scheduler When to look for events; by default between the turns of the event loop.
   * @throws {CudaError}
   */
  constructor(device: CudaDevice, scheduler?: PollScheduler) {
    const { driver } = device;
    driver.raiseDeferred();
    driver.check(
      "cuDevicePrimaryCtxRetain",
      driver.symbols.cuDevicePrimaryCtxRetain(driver.out.bytes, device.handle),
    );
    super(driver, `context of device ${device.ordinal}`, driver.out.u64);
    this.device = device;
    this.driver = driver;
    this.poller = new EventPoller(scheduler);
    try {
      this.makeCurrent();
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Begins an operation: makes the context current, and throws what disposing has left.
   *
   * @throws {CudaError}
   */
  enter(): CudaDriver {
    this.driver.raiseDeferred();
    return this.makeCurrent();
  }

  /** Makes the context current, for those who must not fail by what others have left. */
  makeCurrent(): CudaDriver {
    const { driver } = this;
    if (current !== this.#token) {
      const handle = this.live("cuCtxSetCurrent");
      driver.check("cuCtxSetCurrent", driver.symbols.cuCtxSetCurrent(handle));
      current = this.#token;
    }
    return driver;
  }

  /**
   * Makes sure that an object belongs to this context, since the driver may not look.
   *
   * @param call The function that will be given it.
   * @throws {CudaError} When it belongs to another.
   */
  owns(call: SymbolName, object: Owned & { readonly context: Context }): void {
    if (object.context === this) return;
    throw new CudaError(
      call,
      CODE.invalidContext,
      `the ${object.label} belongs to another ${object.context.label}`,
      { hint: "Make all that works together in one context." },
    );
  }

  /** How much memory the device has free. */
  memoryInfo(): MemoryInfo {
    const driver = this.enter();
    const { out, secondOut } = driver;
    driver.check(
      "cuMemGetInfo_v2",
      driver.symbols.cuMemGetInfo_v2(out.bytes, secondOut.bytes),
    );
    return { free: out.size, total: secondOut.size };
  }

  /** Waits, without giving way to anything else, until all work of this context is done. */
  synchronize(): void {
    const driver = this.enter();
    driver.check("cuCtxSynchronize", driver.symbols.cuCtxSynchronize());
  }

  /** Bytes that the device sets aside for kernels. */
  limit(limit: ContextLimit): number {
    const driver = this.enter();
    const status = driver.symbols.cuCtxGetLimit(driver.out.bytes, CONTEXT_LIMITS[limit]);
    driver.check("cuCtxGetLimit", status);
    return driver.out.size;
  }

  /** Asks for a limit. The driver may round it up. */
  setLimit(limit: ContextLimit, bytes: number): void {
    checkCount("cuCtxSetLimit", bytes, Number.MAX_SAFE_INTEGER);
    const driver = this.enter();
    const status = driver.symbols.cuCtxSetLimit(CONTEXT_LIMITS[limit], BigInt(bytes));
    driver.check("cuCtxSetLimit", status);
  }

  /** The range of streams' priorities. The more urgent, the lower the number. */
  streamPriorities(): { readonly least: number; readonly greatest: number } {
    const driver = this.enter();
    const { out, secondOut } = driver;
    driver.check(
      "cuCtxGetStreamPriorityRange",
      driver.symbols.cuCtxGetStreamPriorityRange(out.bytes, secondOut.bytes),
    );
    return { least: out.i32, greatest: secondOut.i32 };
  }

  /** Gives the context back. */
  protected override release(): void {
    const { driver, device } = this;
    if (current === this.#token) {
      current = undefined;
      driver.check("cuCtxSetCurrent", driver.symbols.cuCtxSetCurrent(0n));
    }
    driver.check(
      "cuDevicePrimaryCtxRelease_v2",
      driver.symbols.cuDevicePrimaryCtxRelease_v2(device.handle),
    );
  }
}
