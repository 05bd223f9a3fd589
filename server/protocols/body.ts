/**
 * Reading a request's body within bounds, its own and that of all together: refused from its
 * declared length before a byte is read, and while reading where it declares none. A client that sends
 * a part of a body and waits is not waited for.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import { type BodyBudget, UNCOUNTED_BYTES } from "./body_budget.ts";

/** Within every period a counted body has to bring so many bytes, or its end. */
const PERIOD_BYTES = 1024 * 1024;
const PERIOD_MICROS = 30_000_000;

/**
 * The whole body. What rejects with anything but a SluiceError is for {@linkcode brokenBody}: this
 * adds no promise of its own to the hot path.
 *
 * @param budget Room for it is taken here: give its length back when nobody needs it any more.
 * @throws {SluiceError} `too_large` beyond `maxBytes`, `queue_full` beyond the budget,
 *   `request_timeout` when it is over 64 KiB, or its length is not declared, and comes too slowly.
 */
export function readBody(
  request: Request,
  maxBytes: number,
  budget: BodyBudget,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = request.headers.get("content-length");
  if (declared === null) return readPieces(request, undefined, maxBytes, budget);
  const length = Number(declared);
  if (length > maxBytes) throw tooLarge(declared, maxBytes);
  if (length <= UNCOUNTED_BYTES) return request.bytes();
  budget.take(length);
  // Reading at once is cheaper for small ones, but cannot be stopped: what is received stays
  // until the client leaves. So not much of the room is for bodies read so.
  return length <= PERIOD_BYTES && budget.roomy
    ? readAtOnce(request, length, budget)
    : readPieces(request, length, maxBytes, budget);
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

function readAtOnce(
  request: Request,
  length: number,
  budget: BodyBudget,
): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    let late = false;
    const timer = budget.clock.at(budget.clock.nowMicros() + PERIOD_MICROS, () => {
      late = true;
      reject(tooSlow());
    });
    request.bytes().then((body) => {
      timer.cancel();
      if (late) budget.giveBack(length);
      else resolve(body);
    }, (fault) => {
      timer.cancel();
      budget.giveBack(length);
      reject(fault);
    });
  });
}

/** Of a declared length, for which there is room, or of any. */
async function readPieces(
  { body }: Request,
  declared: number | undefined,
  maxBytes: number,
  budget: BodyBudget,
): Promise<Uint8Array<ArrayBuffer>> {
  if (body === null) return new Uint8Array(0);
  const { clock } = budget;
  const reader = body.getReader();
  let buffer = new ArrayBuffer(declared ?? 0);
  let total = 0;
  let before = 0;
  let late = false;
  const nextPeriod = () =>
    clock.at(clock.nowMicros() + PERIOD_MICROS, () => {
      late = total - before < PERIOD_BYTES;
      before = total;
      if (late) abandon(reader);
      else timer = nextPeriod();
    });
  let timer = nextPeriod();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (late) throw tooSlow();
      if (done) break;
      const grown = total + value.byteLength;
      if (grown > maxBytes) throw tooLarge(`more than ${maxBytes}`, maxBytes);
      if (declared === undefined) budget.take(grown, total);
      if (grown > buffer.byteLength) {
        buffer = buffer.transfer(Math.max(grown, Math.min(2 * buffer.byteLength, maxBytes)));
      }
      new Uint8Array(buffer, total).set(value);
      total = grown;
    }
  } catch (fault) {
    abandon(reader);
    budget.giveBack(declared ?? total);
    throw fault;
  } finally {
    timer.cancel();
  }
  return new Uint8Array(total === buffer.byteLength ? buffer : buffer.transfer(total));
}

/** What is still to come is thrown away. */
function abandon(reader: ReadableStreamDefaultReader): void {
  reader.cancel().catch(() => {}); // it had failed already
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

function tooLarge(given: string, maxBytes: number): SluiceError {
  return new SluiceError(
    "too_large",
    `The request body is ${given} bytes, expected at most ${maxBytes} bytes`,
  );
}

function tooSlow(): SluiceError {
  return new SluiceError(
    "request_timeout",
    `The request body comes too slowly, expected ${PERIOD_BYTES} bytes or its end within ` +
      `${PERIOD_MICROS / 1e6} seconds`,
  );
}
