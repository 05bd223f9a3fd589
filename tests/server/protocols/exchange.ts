/**
 * Requests to an app without a network.
 *
 * @module
 */
import { Jobs } from "../../../server/jobs/jobs.ts";
import { type App, type AppOptions, createApp } from "../../../server/protocols/app.ts";
import { NO_CHECKPOINTS } from "../jobs/fake_checkpoints.ts";

/** An app with the defaults of the tests. */
export function testApp(options: Partial<AppOptions> & Pick<AppOptions, "engine">): App {
  return createApp({
    jobs: new Jobs({ engine: options.engine, checkpoints: NO_CHECKPOINTS }),
    maxBodyBytes: 1_000_000,
    maxBodiesBytes: 10_000_000,
    tritonStatusCodes: false,
    strictReadiness: false,
    ...options,
  });
}

/** A caller on this machine. */
export const LOCAL: Deno.ServeHandlerInfo = {
  remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 50_000 },
  completed: Promise.resolve(),
};

/** A caller on another machine. */
export const REMOTE: Deno.ServeHandlerInfo = {
  remoteAddr: { transport: "tcp", hostname: "192.0.2.7", port: 50_000 },
  completed: Promise.resolve(),
};

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly text: string;
}

/** One request; objects become JSON. */
export async function ask(
  app: App,
  method: string,
  path: string,
  body?: BodyInit | Readonly<Record<string, unknown>>,
  headers: Record<string, string> = {},
  info: Deno.ServeHandlerInfo = LOCAL,
): Promise<Answer> {
  const isPlain = typeof body === "object" && Object.getPrototypeOf(body) === Object.prototype;
  const response = await app(
    new Request(`http://127.0.0.1${path}`, {
      method,
      headers,
      body: isPlain ? JSON.stringify(body) : body as BodyInit | undefined,
    }),
    info,
  );
  const bytes = await response.bytes();
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    text: new TextDecoder().decode(bytes),
  };
}

/** The text of an error, after checking that it is all that the body holds. */
export function errorOf({ headers, text }: Answer): string {
  const { error, ...rest } = JSON.parse(text);
  if (
    typeof error !== "string" || Object.keys(rest).length > 0 ||
    headers.get("content-type") !== "application/json"
  ) {
    throw new TypeError(`Not an error body: ${text}`);
  }
  return error;
}

/** JSON followed by binary tensors. */
export function binaryBody(
  json: Readonly<Record<string, unknown>>,
  ...blobs: readonly Uint8Array<ArrayBuffer>[]
): { readonly body: Blob; readonly headers: Record<string, string> } {
  const head = new TextEncoder().encode(JSON.stringify(json));
  return {
    body: new Blob([head, ...blobs]),
    headers: { "inference-header-content-length": String(head.byteLength) },
  };
}
