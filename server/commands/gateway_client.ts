/**
 * What commands ask of a running gateway, or of any server of the Open Inference Protocol with
 * Triton's extensions.
 *
 * @module
 */
import { messageOf, SluiceError } from "../../models/errors.ts";
import { connectionFault } from "../../models/sources/connection_fault.ts";
import type { Datatype } from "../../models/tensor.ts";
import { resolveConfig } from "../config.ts";
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

/** What a model takes, as far as it is used here. */
export interface ModelEntry {
  /** Its inputs, without those that are carried over. A dimension of -1 is free. */
  readonly inputs: readonly {
    readonly name: string;
    readonly datatype: Datatype;
    readonly shape: readonly number[];
  }[];
}

/** A job, as far as it is shown. */
export interface JobEntry {
  /** Unique. */
  readonly id: string;
  /** For people; may be empty. */
  readonly name: string;
  /** What it runs. */
  readonly model: string;
  /** Absent before it runs. */
  readonly version?: string;
  /** queued, running, pausing, paused, completed, failed, cancelled. */
  readonly state: string;
  /** Why it failed. */
  readonly error?: string;
  /** In all. */
  readonly iterations: number;
  /** So far. */
  readonly iterations_done: number;
  /** Of the last iteration. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Those in the repository, oldest first. */
  readonly checkpoints: readonly {
    readonly model: string;
    readonly version: number;
    readonly iterations: number;
  }[];
  /** Why the last checkpoint is not there, or not served. */
  readonly checkpoint_error?: string;
  /** Time neither queued nor paused. */
  readonly run_seconds: number;
  /** Device time. */
  readonly device_seconds: number;
  /** Absent when it does not run. */
  readonly remaining_seconds?: number;
}

/** Where a gateway listens that was started without flags. */
export const DEFAULT_SERVER: string = (({ host, port }) => `http://${host}:${port}`)(
  resolveConfig({}),
);

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

  /** What a model takes; the newest version when none is named. */
  async model(name: string, version?: string): Promise<ModelEntry> {
    const path = `/v2/models/${name}${version === undefined ? "" : `/versions/${version}`}`;
    return await this.#json("GET", path);
  }

  /** All jobs that it remembers, oldest first. */
  async jobs(): Promise<JobEntry[]> {
    return (await this.#json<{ jobs: JobEntry[] }>("GET", "/v2/jobs")).jobs;
  }

  /** One job. */
  async job(id: string): Promise<JobEntry> {
    return await this.#json("GET", jobPath(id));
  }

  /** Submits a job; the fields are those of the HTTP API. */
  async submitJob(fields: object): Promise<JobEntry> {
    return await this.#json("POST", "/v2/jobs", fields);
  }

  /** Pauses, resumes or cancels a job. */
  async changeJob(id: string, change: "pause" | "resume" | "cancel"): Promise<JobEntry> {
    return change === "cancel"
      ? await this.#json("DELETE", jobPath(id))
      : await this.#json("POST", `${jobPath(id)}/${change}`);
  }

  async #json<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await this.#call(method, path, body);
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

function jobPath(id: string): string {
  return `/v2/jobs/${encodeURIComponent(id)}`;
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
