/**
 * What tests tell the software GPU beyond the driver API: how large and how strict it is, what
 * fails, what takes how long, and what it has counted.
 *
 * @module
 */

const SYMBOLS = {
  // int softwareGpuConfigure(const char* option, uint64_t value)
  softwareGpuConfigure: { parameters: ["buffer", "u64"], result: "i32" },
  // int softwareGpuKernelCost(const char* kernel, uint64_t nanos)
  softwareGpuKernelCost: { parameters: ["buffer", "u64"], result: "i32" },
  // int softwareGpuInject(const char* function, uint64_t nth, int code)
  softwareGpuInject: { parameters: ["buffer", "u64", "i32"], result: "i32" },
  // int softwareGpuDelayKernel(const char* kernel, uint64_t nth, uint64_t nanos)
  softwareGpuDelayKernel: { parameters: ["buffer", "u64", "u64"], result: "i32" },
  // void softwareGpuLoseDevice(void)
  softwareGpuLoseDevice: { parameters: [], result: "void" },
  // void softwareGpuReset(void)
  softwareGpuReset: { parameters: [], result: "void" },
  // uint64_t softwareGpuCounter(const char* name)
  softwareGpuCounter: { parameters: ["buffer"], result: "u64" },
  // const char* softwareGpuFault(void)
  softwareGpuFault: { parameters: [], result: "pointer" },
} as const;

/** What can be set. Whatever is left out stays as it is; a reset brings the defaults back. */
export interface SoftwareGpuOptions {
  /** Size of the device's memory. */
  readonly memoryBytes?: number;
  /** Threads that run blocks of kernels. */
  readonly threads?: number;
  /** Devices that there are. */
  readonly deviceCount?: number;
  /** Compute capability, major and minor in one: 80 is 8.0. */
  readonly computeCapability?: number;
  /** Instructions of warps after which a launch counts as a runaway; 0 for no bound. */
  readonly instructionBudget?: number;
  /** Seed of the adversarial mode: random order, poisoned memory, late copies. 0 turns it off. */
  readonly adversarialSeed?: number;
  /** Whether reading memory that nobody wrote is a fault. */
  readonly checkUninitialised?: boolean;
  /** Whether shared memory touched on both sides of a missing barrier is a fault. */
  readonly checkRaces?: boolean;
  /** Whether kernels take the time that {@linkcode SoftwareGpuControl.setKernelCost} says. */
  readonly timed?: boolean;
  /** In timed mode: whether the arithmetic is left out. */
  readonly skipArithmetic?: boolean;
  /** Time that a kernel without a cost of its own takes in timed mode. */
  readonly defaultKernelNanos?: number;
  /** Largest allocation that succeeds, as if the rest were fragments; 0 for no bound. */
  readonly largestFreeBlock?: number;
}

/** What is counted, from the library's load or the last reset on. */
export type SoftwareGpuCounter =
  | "calls"
  | `calls:${string}`
  | "launches"
  | "bytesToDevice"
  | "bytesToHost"
  | "bytesRead"
  | "bytesWritten"
  | "instructions"
  | "liveAllocations"
  | "liveBytes"
  | "liveHandles";

const FOREVER = (1n << 64n) - 1n;

/** The control functions of a software GPU in this process. */
export class SoftwareGpuControl implements Disposable {
  readonly #library: Deno.DynamicLibrary<typeof SYMBOLS>;

  /**
   * Opens them. The library that a driver was opened from is the same one when the path is.
   *
   * @param path As `deno task build:software-gpu` prints it.
   */
  constructor(path: string) {
    this.#library = Deno.dlopen(path, SYMBOLS);
  }

  /**
   * Sets options. How many devices there are, and of which kind, has to be set before the driver is
   * opened.
   *
   * @throws {RangeError} When the device refuses one.
   */
  configure(options: SoftwareGpuOptions): void {
    for (const [option, value] of Object.entries(options)) {
      const status = this.#library.symbols.softwareGpuConfigure(cString(option), BigInt(value));
      accepted(status, `${option}: ${value}`);
    }
  }

  /** How long a kernel takes in timed mode. */
  setKernelCost(kernel: string, nanos: number): void {
    const status = this.#library.symbols.softwareGpuKernelCost(cString(kernel), BigInt(nanos));
    accepted(status, `a cost of ${nanos} ns for ${kernel}`);
  }

  /**
   * Makes a call fail.
   *
   * @param call Name of the API function as exported, e.g. `cuMemAlloc_v2`.
   * @param nth Which of the calls that follow: 1 is the next.
   * @param code The `CUresult`. A sticky one stays until a reset.
   * @throws {RangeError} When there is no such function.
   */
  inject(call: string, nth: number, code: number): void {
    const status = this.#library.symbols.softwareGpuInject(cString(call), BigInt(nth), code);
    accepted(status, `code ${code} for call ${nth} of ${call}`);
  }

  /**
   * Makes a launch take longer.
   *
   * @param nth Which of the kernel's launches that follow: 1 is the next.
   * @param nanos `Infinity` hangs until a reset.
   */
  delayKernel(kernel: string, nth: number, nanos: number): void {
    const status = this.#library.symbols.softwareGpuDelayKernel(
      cString(kernel),
      BigInt(nth),
      nanos === Infinity ? FOREVER : BigInt(nanos),
    );
    accepted(status, `a delay of ${nanos} ns for launch ${nth} of ${kernel}`);
  }

  /** The device falls off the bus: every call fails from now on. */
  loseDevice(): void {
    this.#library.symbols.softwareGpuLoseDevice();
  }

  /** As if the process had ended and begun anew: no handle holds, options are the defaults. */
  reset(): void {
    this.#library.symbols.softwareGpuReset();
  }

  /** What has been counted. Calls are counted by exported name as well: `calls:cuMemAlloc_v2`. */
  counter(name: SoftwareGpuCounter): number {
    return Number(this.#library.symbols.softwareGpuCounter(cString(name)));
  }

  /** Message of the last fault: kernel, block, thread and line of the PTX. Empty when none. */
  faultMessage(): string {
    const message = this.#library.symbols.softwareGpuFault();
    return message === null ? "" : Deno.UnsafePointerView.getCString(message);
  }

  /** Closes the library here; a driver that was opened from it stays. */
  [Symbol.dispose](): void {
    this.#library.close();
  }
}

function accepted(status: number, what: string): void {
  if (status !== 0) throw new RangeError(`The software GPU refuses ${what}`);
}

const ENCODER = new TextEncoder();

function cString(text: string): Uint8Array<ArrayBuffer> {
  return ENCODER.encode(`${text}\0`);
}
