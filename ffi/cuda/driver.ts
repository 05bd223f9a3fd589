/**
 * Opens the CUDA driver and checks what its functions return.
 *
 * @module
 */
import { CODE, CudaError, CudaUnavailableError, type CudaUnavailableReason } from "./errors.ts";
import { libraryFileFault } from "./library_file.ts";
import { OutParameter } from "./out_parameter.ts";
import { Owned } from "./owned.ts";
import { MINIMUM_VERSION, type SymbolName, SYMBOLS, type Symbols } from "./symbols.ts";

/** What the library may be called, by operating system, in the order in which they are tried. */
const DEFAULT_PATHS: Readonly<Record<string, readonly string[]>> = {
  // The last is where Windows puts it for Linux programs; the loader's path may lack it.
  linux: ["libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1"],
  windows: ["nvcuda.dll"],
};

/** What is asked first: any driver has them, so that a library without is none. */
const { cuDriverGetVersion, cuInit } = SYMBOLS;
const FIRST = { cuDriverGetVersion, cuInit } as const;

/** Told once, when a fault has made the driver unusable for the rest of the process. */
export type FaultListener = (fault: CudaError) => void;

/** An open driver. It belongs to the thread that opened it. */
export class CudaDriver extends Owned {
  /** The library's file. */
  readonly path: string;
  /** The highest version of CUDA that it supports, e.g. 13.0 as 13000. */
  readonly version: number;
  /** For the result of a call that has one. */
  readonly out: OutParameter = new OutParameter();
  /** For the other result of a call that has two. */
  readonly secondOut: OutParameter = new OutParameter();

  readonly #library: Deno.DynamicLibrary<typeof SYMBOLS>;
  #symbols: Symbols;
  readonly #faultListeners = new Set<FaultListener>();
  #fault: CudaError | undefined;
  #deferred: unknown;

  /** Use {@linkcode openDriver}. */
  constructor(path: string, version: number, library: Deno.DynamicLibrary<typeof SYMBOLS>) {
    super(undefined, `driver ${path}`, 0n);
    this.path = path;
    this.version = version;
    this.#symbols = library.symbols;
    this.#library = library;
  }

  /** The functions. Give what they return to {@linkcode check}. */
  get symbols(): Symbols {
    return this.#symbols;
  }

  /** The fault after which no call works any more. */
  get fault(): CudaError | undefined {
    return this.#fault;
  }

