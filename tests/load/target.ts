/**
 * The server under load, by the Open Inference Protocol v2.
 *
 * @module
 */
import { messageOf, SluiceError } from "../../models/errors.ts";
import { connectionFault } from "../../models/sources/connection_fault.ts";
import { refusalOf } from "../../server/commands/gateway_client.ts";
import type { InputMetadata, Payload } from "./payload.ts";

/** What of `fetch` is used; tests pass their own. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A server that takes longer to say what it is has no use for a load. */
const PATIENCE_MILLIS = 10_000;

/** Where a model answers. */
export function modelPath(name: string, version?: string): string {
  const path = `/v2/models/${encodeURIComponent(name)}`;
  return version === undefined ? path : `${path}/versions/${encodeURIComponent(version)}`;
}

/** A server of the protocol. */
export class Target {
  /** Without a slash at its end. */
  readonly url: string;
  readonly #fetch: Fetch;

  /**
   * Connects to nothing yet.
   *
   * @throws {SluiceError} `invalid_argument` when `url` is none.
   */
  constructor(url: string, fetch: Fetch) {
    const parsed = URL.parse(/^https?:\/\//.test(url) ? url : `http://${url}`);
    if (parsed === null) {
      throw new SluiceError(
        "invalid_argument",
        `url is "${url}"; expected one such as http://127.0.0.1:8000`,
      );
    }
    this.url = parsed.href.replace(/\/$/, "");
    this.#fetch = fetch;
  }

  /** Whether it takes tensors as bytes behind the JSON. */
  async takesBinary(): Promise<boolean> {
    const { extensions }: { extensions?: string[] } = await this.get("/v2");
    return extensions?.includes("binary_tensor_data") ?? false;
  }

  /** The inputs of a model, as far as its metadata names them. */
  async inputs(name: string, version?: string): Promise<readonly InputMetadata[]> {
    const { inputs }: { inputs?: InputMetadata[] } = await this.get(modelPath(name, version));
    return inputs ?? [];
  }

  /**
   * What a route answers, as JSON.
   *
   * @throws {SluiceError} `not_ready` when nobody answers, `not_found` when it refuses, `unsupported`
   * when it answers, but not by the protocol.
   */
  async get<T>(path: string): Promise<T> {
    let response: Response;
    try {
      response = await this.#fetch(this.url + path, {
        signal: AbortSignal.timeout(PATIENCE_MILLIS),
      });
    } catch (cause) {
      const why = `No server answers at ${this.url}: ${connectionFault(cause, this.url)}`;
      throw new SluiceError("not_ready", why, { cause });
    }
    if (!response.ok) {
      const refusal = await refusalOf(response);
      throw new SluiceError("not_found", `${this.url}${path} refused: ${refusal}`);
    }
    try {
      return await response.json();
    } catch (cause) {
      const why = `${this.url}${path} answers with what is no JSON (${messageOf(cause)})`;
      throw new SluiceError("unsupported", why, { cause });
    }
  }

  /** Sends a request; gives its answer's head. Throws what `fetch` throws. */
  post(path: string, payload: Payload, signal: AbortSignal): Promise<Response> {
    return this.#fetch(this.url + path, { method: "POST", ...payload, signal });
  }
}
