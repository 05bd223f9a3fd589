/**
 * The software GPU's exported functions called as they are, without the binding between: how strict
 * the device is has to show here.
 *
 * @module
 */
import assert from "node:assert/strict";
import { GATE } from "../../conformance/cuda/gate.ts";
import type { SoftwareGpu } from "../../fixtures/software_gpu.ts";

const out = "buffer", text = "buffer";

const SYMBOLS = {
  cuInit: { parameters: ["u32"], result: "i32" },
  cuDriverGetVersion: { parameters: [out], result: "i32" },
  cuGetErrorName: { parameters: ["i32", out], result: "i32" },
  cuGetProcAddress_v2: { parameters: [text, out, "i32", "u64", out], result: "i32" },
  cuGetExportTable: { parameters: [out, "buffer"], result: "i32" },
  cuDeviceGet: { parameters: [out, "i32"], result: "i32" },
  cuDeviceGetCount: { parameters: [out], result: "i32" },
  cuDeviceGetAttribute: { parameters: [out, "i32", "i32"], result: "i32" },
  cuDeviceGetByPCIBusId: { parameters: [out, text], result: "i32" },
  cuDevicePrimaryCtxRetain: { parameters: [out, "i32"], result: "i32" },
  cuDevicePrimaryCtxRelease_v2: { parameters: ["i32"], result: "i32" },
  cuDevicePrimaryCtxReset_v2: { parameters: ["i32"], result: "i32" },
  cuDevicePrimaryCtxGetState: { parameters: ["i32", out, "buffer"], result: "i32" },
  cuCtxCreate_v2: { parameters: [out, "u32", "i32"], result: "i32" },
  cuCtxCreate_v4: { parameters: [out, "buffer", "u32", "i32"], result: "i32" },
  cuCtxDestroy_v2: { parameters: ["u64"], result: "i32" },
  cuCtxSetCurrent: { parameters: ["u64"], result: "i32" },
  cuCtxGetCurrent: { parameters: [out], result: "i32" },
  cuCtxPushCurrent_v2: { parameters: ["u64"], result: "i32" },
  cuCtxPopCurrent_v2: { parameters: [out], result: "i32" },
  cuCtxSynchronize: { parameters: [], result: "i32" },
  cuCtxSetLimit: { parameters: ["i32", "u64"], result: "i32" },
  cuCtxGetLimit: { parameters: [out, "i32"], result: "i32" },
  cuMemAlloc_v2: { parameters: [out, "u64"], result: "i32" },
  cuMemAllocPitch_v2: { parameters: [out, "buffer", "u64", "u64", "u32"], result: "i32" },
  cuMemFree_v2: { parameters: ["u64"], result: "i32" },
  cuMemGetInfo_v2: { parameters: [out, "buffer"], result: "i32" },
  cuMemGetAddressRange_v2: { parameters: [out, "buffer", "u64"], result: "i32" },
  cuMemHostAlloc: { parameters: [out, "u64", "u32"], result: "i32" },
  cuMemFreeHost: { parameters: ["u64"], result: "i32" },
  cuMemHostRegister_v2: { parameters: ["buffer", "u64", "u32"], result: "i32" },
  cuMemHostUnregister: { parameters: ["buffer"], result: "i32" },
  cuPointerGetAttribute: { parameters: [out, "i32", "u64"], result: "i32" },
  cuMemcpyHtoD_v2: { parameters: ["u64", "buffer", "u64"], result: "i32" },
  cuMemcpyDtoH_v2: { parameters: ["buffer", "u64", "u64"], result: "i32" },
  cuMemcpyDtoD_v2: { parameters: ["u64", "u64", "u64"], result: "i32" },
  cuMemcpy2D_v2: { parameters: ["buffer"], result: "i32" },
  cuMemcpyHtoDAsync_v2: { parameters: ["u64", "buffer", "u64", "u64"], result: "i32" },
  cuMemcpyDtoHAsync_v2: { parameters: ["buffer", "u64", "u64", "u64"], result: "i32" },
  cuMemsetD8_v2: { parameters: ["u64", "u8", "u64"], result: "i32" },
  cuMemsetD16_v2: { parameters: ["u64", "u16", "u64"], result: "i32" },
  cuMemsetD32_v2: { parameters: ["u64", "u32", "u64"], result: "i32" },
  cuMemsetD8Async: { parameters: ["u64", "u8", "u64", "u64"], result: "i32" },
  cuMemsetD32Async: { parameters: ["u64", "u32", "u64", "u64"], result: "i32" },
  cuMemAddressReserve: { parameters: [out, "u64", "u64", "u64", "u64"], result: "i32" },
  cuMemAddressFree: { parameters: ["u64", "u64"], result: "i32" },
  cuMemCreate: { parameters: [out, "u64", "buffer", "u64"], result: "i32" },
  cuMemRelease: { parameters: ["u64"], result: "i32" },
  cuMemMap: { parameters: ["u64", "u64", "u64", "u64", "u64"], result: "i32" },
  cuMemUnmap: { parameters: ["u64", "u64"], result: "i32" },
  cuMemSetAccess: { parameters: ["u64", "u64", "buffer", "u64"], result: "i32" },
  cuMemGetAccess: { parameters: [out, "buffer", "u64"], result: "i32" },
  cuMemRetainAllocationHandle: { parameters: [out, "u64"], result: "i32" },
  cuStreamCreate: { parameters: [out, "u32"], result: "i32" },
  cuStreamCreateWithPriority: { parameters: [out, "u32", "i32"], result: "i32" },
  cuStreamDestroy_v2: { parameters: ["u64"], result: "i32" },
  cuStreamQuery: { parameters: ["u64"], result: "i32" },
  cuStreamSynchronize: { parameters: ["u64"], result: "i32" },
  cuStreamWaitEvent: { parameters: ["u64", "u64", "u32"], result: "i32" },
  cuStreamGetPriority: { parameters: ["u64", out], result: "i32" },
  cuStreamBeginCapture_v2: { parameters: ["u64", "i32"], result: "i32" },
  cuStreamEndCapture: { parameters: ["u64", out], result: "i32" },
  cuStreamIsCapturing: { parameters: ["u64", out], result: "i32" },
  cuThreadExchangeStreamCaptureMode: { parameters: [out], result: "i32" },
  cuEventCreate: { parameters: [out, "u32"], result: "i32" },
  cuEventDestroy_v2: { parameters: ["u64"], result: "i32" },
  cuEventRecord: { parameters: ["u64", "u64"], result: "i32" },
  cuEventRecordWithFlags: { parameters: ["u64", "u64", "u32"], result: "i32" },
  cuEventQuery: { parameters: ["u64"], result: "i32" },
  cuEventSynchronize: { parameters: ["u64"], result: "i32" },
  cuEventElapsedTime: { parameters: [out, "u64", "u64"], result: "i32" },
  cuModuleLoadData: { parameters: [out, text], result: "i32" },
  cuModuleLoadDataEx: {
    parameters: [out, text, "u32", "buffer", "buffer"],
    result: "i32",
  },
  cuModuleUnload: { parameters: ["u64"], result: "i32" },
  cuModuleGetFunction: { parameters: [out, "u64", text], result: "i32" },
  cuModuleGetGlobal_v2: { parameters: [out, "buffer", "u64", text], result: "i32" },
  cuLinkCreate_v2: { parameters: ["u32", "buffer", "buffer", out], result: "i32" },
  cuLinkAddData_v2: {
    parameters: ["u64", "i32", text, "u64", text, "u32", "buffer", "buffer"],
    result: "i32",
  },
  cuLinkComplete: { parameters: ["u64", out, "buffer"], result: "i32" },
  cuLinkDestroy: { parameters: ["u64"], result: "i32" },
  cuLibraryLoadData: {
    parameters: [out, text, "buffer", "buffer", "u32", "buffer", "buffer", "u32"],
    result: "i32",
  },
  cuLibraryUnload: { parameters: ["u64"], result: "i32" },
  cuLibraryGetKernel: { parameters: [out, "u64", text], result: "i32" },
  cuFuncGetAttribute: { parameters: [out, "i32", "u64"], result: "i32" },
  cuFuncSetAttribute: { parameters: ["u64", "i32", "i32"], result: "i32" },
  cuOccupancyMaxActiveBlocksPerMultiprocessor: {
    parameters: [out, "u64", "i32", "u64"],
    result: "i32",
  },
  cuLaunchKernel: {
    parameters: [
      ...["u64", "u32", "u32", "u32", "u32", "u32", "u32", "u32", "u64"],
      ...["buffer", "buffer"],
    ] as const,
    result: "i32",
  },
  cuLaunchCooperativeKernel: {
    parameters: [
      ...["u64", "u32", "u32", "u32", "u32", "u32", "u32", "u32", "u64", "buffer"],
    ] as const,
    result: "i32",
  },
  cuLaunchKernelEx: { parameters: ["buffer", "u64", "buffer", "buffer"], result: "i32" },
  cuGraphCreate: { parameters: [out, "u32"], result: "i32" },
  cuGraphDestroy: { parameters: ["u64"], result: "i32" },
  cuGraphClone: { parameters: [out, "u64"], result: "i32" },
  cuGraphGetNodes: { parameters: ["u64", "buffer", "buffer"], result: "i32" },
  cuGraphGetEdges: { parameters: ["u64", "buffer", "buffer", "buffer"], result: "i32" },
  cuGraphNodeGetType: { parameters: ["u64", out], result: "i32" },
  cuGraphAddEmptyNode: { parameters: [out, "u64", "buffer", "u64"], result: "i32" },
  cuGraphAddMemsetNode: {
    parameters: [out, "u64", "buffer", "u64", "buffer", "u64"],
    result: "i32",
  },
  cuGraphAddEventRecordNode: { parameters: [out, "u64", "buffer", "u64", "u64"], result: "i32" },
  cuGraphAddEventWaitNode: { parameters: [out, "u64", "buffer", "u64", "u64"], result: "i32" },
  cuGraphAddDependencies: { parameters: ["u64", "buffer", "buffer", "u64"], result: "i32" },
  cuGraphInstantiateWithFlags: { parameters: [out, "u64", "u64"], result: "i32" },
  cuGraphInstantiate_v2: {
    parameters: [out, "u64", "buffer", "buffer", "u64"],
    result: "i32",
  },
  cuGraphExecDestroy: { parameters: ["u64"], result: "i32" },
  cuGraphLaunch: { parameters: ["u64", "u64"], result: "i32" },
  cuGraphExecUpdate_v2: { parameters: ["u64", "u64", out], result: "i32" },
  cuGraphExecKernelNodeSetParams_v2: { parameters: ["u64", "u64", "buffer"], result: "i32" },
  cuGraphKernelNodeGetParams_v2: { parameters: ["u64", out], result: "i32" },
} as const;