  /** Has a listener told about the fault, at once when there has been one; returns its removal. */
  onFault(listener: FaultListener): () => void {
    if (this.#fault !== undefined) listener(this.#fault);
    else this.#faultListeners.add(listener);
    return () => this.#faultListeners.delete(listener);
  }

  /**
   * Does nothing for success, else throws what the status says.
   *
   * @param call The function that returned it.
   * @throws {CudaError}
   */
  check(call: SymbolName, status: number): void {
    if (status !== CODE.success) throw this.failure(call, status);
  }

  /** The error that a status stands for, for callers who have more to say than {@linkcode check}. */
  failure(
    call: SymbolName,
    status: number,
    options: { readonly text?: string; readonly hint?: string } = {},
  ): CudaError {
    const name = this.#describe(this.symbols.cuGetErrorName, status);
    const text = options.text ?? this.#describe(this.symbols.cuGetErrorString, status) ??
      "a status that this driver does not explain";
    const error = new CudaError(call, status, text, { name, hint: options.hint });
    if (error.sticky && this.#fault === undefined) {
      this.#fault = error;
      for (const listener of this.#faultListeners) this.#tell(listener, error);
      this.#faultListeners.clear();
    }
    return error;
  }

  /** Throws an error that was met when something was disposed. Every operation begins with it. */
  raiseDeferred(): void {
    if (this.#deferred === undefined) return;
    const error = this.#deferred;
    this.#deferred = undefined;
    throw error;
  }

  /** Closes the library. Its functions lead nowhere then, so others take their places. */
  protected override release(): void {
    this.#library.close();
    const refuse = (call: string) => () => this.live(call);
    const closed = Object.keys(SYMBOLS).map((name) => [name, refuse(name)]);
    this.#symbols = Object.fromEntries(closed);
  }

  /** After a fault nothing can be released, which the fault itself has told already. */
  protected override releaseFailed(error: unknown): void {
    if (this.#fault === undefined) this.#deferred ??= error;
  }

  /** A listener's own mistake must hide neither the fault nor the fault from other listeners. */
  #tell(listener: FaultListener, fault: CudaError): void {
    try {
      listener(fault);
    } catch (mistake) {
      this.#deferred ??= mistake;
    }
  }

  #describe(describe: Symbols["cuGetErrorName"], status: number): string | undefined {
    const text = new OutParameter();
    if (describe(status, text.bytes) !== CODE.success) return undefined;
    const pointer = Deno.UnsafePointer.create(text.u64);
    return pointer === null ? undefined : Deno.UnsafePointerView.getCString(pointer);
  }
}

/**
 * Opens and initialises the driver.
 *
 * @param path The library; by default the one that the system has.
 * @throws {CudaUnavailableError} Its reason tells what is missing.
 */
export function openDriver(path?: string): CudaDriver {
  const paths = path === undefined ? DEFAULT_PATHS[Deno.build.os] ?? [] : [path];
  let failure = new CudaUnavailableError(
    "not installed",
    `There is no CUDA driver for ${Deno.build.os}: it exists for Linux and Windows.`,
  );
  for (const candidate of paths) {
    try {
      return openLibrary(candidate);
    } catch (error) {
      if (!(error instanceof CudaUnavailableError)) throw error;
      failure = error;
      // Any other reason is about a library that was found: the next name would only hide it.
      if (error.reason !== "not installed") throw error;
    }
  }
  if (path !== undefined || paths.length === 0) throw failure;
  throw new CudaUnavailableError(
    "not installed",
    `No CUDA driver is installed (tried ${paths.join(", ")}): install NVIDIA's driver, or name ` +
      "its library.",
    { cause: failure },
  );
}

function openLibrary(path: string): CudaDriver {
  const version = probe(path);
  let library: Deno.DynamicLibrary<typeof SYMBOLS>;
  try {
    library = Deno.dlopen(path, SYMBOLS);
  } catch (cause) {
    throw unavailable(
      "too old",
      path,
      `it says that it supports CUDA ${format(version)}, but lacks a function: ${message(cause)}`,
      "update the driver",
      cause,
    );
  }
  const driver = new CudaDriver(path, version, library);
  try {
    start(driver);
    return driver;
  } catch (error) {
    driver[Symbol.dispose]();
    throw error;
  }
}

/** Makes sure that the file is a driver of a fit version, which it returns. */
function probe(path: string): number {
  const fault = libraryFileFault(path);
  if (fault !== undefined) throw wrongLibrary(path, fault);
  let library: Deno.DynamicLibrary<typeof FIRST>;
  try {
    // Reading text and pinned memory needs the permission without a path.
    Deno.UnsafePointer.of(new Uint8Array(1));
    library = Deno.dlopen(path, FIRST);
  } catch (cause) {
    throw openingFailed(path, cause);
  }
  try {
    const version = new OutParameter();
    const status = library.symbols.cuDriverGetVersion(version.bytes);
    if (status === CODE.stubLibrary) throw stub(path);
    if (status !== CODE.success) {
      throw unavailable("failed", path, `cuDriverGetVersion returned ${status}`, SEE_NVIDIA_SMI);
    }
    if (version.i32 < MINIMUM_VERSION) {
      throw unavailable(
        "too old",
        path,
        `it supports CUDA ${format(version.i32)}, and ${format(MINIMUM_VERSION)} is needed`,
        "update the driver",
      );
    }
    return version.i32;
  } finally {
    library.close();
  }
}

function start(driver: CudaDriver): void {
  const { path, symbols, out } = driver;
  const status = symbols.cuInit(0);
  if (status === CODE.stubLibrary) throw stub(path);
  if (status === CODE.noDevice) throw noDevice(path);
  if (status !== CODE.success) {
    const { message, hint } = driver.failure("cuInit", status);
    throw unavailable("failed", path, message, hint === "" ? SEE_NVIDIA_SMI : "");
  }
  driver.check("cuDeviceGetCount", symbols.cuDeviceGetCount(out.bytes));
  if (out.i32 === 0) throw noDevice(path);
}

const SEE_NVIDIA_SMI = "see whether nvidia-smi works";

function openingFailed(path: string, cause: unknown): CudaUnavailableError {
  if (cause instanceof Deno.errors.NotCapable) {
    return unavailable(
      "not permitted",
      path,
      "the process may not use it",
      "run Deno with --allow-ffi, without a path, since memory is reached by its address",
      cause,
    );
  }
  // Deno says twice what it could not do.
  const text = message(cause).replace(/^(Could not open library: )\1/, "$1");
  if (/no such file|cannot find|could not be found|not found/i.test(text)) {
    return unavailable("not installed", path, text, "check the path", cause);
  }
  return wrongLibrary(path, text, cause);
}

function wrongLibrary(path: string, text: string, cause?: unknown): CudaUnavailableError {
  return unavailable("wrong library", path, text, "name the driver's own, libcuda.so.1", cause);
}

function stub(path: string): CudaUnavailableError {
  return unavailable(
    "a stub",
    path,
    "it is the toolkit's library to link against, which drives nothing",
    "name the driver's own, libcuda.so.1",
  );
}

function noDevice(path: string): CudaUnavailableError {
  return unavailable(
    "no device",
    path,
    "it finds no GPU",
    "see whether nvidia-smi lists one and CUDA_VISIBLE_DEVICES hides none",
  );
}

function unavailable(
  reason: CudaUnavailableReason,
  path: string,
  what: string,
  advice: string,
  cause?: unknown,
): CudaUnavailableError {
  const line = `CUDA driver ${path}: ${advice === "" ? what : `${what}; ${advice}.`}`;
  return new CudaUnavailableError(reason, line.replaceAll(/\s*\n\s*/g, " "), { cause });
}

function message(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

/** `13000` as `13.0`. */
function format(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor(version % 1000 / 10)}`;
}
