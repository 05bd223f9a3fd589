/**
 * gzip and deflate (zlib) in both directions: request bodies unfold into a bound, responses are
 * compressed where the client asks for it. All of it at once: in Deno `node:zlib` holds up the event
 * loop whichever way it is called, so large bodies belong in a Worker.
 *
 * @module
 */
import { deflateSync, gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { messageOf, SluiceError } from "../../models/errors.ts";

/** A content coding that this server speaks. */
export type ContentCoding = "gzip" | "deflate";

const CODECS = {
  gzip: { decode: gunzipSync, encode: gzipSync },
  deflate: { decode: inflateSync, encode: deflateSync },
} as const;

/** Whether it is the name of a coding that takes work; `identity` takes none. */
export function isContentCoding(name: string): name is ContentCoding {
  return name === "gzip" || name === "deflate";
}

/** A request's `Content-Encoding`, where it has one; letters of either case mean the same. */
export function contentCoding({ headers }: Request): string | undefined {
  return headers.get("content-encoding")?.toLowerCase();
}

/** A `Content-Encoding` that this server does not speak; its answer says which it does. */
export class UnsupportedCoding extends SluiceError {
  /**
   * Refuses a coding.
   *
   * @param coding As the request named it.
   */
  constructor(coding: string) {
    super(
      "unsupported",
      `The request has Content-Encoding '${coding}', expected gzip, deflate or identity`,
    );
  }
}

/**
 * Undoes a request's `Content-Encoding`.
 *
 * @throws {SluiceError} `unsupported` for another coding, `invalid_argument` when the body is not
 *   what its coding says, `too_large` when it unfolds beyond `maxBytes`.
 */
export function decompress(
  coding: string,
  body: Uint8Array<ArrayBuffer>,
  maxBytes: number,
): Uint8Array<ArrayBuffer> {
  if (coding === "identity" || coding === "") return body;
  if (!isContentCoding(coding)) throw new UnsupportedCoding(coding);
  try {
    return bytesOf(CODECS[coding].decode(body, { maxOutputLength: maxBytes }));
  } catch (fault) {
    if (fault instanceof RangeError) {
      throw new SluiceError(
        "too_large",
        `The request body unfolds to more than ${maxBytes} bytes, expected at most that`,
      );
    }
    throw new SluiceError(
      "invalid_argument",
      `The request body is not valid ${coding}: ${messageOf(fault)}`,
    );
  }
}

/** A megabyte of tensors as JSON becomes 3 % smaller by the default level, in twice the time. */
const LEVEL = 2;

/** Compresses a response. */
export function compress(
  coding: ContentCoding,
  body: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  return bytesOf(CODECS[coding].encode(body, { level: LEVEL }));
}

/** A Buffer's bytes in memory of their own, which may be transferred: small ones share a pool. */
function bytesOf(buffer: Uint8Array): Uint8Array<ArrayBuffer> {
  return buffer.byteLength === buffer.buffer.byteLength
    ? new Uint8Array(buffer.buffer as ArrayBuffer)
    : new Uint8Array(buffer);
}

/**
 * The coding that an `Accept-Encoding` prefers: by q-value, in its own order where those are equal.
 * Undefined means none: also for `*`, and for codings that this server does not speak.
 */
export function acceptedCoding(header: string): ContentCoding | undefined {
  let best: ContentCoding | undefined;
  let bestQuality = 0;
  for (const item of header.split(",")) {
    const [name, ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    const given = parameters.find((parameter) => parameter.startsWith("q="));
    const quality = given === undefined ? 1 : Number(given.slice(2));
    if (!(quality > bestQuality)) continue;
    if (isContentCoding(name)) best = name;
    else if (name === "identity") best = undefined;
    else continue;
    bestQuality = quality;
  }
  return best;
}