/** Results that tests expect. */
export const Code = {
  INVALID_VALUE: 1,
  OUT_OF_MEMORY: 2,
  NOT_INITIALIZED: 3,
  INVALID_DEVICE: 101,
  INVALID_IMAGE: 200,
  INVALID_CONTEXT: 201,
  NO_BINARY_FOR_GPU: 209,
  UNSUPPORTED_LIMIT: 215,
  INVALID_PTX: 218,
  UNSUPPORTED_PTX_VERSION: 222,
  INVALID_HANDLE: 400,
  ILLEGAL_STATE: 401,
  NOT_FOUND: 500,
  NOT_READY: 600,
  ILLEGAL_ADDRESS: 700,
  LAUNCH_OUT_OF_RESOURCES: 701,
  LAUNCH_TIMEOUT: 702,
  CONTEXT_IS_DESTROYED: 709,
  HOST_MEMORY_ALREADY_REGISTERED: 712,
  HOST_MEMORY_NOT_REGISTERED: 713,
  COOPERATIVE_LAUNCH_TOO_LARGE: 720,
  CAPTURE_UNSUPPORTED: 900,
  CAPTURE_INVALIDATED: 901,
  CAPTURE_MERGE: 902,
  CAPTURE_UNMATCHED: 903,
  CAPTURE_UNJOINED: 904,
  CAPTURE_ISOLATION: 905,
  CAPTURE_IMPLICIT: 906,
  CAPTURED_EVENT: 907,
  GRAPH_EXEC_UPDATE_FAILURE: 910,
} as const;

