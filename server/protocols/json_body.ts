/**
 * The JSON bodies of the routes beside inference: small objects.
 *
 * @module
 */
import { messageOf, SluiceError } from "../../models/errors.ts";
import { brokenBody, readBody } from "./body.ts";
import { BodyBudget, UNCOUNTED_BYTES } from "./body_budget.ts";
import { contentCoding, decompress } from "./compression.ts";
import { describe } from "./describe.ts";

/** The fields of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** They are parsed on the event loop, and nothing that is asked in them needs more. */
const LONGEST_BODY_BYTES = UNCOUNTED_BYTES;
const NO_BUDGET = new BodyBudget(0);

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a JSON object; an empty body is an empty object.
 *
 * @throws {SluiceError} `invalid_argument`, or `too_large` beyond `maxBytes` or 64 KiB.
 */
export async function readFields(request: Request, maxBytes: number): Promise<Fields> {
  return parseFields(await readSmallBody(request, maxBytes));
}

/**
 * Reads a body that is parsed on the event loop.
 *
 * @throws {SluiceError} `invalid_argument`, or `too_large` beyond `maxBytes` or 64 KiB.
 */
export function readSmallBody(
  request: Request,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  return readPlainBody(request, Math.min(maxBytes, LONGEST_BODY_BYTES), NO_BUDGET);
}

/** Undoes a content coding, here or elsewhere. */
export type Undo = (
  ...given: Parameters<typeof decompress>
) => Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>;

/**
 * Reads a body and undoes its `Content-Encoding`.
 *
 * @param budget Counts it while it is received and unfolded.
 * @param undo Undoes it; in place where nothing else is said.
 * @throws {SluiceError} `too_large` beyond `maxBytes`, as sent or unfolded; `unsupported` for an
 *   unknown coding; `invalid_argument` when the body is broken; `queue_full` beyond the budget.
 */
export async function readPlainBody(
  request: Request,
  maxBytes: number,
  budget: BodyBudget,
  undo: Undo = decompress,
): Promise<Uint8Array<ArrayBuffer>> {
  let body: Uint8Array<ArrayBuffer>;
  try {
    body = await readBody(request, maxBytes, budget);
  } catch (fault) {
    throw brokenBody(request, fault);
  }
  const received = body.byteLength;
  try {
    const coding = contentCoding(request);
    return coding === undefined ? body : await undo(coding, body, maxBytes);
  } finally {
    budget.giveBack(received);
  }
}

/**
 * The JSON object that a body holds; an empty body is an empty object.
 *
 * @throws {SluiceError} `invalid_argument`.
 */
export function parseFields(body: Uint8Array<ArrayBuffer>): Fields {
  if (body.byteLength === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(body));
  } catch (fault) {
    throw invalid(`The request is not valid JSON: ${messageOf(fault)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(`The request is ${describe(value)}, expected an object`);
  }
  return value as Fields;
}

function invalid(message: string): SluiceError {
  return new SluiceError("invalid_argument", message);
}
