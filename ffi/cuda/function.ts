/**
 * Kernels of a module: what they need, and how many blocks of them a device holds.
 *
 * @module
 */
import { checkCount, CODE } from "./errors.ts";
import type { CudaModule } from "./module.ts";

/** `CUfunction_attribute`. */
export const FUNCTION_ATTRIBUTES = {
  maxThreadsPerBlock: 0, // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
  sharedBytes: 1, // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
  constBytes: 2, // CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES
  localBytes: 3, // CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
  registers: 4, // CU_FUNC_ATTRIBUTE_NUM_REGS
  ptxVersion: 5, // CU_FUNC_ATTRIBUTE_PTX_VERSION
  binaryVersion: 6, // CU_FUNC_ATTRIBUTE_BINARY_VERSION
  maxDynamicSharedBytes: 8, // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
} as const;

/** What can be asked about a kernel, as a number. */
export type FunctionAttribute = keyof typeof FUNCTION_ATTRIBUTES;

/** A kernel. It lives as long as its module. */
export class CudaFunction {
  /** What it belongs to. */
  readonly module: CudaModule;
  /** Its name there. */
  readonly name: string;
  readonly #handle: bigint;

  /** Use `CudaModule.function()`. */
  constructor(module: CudaModule, name: string, handle: bigint) {
    this.module = module;
    this.name = name;
    this.#handle = handle;
  }

  /**
   * The handle, to be used in a call.
   *
   * @throws {CudaError} When the module has been disposed.
   */
  live(call: string): bigint {
    this.module.live(call);
    return this.#handle;
  }

  /** A property by its name here: bytes, registers and threads are of one block or thread. */
  attribute(attribute: FunctionAttribute): number {
    const driver = this.module.context.enter();
    const { symbols, out } = driver;
    const handle = this.live("cuFuncGetAttribute");
    const status = symbols.cuFuncGetAttribute(out.bytes, FUNCTION_ATTRIBUTES[attribute], handle);
    driver.check("cuFuncGetAttribute", status);
    return out.i32;
  }

  /**
   * Lets launches ask for more dynamic shared memory than the 48 KiB that any kernel may have.
   *
   * @throws {CudaError} When a block of the device has less, the kernel's own variables taken off.
   */
  setMaxDynamicSharedBytes(bytes: number): void {
    checkCount("cuFuncSetAttribute", bytes);
    const driver = this.module.context.enter();
    const handle = this.live("cuFuncSetAttribute");
    driver.check(
      "cuFuncSetAttribute",
      driver.symbols.cuFuncSetAttribute(handle, FUNCTION_ATTRIBUTES.maxDynamicSharedBytes, bytes),
    );
  }

  /** Size of each parameter, bytes; undefined when the driver is too old to tell. */
  parameterSizes(): readonly number[] | undefined {
    const driver = this.module.context.enter();
    const { out, secondOut, symbols: { cuFuncGetParamInfo } } = driver;
    if (!cuFuncGetParamInfo) return undefined;
    const handle = this.live("cuFuncGetParamInfo");
    const sizes: number[] = [];
    for (;;) {
      const index = BigInt(sizes.length);
      const status = cuFuncGetParamInfo(handle, index, out.bytes, secondOut.bytes);
      if (status === CODE.invalidValue) return sizes; // there is no such parameter
      driver.check("cuFuncGetParamInfo", status);
      sizes.push(secondOut.size);
    }
  }

  /** How many of its blocks a multiprocessor holds at once. */
  blocksPerMultiprocessor(threads: number, dynamicSharedBytes = 0): number {
    const call = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
    checkCount(call, threads);
    checkCount(call, dynamicSharedBytes);
    const driver = this.module.context.enter();
    const { out, symbols } = driver;
    driver.check(
      call,
      symbols[call](out.bytes, this.live(call), threads, BigInt(dynamicSharedBytes)),
    );
    return out.i32;
  }

  /** The block with which a multiprocessor holds most threads, and the blocks that fill a device. */
  suggestedLaunch(dynamicSharedBytes = 0): { readonly threads: number; readonly blocks: number } {
    const call = "cuOccupancyMaxPotentialBlockSize";
    checkCount(call, dynamicSharedBytes);
    const driver = this.module.context.enter();
    const { out, secondOut, symbols } = driver;
    const status = symbols[call](
      out.bytes,
      secondOut.bytes,
      this.live(call),
      null, // the same shared memory for every size of a block
      BigInt(dynamicSharedBytes),
      0, // no limit
    );
    driver.check(call, status);
    return { blocks: out.i32, threads: secondOut.i32 };
  }
}
