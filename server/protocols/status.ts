/**
 * The one map from an error's code to an HTTP status, and the body that every error has.
 *
 * @module
 */
import { type ErrorCode, SluiceError } from "../../models/errors.ts";
import { UnsupportedCoding } from "./compression.ts";

/** HTTP status of each error code. */
export const STATUS: Readonly<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  too_large: 413,
  request_timeout: 408,
  unsupported: 501,
  not_found: 404,
  method_not_allowed: 405,
  not_ready: 503,
  queue_full: 429,
  out_of_memory: 503,
  deadline_exceeded: 504,
  cancelled: 499,
  forbidden: 403,
  shutting_down: 503,
  conflict: 409,
  execution_failed: 500,
  device_failed: 503,
  internal: 500,
};

/** What Triton 2.51 answers where it differs: for clients that match on its numbers. */
export const TRITON_STATUS: Readonly<Record<ErrorCode, number>> = {
  ...STATUS,
  queue_full: 503,
  deadline_exceeded: 503,
};

/** Seconds after which a client refused by a full queue may try again. */
const RETRY_AFTER_SECONDS = "1";

/** A method that a route does not answer; the answer says which it does. */
export class MethodNotAllowed extends SluiceError {
  /**
   * Refuses a method.
   *
   * @param method What came.
   * @param allowed What the route answers.
   */
  constructor(method: string, readonly allowed: readonly string[]) {
    super(
      "method_not_allowed",
      `Method ${method} is not allowed, expected ${allowed.join(" or ")}`,
    );
  }
}

/** Turns an error into a response: `{"error":"..."}`, with the code in `sluice-error-code`. */
export type ErrorResponder = (error: SluiceError) => Response;

/**
 * Makes the responder of one app.
 *
 * @param tritonStatusCodes Use {@linkcode TRITON_STATUS}.
 */
export function errorResponder(tritonStatusCodes: boolean): ErrorResponder {
  const statuses = tritonStatusCodes ? TRITON_STATUS : STATUS;
  return (error) => {
    const headers: Record<string, string> = {
      "content-type": "application/json",
      "sluice-error-code": error.code,
    };
    if (error.code === "queue_full") headers["retry-after"] = RETRY_AFTER_SECONDS;
    if (error.code === "request_timeout") headers["connection"] = "close";
    if (error instanceof UnsupportedCoding) headers["accept-encoding"] = "gzip, deflate";
    if (error instanceof MethodNotAllowed) headers["allow"] = error.allowed.join(", ");
    return errorBody(error.message, statuses[error.code], headers);
  };
}

/** A message may repeat names and shapes of the request, which may be as long as a body. */
const LONGEST_MESSAGE = 2000;

function errorBody(message: string, status: number, headers: Record<string, string>): Response {
  const error = message.length > LONGEST_MESSAGE
    ? message.slice(0, LONGEST_MESSAGE) + "..."
    : message;
  return new Response(JSON.stringify({ error: error.toWellFormed() }), { status, headers });
}

/** A JSON body; 200 unless another status is given. */
export function jsonBody(value: unknown, status = 200): Response {
  const headers = { "content-type": "application/json" };
  return new Response(JSON.stringify(value), { status, headers });
}

/** A 200 with nothing in it, as the protocol's yes-or-no routes answer. */
export function emptyBody(contentType: string): Response {
  return new Response(null, { headers: { "content-type": contentType, "content-length": "0" } });
}
