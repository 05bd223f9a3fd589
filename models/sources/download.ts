/**
 * Downloads one file whose hash is known.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { SluiceError } from "../errors.ts";
import { isFullDisk } from "../repository/disk.ts";
import { connectionFault } from "./connection_fault.ts";
import { checkScheme, withoutSecrets } from "./parse.ts";

/** Told how much of a download is there; the total is unknown where the server does not say. */
export type OnProgress = (bytes: number, totalBytes?: number) => void;

/** Limits of a download. */
export interface DownloadOptions {
  /** The file's hash, hexadecimal. */
  readonly sha256: string;
  /** Largest size in bytes; {@linkcode LARGEST_DOWNLOAD} when not given. */
  readonly maxBytes?: number;
  /** Stops it. */
  readonly signal?: AbortSignal;
  /** Called for every piece. */
  readonly onProgress?: OnProgress;
}

/** 16 GiB: no ONNX file is larger, and no disk should fill up over a mistyped URL. */
export const LARGEST_DOWNLOAD = 16 * 2 ** 30;

const MOST_REDIRECTS = 5;

/**
 * Downloads a file. What does not have the hash is removed again.
 *
 * @param path Where to write it; must not exist.
 * @throws {SluiceError} `not_found` when it cannot be had, `too_large`, or `invalid_argument` when
 * it has another hash or a redirect leads to plain http.
 */
export async function download(url: URL, path: string, options: DownloadOptions): Promise<void> {
  try {
    await receive(url, path, options);
  } catch (error) {
    await Deno.remove(path).catch(() => {});
    throw error;
  }
}

async function receive(url: URL, path: string, options: DownloadOptions): Promise<void> {
  const { sha256, maxBytes = LARGEST_DOWNLOAD, signal, onProgress } = options;
  const response = await get(url, signal);
  const length = response.headers.get("content-length");
  const total = length === null ? undefined : Number(length);
  const tooLarge = (bytes: number) =>
    new SluiceError(
      "too_large",
      `${withoutSecrets(url.href)} has ${bytes} bytes or more; the limit is ${maxBytes}`,
    );
  if (total !== undefined && total > maxBytes) {
    await response.body?.cancel();
    throw tooLarge(total);
  }
  const hash = createHash("sha256");
  using file = await Deno.open(path, { write: true, createNew: true });
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw tooLarge(bytes);
      hash.update(chunk);
      for (let done = 0; done < chunk.byteLength;) done += await file.write(chunk.subarray(done));
      onProgress?.(bytes, total);
    }
  } catch (error) {
    throw fetchFault(url, error, signal);
  }
  const found = hash.digest("hex");
  if (found === sha256.toLowerCase()) return;
  throw new SluiceError(
    "invalid_argument",
    `${withoutSecrets(url.href)} has the SHA-256 ${found}; expected ${sha256}. Nothing was kept`,
  );
}

async function get(start: URL, signal?: AbortSignal): Promise<Response> {
  let url = start;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    let response: Response;
    try {
      response = await fetch(url, { redirect: "manual", signal });
    } catch (error) {
      throw fetchFault(url, error, signal);
    }
    if (response.ok) return response;
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || location === null) {
      throw new SluiceError("not_found", `${withoutSecrets(url.href)} answered ${response.status}`);
    }
    const next = URL.parse(location, url);
    if (next === null) {
      throw new SluiceError("not_found", `${withoutSecrets(url.href)} redirects to what is no URL`);
    }
    checkScheme(next);
    url = next;
  }
  throw new SluiceError(
    "not_found",
    `${withoutSecrets(start.href)} redirects more than ${MOST_REDIRECTS} times`,
  );
}

function fetchFault(url: URL, error: unknown, signal?: AbortSignal): unknown {
  if (error instanceof SluiceError || signal?.aborted) return error;
  const shown = withoutSecrets(url.href);
  if (isFullDisk(error)) {
    return new SluiceError("too_large", `The disk is full: ${shown} could not be kept`, {
      cause: error,
    });
  }
  const why = connectionFault(error, url.href).replaceAll(url.href, shown);
  return new SluiceError("not_found", `${shown} could not be fetched: ${why}`, { cause: error });
}
