/**
 * One request over a connection of its own, with nothing added or tidied up.
 *
 * @module
 */
import { gunzipSync, inflateSync } from "node:zlib";

/** A request as it is sent. */
export interface PlainRequest {
  /** What it tries, in a few words; unique. */
  readonly name: string;
  /** The method. */
  readonly method: string;
  /** The path as it is sent. */
  readonly path: string;
  /** Besides Host and Content-Length. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for a request that has none. */
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}

/** An answer as it came. */
export interface PlainAnswer {
  /** The status code. */
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** What its coding says, undone. */
  readonly body: Uint8Array;
}

/** Sends a request and reads its answer. Triton does not always close when it is asked to. */
export async function exchange(address: string, request: PlainRequest): Promise<PlainAnswer> {
  const { method, path, headers, body } = request;
  const [hostname, port] = address.split(":");
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const length = body === undefined ? {} : { "Content-Length": `${body.length}` };
  const lines = Object.entries({ Host: address, ...length, ...headers });
  const head = `${method} ${path} HTTP/1.1\r\n` +
    lines.map(([name, value]) => `${name}: ${value}\r\n`).join("") + "\r\n";
  await write(connection, new TextEncoder().encode(head));
  if (body !== undefined) await write(connection, body);

  let received: Uint8Array = new Uint8Array(0);
  const chunk = new Uint8Array(64 * 1024);
  for (;;) {
    const answer = parse(received, method === "HEAD");
    if (answer !== undefined) return answer;
    const size = await connection.read(chunk);
    if (size === null) throw new Error(`The answer ends after ${received.length} bytes`);
    received = Uint8Array.of(...received, ...chunk.subarray(0, size));
  }
}

async function write(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** The answer, or undefined while a part is missing. */
function parse(bytes: Uint8Array, bodiless: boolean): PlainAnswer | undefined {
  const end = new TextDecoder("latin1").decode(bytes).indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [status, ...lines] = new TextDecoder().decode(bytes.subarray(0, end)).split("\r\n");
  const headers = new Map(lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  }));
  const length = bodiless ? 0 : Number(headers.get("content-length"));
  const body = bytes.subarray(end + 4, end + 4 + length);
  if (body.length < length) return undefined;
  return {
    status: Number(status.split(" ")[1]),
    headers,
    body: decoded(body, headers.get("content-encoding")),
  };
}

function decoded(body: Uint8Array, coding: string | undefined): Uint8Array {
  if (coding === "gzip") return gunzipSync(body);
  return coding === "deflate" ? inflateSync(body) : body;
}
