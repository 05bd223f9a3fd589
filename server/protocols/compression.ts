/**
 * gzip and deflate (zlib) in both directions: request bodies unfold into a bound, responses are
 * compressed where the client asks for it.
 *
 * @module
 */
import { promisify } from "node:util";
import { deflate, deflateSync, gunzip, gzip, gzipSync, inflate } from "node:zlib";
import { SluiceError } from "../../models/errors.ts";

/** A content coding that this server speaks. */
export type ContentCoding = "gzip" | "deflate";

const CODECS = {
  gzip: { decode: promisify(gunzip), encode: promisify(gzip), encodeNow: gzipSync },
  deflate: { decode: promisify(inflate), encode: promisify(deflate), encodeNow: deflateSync },
} as const;

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

/** Up to so many bytes compressing in place is cheaper than a thread hop. */
const IN_PLACE_BYTES = 4096;

/**
 * Undoes a request's `Content-Encoding`.
 *
 * @throws {SluiceError} `unsupported` for another coding, `invalid_argument` when the body is not
 *   what its coding says, `too_large` when it unfolds beyond `maxBytes`.
 */
export async function decompress(
  coding: string,
  body: Uint8Array<ArrayBuffer>,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (coding === "identity" || coding === "") return body;
  if (coding !== "gzip" && coding !== "deflate") {
    throw new UnsupportedCoding(coding);
  }
  try {
    return bytesOf(await CODECS[coding].decode(body, { maxOutputLength: maxBytes }));
  } catch (fault) {
    if (fault instanceof RangeError) {
      throw new SluiceError(
        "too_large",
        `The request body unfolds to more than ${maxBytes} bytes, expected at most that`,
      );
    }
    throw new SluiceError(
      "invalid_argument",
      `The request body is not valid ${coding}: ${(fault as Error).message}`,
    );
  }
}

/** Compresses a response; at once where it is small. */
export function compress(
  coding: ContentCoding,
  body: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
  const codec = CODECS[coding];
  return body.byteLength <= IN_PLACE_BYTES
    ? bytesOf(codec.encodeNow(body))
    : codec.encode(body).then(bytesOf);
}

/** A Buffer's bytes, whose memory is never shared. */
function bytesOf(buffer: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset, buffer.byteLength);
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
    if (name === "gzip" || name === "deflate") best = name;
    else if (name === "identity") best = undefined;
    else continue;
    bestQuality = quality;
  }
  return best;
}
