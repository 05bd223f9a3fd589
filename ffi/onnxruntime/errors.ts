/**
 * What the library refuses, and why the library itself may be missing.
 *
 * @module
 */

/** Names of `OrtErrorCode`, by value. */
const CODE_NAMES = [
  "OK",
  "FAIL",
  "INVALID_ARGUMENT",
  "NO_SUCHFILE",
  "NO_MODEL",
  "ENGINE_ERROR",
  "RUNTIME_EXCEPTION",
  "INVALID_PROTOBUF",
  "MODEL_LOADED",
  "NOT_IMPLEMENTED",
  "INVALID_GRAPH",
  "EP_FAIL",
  "MODEL_LOAD_CANCELED",
  "MODEL_REQUIRES_COMPILATION",
  "NOT_FOUND",
] as const;

/** A call that ONNX Runtime refused. */
export class OnnxRuntimeError extends Error {
  /** Tells the class in a log. */
  override readonly name = "OnnxRuntimeError";
  /** The code by name, e.g. `INVALID_PROTOBUF`; its number where this file knows no name. */
  readonly codeName: string;

  /**
   * An error as a status describes it.
   *
   * @param code `OrtErrorCode`.
   * @param call The function that was called, e.g. `CreateSession`.
   * @param reason ONNX Runtime's own words.
   */
  constructor(readonly code: number, readonly call: string, readonly reason: string) {
    const codeName = CODE_NAMES[code] ?? String(code);
    super(`${call} failed with ${codeName}: ${reason}`);
    this.codeName = codeName;
  }
}

/** Why the library could not be opened. */
export type UnavailableReason =
  | "not_installed" // no such file, or the system's loader refuses it
  | "not_permitted" // the process runs without --allow-ffi
  | "too_old" // opened, but without a function that is needed
  | "unsupported_platform"; // the npm package carries no library for this system

/** ONNX Runtime is not there, and what to do about it. */
export class OnnxRuntimeUnavailableError extends Error {
  /** Tells the class in a log. */
  override readonly name = "OnnxRuntimeUnavailableError";
  /** An error with what to do in its message. */
  constructor(readonly reason: UnavailableReason, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}
