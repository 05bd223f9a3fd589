/**
 * Reading a request's body with a bound: refused from its declared length before a byte is read,
 * and while reading where it declares none.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";

/**
 * The whole body. What rejects with anything but a SluiceError is for {@linkcode brokenBody}: this
 * adds no promise of its own to the hot path.
 *
 * @throws {SluiceError} `too_large` beyond `maxBytes`.
 */
export function readBody(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const declared = request.headers.get("content-length");
  if (declared === null) return readUndeclared(request, maxBytes);
  if (Number(declared) > maxBytes) throw tooLarge(declared, maxBytes);
  return request.bytes();
}

/** Why a body could not be read: it ended early, or its chunks are malformed. */
export function brokenBody(request: Request, fault: unknown): SluiceError {
  if (fault instanceof SluiceError) return fault;
  const declared = request.headers.get("content-length");
  const expected = declared === null ? "well-formed chunks" : `${declared} bytes`;
  return new SluiceError(
    "invalid_argument",
    `The request body ended before it was complete, expected ${expected}`,
    { cause: fault },
  );
}

async function readUndeclared(
  request: Request,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (request.body === null) return new Uint8Array(0);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let total = 0;
  for await (const chunk of request.body) {
    total += chunk.byteLength;
    if (total > maxBytes) throw tooLarge(`more than ${maxBytes}`, maxBytes);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0] : concatenate(chunks, total);
}

/** Joins pieces whose lengths add up to `total`. */
export function concatenate(
  pieces: readonly Uint8Array<ArrayBuffer>[],
  total: number,
): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(total);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}

function tooLarge(given: string, maxBytes: number): SluiceError {
  return new SluiceError(
    "too_large",
    `The request body is ${given} bytes, expected at most ${maxBytes} bytes`,
  );
}
