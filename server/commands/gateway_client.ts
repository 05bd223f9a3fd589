/**
 * What commands ask of a running gateway, or of any server of the Open Inference Protocol with
 * Triton's extensions.
 *
 * @module
 */
import { messageOf, SluiceError } from "../../models/errors.ts";
import { connectionFault } from "../../models/sources/connection_fault.ts";
import { UsageError } from "./command.ts";
import type { Io } from "./io.ts";

/** A model's files by their paths in its folder, e.g. `1/model.onnx`. */
export type UploadedFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** A row of the repository index. */
export interface IndexEntry {
  /** The model. */
  readonly name: string;
  /** Absent for a model that was never loaded. */
  readonly version?: string;
  /** READY, UNAVAILABLE, LOADING, UNLOADING; absent for a model that was never loaded. */
  readonly state?: string;
  /** Why it is not ready. */
  readonly reason?: string;
}

/** One model version's statistics, as far as they are used here. */
export interface StatisticsEntry {
  /** The model. */
  readonly name: string;
  /** Its version. */
  readonly version: string;
  /** Requests answered and refused. */
  readonly inference_stats: Readonly<Record<"success" | "fail", { readonly count: number }>>;
  /** Bytes by class. */
  readonly memory_usage?: readonly { readonly type: string; readonly byte_size: number }[];
}

/** The admin key to send: the flag's, else the environment's. */
export function adminKey(flag: string | undefined, io: Io): string | undefined {
  return flag ?? io.env("SLUICE_ADMIN_KEY");
}

/** A gateway at a URL. */
export class GatewayClient {
  /** Where it is. */
  readonly url: string;
  readonly #adminKey: string | undefined;

  /**
   * Connects to nothing yet.
   *
   * @param server A URL, or host and port alone.
   * @throws {UsageError} When it is none.
   */
  constructor(server: string, adminKey?: string) {
    const url = URL.parse(/^https?:\/\//.test(server) ? server : `http://${server}`);
    if (url === null) {
      throw new UsageError(`--server is "${server}"; expected a URL such as http://127.0.0.1:8000`);
    }
    this.url = url.href.replace(/\/$/, "");
    this.#adminKey = adminKey;
  }

  /** All models that it knows. */
  async index(): Promise<IndexEntry[]> {
    return await this.#json("POST", "/v2/repository/index");
  }

  /** Statistics of everything that is loaded. */
  async statistics(): Promise<StatisticsEntry[]> {
    const path = "/v2/models/stats";
    return (await this.#json<{ model_stats: StatisticsEntry[] }>("GET", path)).model_stats;
  }

  /** Its metrics in Prometheus' text format. */
  async metrics(): Promise<string> {
    return await (await this.#call("GET", "/metrics")).text();
  }

  /**
   * Hands a model over, which it then serves instead of what its repository has under this name.
   */
  async upload(name: string, files: UploadedFiles): Promise<void> {
    const parameters: Record<string, string> = {};
    for (const [path, bytes] of files) parameters[`file:${path}`] = bytes.toBase64();
    await this.#call("POST", `/v2/repository/models/${name}/load`, { parameters });
  }

  /** Takes a model out of service. */
  async unload(name: string): Promise<void> {
    await this.#call("POST", `/v2/repository/models/${name}/unload`, {});
  }

  async #json<T>(method: string, path: string): Promise<T> {
    const response = await this.#call(method, path);
    try {
      return await response.json();
    } catch (cause) {
      throw new SluiceError(
        "invalid_argument",
        `${this.url} is no gateway: it answers ${method} ${path} with what is no JSON ` +
          `(${messageOf(cause)})`,
        { cause },
      );
    }
  }

  async #call(method: string, path: string, body?: object): Promise<Response> {
    const headers = new Headers();
    if (body !== undefined) headers.set("content-type", "application/json");
    if (this.#adminKey !== undefined) headers.set("authorization", `Bearer ${this.#adminKey}`);
    const init = { method, headers, body: JSON.stringify(body) };
    const response = await fetchFrom(this.url, new URL(this.url + path), init);
    if (response.ok) return response;
    const refusal = await refusalOf(response);
    throw new SluiceError("invalid_argument", `${this.url} refused: ${refusal}`);
  }
}

/**
 * `fetch`, with an error that says why nobody answers.
 *
 * @param server How the error calls the gateway.
 * @throws {SluiceError} `not_found`, or whatever `init.signal` was aborted with.
 */
export async function fetchFrom(server: string, url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    init.signal?.throwIfAborted();
    const fault = connectionFault(cause, url.href);
    throw new SluiceError("not_found", `No gateway answers at ${server}: ${fault}`, { cause });
  }
}

/** What a refusal says: the protocol's error, or whatever else the answer has. */
export async function refusalOf(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { error }: { error?: unknown } = JSON.parse(text);
    if (typeof error === "string") return error;
  } catch {
    // Not the protocol's form: shown as it came.
  }
  return `${response.status} ${response.statusText} ${text.slice(0, 200)}`.trim();
}
