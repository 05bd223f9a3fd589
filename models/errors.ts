/**
 * Everything that can go wrong for a caller, as one class with a stable code. The code decides the
 * HTTP status (see `server/protocols/status.ts`) and the exit code of a task; the message says what
 * was given, what was expected and, where it helps, what to do.
 *
 * @module
 */

/** Stable, documented codes. Clients may match on them; messages may change. */
export type ErrorCode =
  | "invalid_argument" // the request or a file is wrong, and stays wrong when sent again
  | "too_large" // over a limit in bytes
  | "request_timeout" // the request's body comes too slowly
  | "unsupported" // well formed, but this server does not do it
  | "not_found" // no such model, version or route
  | "method_not_allowed" // the route is there, for other methods
  | "not_ready" // known, but loading, unloading or not loaded
  | "queue_full" // bounded queue; try again later
  | "out_of_memory" // does not fit the device with what is resident
  | "deadline_exceeded" // the request's time is up, or cannot be met
  | "cancelled" // the client left
  | "forbidden" // an admin call without the right to make it
  | "shutting_down" // draining: accepts nothing new
  | "conflict" // another gateway or registration holds it
  | "execution_failed" // the model itself failed on this input
  | "device_failed" // the device, not the request, is at fault
  | "internal"; // a fault of ours

/** An error that a caller may see. */
export class SluiceError extends Error {
  /** As stack traces and logs show it. */
  override readonly name = "SluiceError";
  /** What clients match on. */
  readonly code: ErrorCode;

  /** The message says what was given and what was expected; `options.cause` is for the log. */
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Any thrown value as a {@linkcode SluiceError}; what is none is `internal`. */
export function toSluiceError(cause: unknown): SluiceError {
  if (cause instanceof SluiceError) return cause;
  return new SluiceError("internal", messageOf(cause), { cause });
}

/** What any thrown value says. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
