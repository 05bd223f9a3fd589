/**
 * Brings models onto this machine, from wherever they are.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { SluiceError } from "../errors.ts";
import { type CollectedFiles, collectFiles } from "./collect.ts";
import { download, type OnProgress } from "./download.ts";
import { type Environment, unpackPackage } from "./npm.ts";
import { parseSource, type Source, withoutSecrets } from "./parse.ts";

/** How to fetch. */
export interface FetchOptions {
  /** Hash of the file, hexadecimal: needed for URLs, checked for files wherever it is given. */
  readonly sha256?: string;
  /** Of a folder with versions the one to take, alone; what has none gets it. */
  readonly version?: number;
  /** Stops it. */
  readonly signal?: AbortSignal;
  /** Told of a download's progress. */
  readonly onProgress?: OnProgress;
  /** Where npm's settings are looked for; this process's environment when absent. */
  readonly environment?: Environment;
}

/** A file or folder that a source led to. Disposing of it removes what was fetched. */
export interface FetchedPath extends AsyncDisposable {
  /** Where it is on this machine. */
  readonly path: string;
}

/** A model's files that a source led to. Disposing of it removes what was fetched. */
export interface FetchedSource extends CollectedFiles, AsyncDisposable {
  /** The source, without the user, password and query that a URL may have. */
  readonly source: string;
}

/**
 * Fetches a model.
 *
 * @throws {SluiceError} `not_found` when it cannot be had, `invalid_argument` when it is no model
 * or has another hash, `too_large`.
 */
export async function fetchSource(
  source: string,
  options: FetchOptions = {},
): Promise<FetchedSource> {
  const fetched = await fetchPath(source, options);
  try {
    const collected = await collectFiles(fetched.path, options.version);
    return {
      ...collected,
      source: withoutSecrets(source),
      [Symbol.asyncDispose]: () => fetched[Symbol.asyncDispose](),
    };
  } catch (error) {
    await fetched[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * Fetches a file or folder, whatever it has in it. What is on this machine already stays where it
 * is.
 *
 * @throws {SluiceError} As {@linkcode fetchSource}.
 */
export async function fetchPath(source: string, options: FetchOptions = {}): Promise<FetchedPath> {
  checkHash(options.sha256);
  const parsed = parseSource(source);
  if (parsed.kind === "path") {
    const path = resolve(parsed.path);
    await verify(path, source, options.sha256);
    return { path, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const folder = await Deno.makeTempDir({ prefix: "sluice-" });
  const dispose = () => Deno.remove(folder, { recursive: true });
  try {
    const path = await fetchInto(folder, parsed, source, options);
    return { path, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function fetchInto(
  folder: string,
  parsed: Exclude<Source, { kind: "path" }>,
  source: string,
  { sha256, signal, onProgress, environment }: FetchOptions,
): Promise<string> {
  if (parsed.kind === "npm") {
    await unpackPackage(parsed.name, parsed.version, folder, { signal, environment });
    const path = await inPackage(folder, parsed.path, source);
    await verify(path, source, sha256);
    return path;
  }
  if (sha256 === undefined) {
    throw new SluiceError(
      "invalid_argument",
      `Source ${JSON.stringify(withoutSecrets(source))}: a URL needs the SHA-256 of its file`,
    );
  }
  const path = join(folder, "model.onnx");
  await download(parsed.url, path, { sha256, signal, onProgress });
  return path;
}

/** The path in the package, which may leave out `.onnx`. */
async function inPackage(folder: string, path: string, source: string): Promise<string> {
  for (const candidate of [join(folder, path), join(folder, `${path}.onnx`)]) {
    if (await exists(candidate)) return candidate;
  }
  const models: string[] = [];
  await findModels(folder, "", models);
  throw new SluiceError(
    "not_found",
    `${source}: the package has no such file. Its models: ${
      models.sort().slice(0, 20).join(", ") || "none"
    }`,
  );
}

async function findModels(folder: string, below: string, models: string[]): Promise<void> {
  for await (const entry of Deno.readDir(join(folder, below))) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory) await findModels(folder, path, models);
    else if (path.endsWith(".onnx")) models.push(path);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch {
    return false;
  }
}

function checkHash(sha256: string | undefined): void {
  if (sha256 === undefined || /^[0-9a-f]{64}$/i.test(sha256)) return;
  throw new SluiceError(
    "invalid_argument",
    `The SHA-256 ${JSON.stringify(sha256)} is none: expected 64 hexadecimal digits`,
  );
}

async function verify(path: string, source: string, sha256: string | undefined): Promise<void> {
  if (sha256 === undefined) return;
  const hash = createHash("sha256");
  let file: Deno.FsFile;
  try {
    file = await Deno.open(path);
    for await (const chunk of file.readable) hash.update(chunk);
  } catch (error) {
    throw new SluiceError("not_found", `${source} cannot be read as a file`, { cause: error });
  }
  const found = hash.digest("hex");
  if (found === sha256.toLowerCase()) return;
  throw new SluiceError(
    "invalid_argument",
    `${source} has the SHA-256 ${found}; expected ${sha256}`,
  );
}
