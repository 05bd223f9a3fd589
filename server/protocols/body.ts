/**
 * Reading a request's body within bounds, its own and that of all together: refused from its
 * declared length before a byte is read, and while reading where it declares none.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import { type BodyBudget, UNCOUNTED_BYTES } from "./body_budget.ts";

/**
 * The whole body. What rejects with anything but a SluiceError is for {@linkcode brokenBody}: this
 * adds no promise of its own to the hot path.
 *
 * @param budget Room for it is taken here: give its length back when nobody needs it any more.
 * @throws {SluiceError} `too_large` beyond `maxBytes`, `queue_full` beyond the budget.
 */
export function readBody(
  request: Request,
  maxBytes: number,
  budget: BodyBudget,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = request.headers.get("content-length");
  if (declared === null) return readUndeclared(request, maxBytes, budget);
  const length = Number(declared);
  if (length > maxBytes) throw tooLarge(declared, maxBytes);
  return length > UNCOUNTED_BYTES ? readLarge(request, length, budget) : request.bytes();
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

async function readLarge(
  request: Request,
  length: number,
  budget: BodyBudget,
): Promise<Uint8Array<ArrayBuffer>> {
  budget.take(length);
  try {
    return await request.bytes();
  } catch (fault) {
    budget.giveBack(length);
    throw fault;
  }
}

async function readUndeclared(
  request: Request,
  maxBytes: number,
  budget: BodyBudget,
): Promise<Uint8Array<ArrayBuffer>> {
  if (request.body === null) return new Uint8Array(0);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let total = 0;
  try {
    for await (const chunk of request.body) {
      const grown = total + chunk.byteLength;
      if (grown > maxBytes) throw tooLarge(`more than ${maxBytes}`, maxBytes);
      budget.take(grown, total);
      total = grown;
      chunks.push(chunk);
    }
  } catch (fault) {
    budget.giveBack(total);
    throw fault;
  }
  return chunks.length === 1 ? chunks[0] : concatenate(chunks, total);
}

/** Smaller ones cost less to collect than to free. */
const WORTH_FREEING_BYTES = 4096;

/**
 * Frees a body that nothing refers to any more, rather than leave it to the garbage collector: the
 * next body then gets the same memory, still warm, and none piles up.
 */
export function freeBody({ buffer, byteLength }: Uint8Array<ArrayBuffer>): void {
  if (byteLength >= WORTH_FREEING_BYTES && byteLength === buffer.byteLength) buffer.transfer(0);
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
