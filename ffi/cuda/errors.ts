/**
 * What the CUDA driver refuses, what is refused before it is asked, and why there may be no driver.
 *
 * @module
 */

/** `CUresult` of the failures that code here tells apart. */
export const CODE = {
  success: 0, // CUDA_SUCCESS
  invalidValue: 1, // CUDA_ERROR_INVALID_VALUE
  outOfMemory: 2, // CUDA_ERROR_OUT_OF_MEMORY
  stubLibrary: 34, // CUDA_ERROR_STUB_LIBRARY
  noDevice: 100, // CUDA_ERROR_NO_DEVICE
  invalidDevice: 101, // CUDA_ERROR_INVALID_DEVICE
  invalidContext: 201, // CUDA_ERROR_INVALID_CONTEXT
  invalidHandle: 400, // CUDA_ERROR_INVALID_HANDLE
  illegalState: 401, // CUDA_ERROR_ILLEGAL_STATE
  notFound: 500, // CUDA_ERROR_NOT_FOUND
  notReady: 600, // CUDA_ERROR_NOT_READY
} as const;

/** Names of the codes that failures found here carry; for all others the driver is asked. */
const NAMES: Readonly<Record<number, string>> = {
  [CODE.invalidValue]: "CUDA_ERROR_INVALID_VALUE",
  [CODE.outOfMemory]: "CUDA_ERROR_OUT_OF_MEMORY",
  [CODE.invalidDevice]: "CUDA_ERROR_INVALID_DEVICE",
  [CODE.invalidContext]: "CUDA_ERROR_INVALID_CONTEXT",
  [CODE.invalidHandle]: "CUDA_ERROR_INVALID_HANDLE",
  [CODE.illegalState]: "CUDA_ERROR_ILLEGAL_STATE",
  [CODE.notFound]: "CUDA_ERROR_NOT_FOUND",
};

const AFTER_A_FAULT = "Work enqueued before this call caused it, and every later call of this " +
  "process fails the same way: end the process and start anew.";

/** Faults after which the process has to end: as the manual says, the first and the last apart. */
const STICKY: ReadonlySet<number> = new Set([
  46, // CUDA_ERROR_DEVICE_UNAVAILABLE: what a device is that no longer answers
  214, // CUDA_ERROR_ECC_UNCORRECTABLE
  220, // CUDA_ERROR_NVLINK_UNCORRECTABLE
  226, // CUDA_ERROR_CONTAINED
  700, // CUDA_ERROR_ILLEGAL_ADDRESS
  702, // CUDA_ERROR_LAUNCH_TIMEOUT
  710, // CUDA_ERROR_ASSERT
  714, // CUDA_ERROR_HARDWARE_STACK_ERROR
  715, // CUDA_ERROR_ILLEGAL_INSTRUCTION
  716, // CUDA_ERROR_MISALIGNED_ADDRESS
  717, // CUDA_ERROR_INVALID_ADDRESS_SPACE
  718, // CUDA_ERROR_INVALID_PC
  719, // CUDA_ERROR_LAUNCH_FAILED
  721, // CUDA_ERROR_TENSOR_MEMORY_LEAK
  911, // CUDA_ERROR_EXTERNAL_DEVICE
  999, // CUDA_ERROR_UNKNOWN: of what is not known, the worst is assumed
]);