/** A text as C has it. */
export function cString(value: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${value}\0`);
}

/** Handles or addresses as an array in C. */
export function words(...values: bigint[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new BigUint64Array(values).buffer);
}

/** Address of a buffer; it has to stay referenced for as long as C uses it. */
export function addressOf(buffer: Uint8Array<ArrayBuffer>): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer));
}

type Symbols = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

/** The functions, and an out-parameter for them. */
export class RawDriver implements Disposable {
  readonly #library: Deno.DynamicLibrary<typeof SYMBOLS>;
  /** The functions. */
  readonly cu: Symbols;
  /** What an out-parameter is written to. */
  readonly out: Uint8Array<ArrayBuffer> = new Uint8Array(8);
  readonly #view = new DataView(this.out.buffer);

  /** @param path The library. */
  constructor(path: string) {
    this.#library = Deno.dlopen(path, SYMBOLS);
    this.cu = this.#library.symbols;
  }

  /** The out-parameter as a handle or an address, once the call that wrote it has succeeded. */
  handle(status: number): bigint {
    ok(status);
    return this.#view.getBigUint64(0, true);
  }

  /** The out-parameter as an `int`, once the call that wrote it has succeeded. */
  int(status: number): number {
    ok(status);
    return this.#view.getInt32(0, true);
  }

  /** The out-parameter as a `float`. */
  float(status: number): number {
    ok(status);
    return this.#view.getFloat32(0, true);
  }

  /** Device memory. */
  alloc(bytes: number | bigint): bigint {
    return this.handle(this.cu.cuMemAlloc_v2(this.out, BigInt(bytes)));
  }

  /** A module of a PTX text. */
  load(ptx: string): bigint {
    return this.handle(this.cu.cuModuleLoadData(this.out, cString(ptx)));
  }

  /** A function of a module. */
  function(module: bigint, name: string): bigint {
    return this.handle(this.cu.cuModuleGetFunction(this.out, module, cString(name)));
  }

  /** A stream; 1 does not wait for the default stream. */
  stream(flags: 0 | 1 = 1): bigint {
    return this.handle(this.cu.cuStreamCreate(this.out, flags));
  }

  /** An event; 2 records no time. */
  event(flags: 0 | 2 = 0): bigint {
    return this.handle(this.cu.cuEventCreate(this.out, flags));
  }

  /** What device memory holds. */
  read(address: bigint, bytes: number): Uint8Array<ArrayBuffer> {
    const read = new Uint8Array(bytes);
    ok(this.cu.cuMemcpyDtoH_v2(read, address, BigInt(bytes)));
    return read;
  }

  /** The first words of what device memory holds. */
  readWords(address: bigint, count: number): number[] {
    return [...new Uint32Array(this.read(address, count * 4).buffer)];
  }

  /** Closes the library; what it holds stays. */
  [Symbol.dispose](): void {
    this.#library.close();
  }
}

/** Fails unless a call has succeeded. */
export function ok(status: number): void {
  assert.equal(status, 0, "a call failed");
}

/** Runs a test in the primary context of device 0, which goes when it has ended. */
export function withContext<T>(gpu: SoftwareGpu, test: (driver: RawDriver) => T): T {
  using driver = new RawDriver(gpu.path);
  ok(driver.cu.cuInit(0));
  const context = driver.handle(driver.cu.cuDevicePrimaryCtxRetain(driver.out, 0));
  ok(driver.cu.cuCtxSetCurrent(context));
  const result = test(driver);
  driver.cu.cuCtxSetCurrent(0n);
  driver.cu.cuDevicePrimaryCtxRelease_v2(0);
  return result;
}

/** Arguments of a launch as `kernelParams` has them. */
export class Arguments {
  readonly #values: Uint8Array<ArrayBuffer>[];
  /** The array of their addresses. */
  readonly pointers: Uint8Array<ArrayBuffer>;

  /** A bigint becomes 64 bits, a number 32. */
  constructor(...values: (bigint | number)[]) {
    this.#values = values.map((value) =>
      typeof value === "bigint" ? words(value) : new Uint8Array(new Uint32Array([value]).buffer)
    );
    this.pointers = words(...this.#values.map(addressOf));
  }
}

const HEAD = `.version 8.0
.target sm_80
.address_size 64
`;

/** `store(out, value)`: every thread stores `value` at its index. */
export const STORE = `${HEAD}
.visible .entry store(.param .u64 out, .param .u32 value)
{
  .reg .b32 %r<5>;
  .reg .b64 %a<3>;
  ld.param.u64 %a0, [out];
  ld.param.u32 %r0, [value];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  mad.wide.u32 %a1, %r4, 4, %a0;
  st.global.u32 [%a1], %r0;
  ret;
}
`;

/** `add(out, value)`: one thread adds `value` to a word, and not atomically. */
export const ADD = `${HEAD}
.visible .entry add(.param .u64 out, .param .u32 value)
{
  .reg .b32 %r<3>;
  .reg .b64 %a;
  ld.param.u64 %a, [out];
  ld.param.u32 %r0, [value];
  ld.global.u32 %r1, [%a];
  add.u32 %r2, %r1, %r0;
  st.global.u32 [%a], %r2;
  ret;
}
`;

/** Holds streams up until it is opened. */
export class RawGate implements Disposable {
  readonly #driver: RawDriver;
  readonly #flag: bigint;
  readonly #word: Uint32Array;
  readonly #module: bigint;
  readonly #function: bigint;
  readonly #arguments: Arguments;

  /** A closed one. */
  constructor(driver: RawDriver) {
    this.#driver = driver;
    this.#flag = driver.handle(driver.cu.cuMemHostAlloc(driver.out, 4n, 0));
    const pointer = Deno.UnsafePointer.create(this.#flag)!;
    this.#word = new Uint32Array(Deno.UnsafePointerView.getArrayBuffer(pointer, 4));
    this.#word[0] = 0;
    this.#module = driver.load(GATE);
    this.#function = driver.function(this.#module, "gate");
    this.#arguments = new Arguments(this.#flag);
  }

  /** What is enqueued behind this waits. */
  hold(stream: bigint): void {
    ok(launch(this.#driver, this.#function, stream, this.#arguments));
  }

  /** Lets everything go on. */
  open(): void {
    this.#word[0] = 1;
  }

  /** Opens it and takes it down. */
  [Symbol.dispose](): void {
    this.open();
    this.#driver.cu.cuCtxSynchronize();
    this.#driver.cu.cuModuleUnload(this.#module);
    this.#driver.cu.cuMemFreeHost(this.#flag);
  }
}

/** Size of a launch. */
export interface RawLaunch {
  readonly grid?: readonly [number, number?, number?];
  readonly block?: readonly [number, number?, number?];
  readonly sharedBytes?: number;
}

/** Launches one block of one thread unless told otherwise. */
export function launch(
  { cu }: RawDriver,
  kernel: bigint,
  stream: bigint,
  args: Arguments,
  { grid: [x, y = 1, z = 1] = [1], block: [a, b = 1, c = 1] = [1], sharedBytes = 0 }: RawLaunch =
    {},
): number {
  return cu.cuLaunchKernel(kernel, x, y, z, a, b, c, sharedBytes, stream, args.pointers, null);
}
