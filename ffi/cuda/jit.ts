/**
 * Loads an image into the current context, with what the driver's compiler has to say.
 *
 * @module
 */
import type { ModuleImage } from "./module_image.ts";
import type { Symbols } from "./symbols.ts";

/** What came of a load. */
export interface LoadedImage {
  /** `CUresult`. */
  readonly status: number;
  /** `CUmodule`, when the status is 0. */
  readonly handle: bigint;
  /** What the compiler did, e.g. the registers that it used; empty for machine code. */
  readonly infoLog: string;
  /** What the compiler objects to. */
  readonly errorLog: string;
}

/** `CUjit_option`s that are given, in their order. */
const OPTION = {
  infoLogBuffer: 3, // CU_JIT_INFO_LOG_BUFFER
  infoLogBytes: 4, // CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES
  errorLogBuffer: 5, // CU_JIT_ERROR_LOG_BUFFER
  errorLogBytes: 6, // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
  logVerbose: 12, // CU_JIT_LOG_VERBOSE
} as const;

const LOG_BYTES = 16_384;

/** Loads an image. The call lasts as long as the compiler needs. */
export function loadImage(
  symbols: Pick<Symbols, "cuModuleLoadDataEx">,
  image: ModuleImage,
): LoadedImage {
  const infoLog = new Uint8Array(new ArrayBuffer(LOG_BYTES));
  const errorLog = new Uint8Array(new ArrayBuffer(LOG_BYTES));
  const options = Int32Array.from(Object.values(OPTION));
  // Each is a `void*`, numbers included.
  const values = BigUint64Array.of(
    addressOf(infoLog),
    BigInt(LOG_BYTES),
    addressOf(errorLog),
    BigInt(LOG_BYTES),
    1n,
  );
  const handle = new BigUint64Array(1);
  const status = symbols.cuModuleLoadDataEx(
    new Uint8Array(handle.buffer),
    image.bytes,
    options.length,
    new Uint8Array(options.buffer),
    new Uint8Array(values.buffer),
  );
  return { status, handle: handle[0], infoLog: text(infoLog), errorLog: text(errorLog) };
}

function addressOf(bytes: Uint8Array<ArrayBuffer>): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));
}

function text(log: Uint8Array): string {
  const end = log.indexOf(0);
  return new TextDecoder().decode(log.subarray(0, end < 0 ? log.length : end)).trim();
}