/** What to do, by code. */
const HINTS: Readonly<Record<number, string>> = {
  [CODE.invalidValue]: "Check the arguments: one is outside of what the driver accepts.",
  [CODE.outOfMemory]: "Free memory of the device, or ask for less; other processes may use it too.",
  3: "Open the driver with openDriver(), which initialises it.",
  4: "The driver is shutting down: make no call while the process exits.",
  46:
    "Another process holds the device for itself, or it is lost: see nvidia-smi, then start anew.",
  [CODE.invalidDevice]: "Count the devices first.",
  200: "The module is neither PTX nor a binary for this device.",
  [CODE.invalidContext]:
    "No context is current on this thread, or what was given belongs to another one.",
  209: "The binary was built for other devices: load PTX, which is compiled for this one.",
  218: "The PTX is wrong: the compiler's log says where.",
  222: "The PTX is newer than the driver: update the driver, or compile for an older version.",
  [CODE.invalidHandle]: "It was disposed before, or belongs to another context.",
  [CODE.illegalState]: "Something else has to end or begin before this call.",
  [CODE.notFound]: 'Names are those in the module, mangled unless declared extern "C".',
  701: "A block needs more threads, registers or shared memory than the device has for it.",
  709: "Something else in this process has reset the device: everything made with it is void.",
  720: "All blocks have to be resident at once: launch fewer, as the occupancy says.",
  801: "The device or the driver cannot do this.",
  803: "The library and the kernel's module differ in version: restart after the update.",
  804: "The compatibility package does not support this device: use the driver's own library.",
  900: "This call is not allowed while a stream is captured.",
  901: "The capture failed at an earlier call: end it and begin anew.",
  902: "Let each capture wait for events of its own streams only.",
  904: "Before a capture ends, its first stream has to wait for the others' last events.",
  905: "Record the event within the capture that waits for it.",
  906: "Use no default stream while another stream is captured.",
  907: "Record the event outside of a capture before it is asked about.",
  908: "End a capture on the thread that began it.",
  910: "The graph differs in its shape: instantiate it anew.",
  999: "The driver gives no reason: see the kernel's log for Xid messages, then start anew.",
};

/** A call that failed, or would have. */
export class CudaError extends Error {
  /** The code by its name in cuda.h, e.g. `CUDA_ERROR_OUT_OF_MEMORY`. */
  override readonly name: string;
  /** What to do about it. */
  readonly hint: string;

  /**
   * Failure of a call.
   *
   * @param call The function of the driver, e.g. `cuMemAlloc_v2`.
   * @param code `CUresult`.
   * @param text What is wrong, without a full stop.
   * @param options A hint, and a name where the driver knows one.
   */
  constructor(
    readonly call: string,
    readonly code: number,
    readonly text: string,
    options: ErrorOptions & { readonly name?: string; readonly hint?: string } = {},
  ) {
    const name = options.name ?? NAMES[code] ?? `CUDA_ERROR_${code}`;
    const hint = options.hint ?? HINTS[code] ?? (STICKY.has(code) ? AFTER_A_FAULT : "");
    super(`${call} failed with ${name} (${code}): ${text}. ${hint}`.trimEnd(), options);
    this.name = name;
    this.hint = hint;
  }

  /** Whether every later call of this process will fail as well. */
  get sticky(): boolean {
    return STICKY.has(this.code);
  }
}

/**
 * Makes sure that a number is one that the driver can be given: as an `int`, unless said otherwise.
 *
 * @throws {CudaError}
 */
export function checkCount(call: string, count: number, most: number = 2 ** 31 - 1): void {
  if (Number.isInteger(count) && count >= 0 && count <= most) return;
  throw new CudaError(call, CODE.invalidValue, `${count} cannot be asked for`, {
    hint: `Expected an integer from 0 to ${most}.`,
  });
}

/** Why there is no driver to use. */
export type CudaUnavailableReason =
  | "not installed" // no such library
  | "not permitted" // the process runs without a bare --allow-ffi
  | "wrong library" // a file that is no CUDA driver, or none for this machine
  | "a stub" // the toolkit's library to link against, which does nothing
  | "too old" // without a function that is needed
  | "no device" // a driver without a GPU
  | "failed"; // a driver that does not start

/** The driver cannot be used. The message is one line and says what to do. */
export class CudaUnavailableError extends Error {
  /** Tells the class in a log. */
  override readonly name = "CudaUnavailableError";
  /** An error with what to do in its message. */
  constructor(readonly reason: CudaUnavailableReason, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}
