/**
 * The files of one model, on disk or in memory. Paths are relative to the model's folder:
 * `config.pbtxt`, `1/model.onnx`.
 *
 * @module
 */
import { join, sep } from "node:path";
import { SluiceError } from "../errors.ts";
import { versionOf } from "./names.ts";

/** One file: where its content is, how large it is, and what changes when it does. */
export interface FileEntry {
  /** Absolute path; undefined for a file in memory. */
  readonly path?: string;
  /** The content of a file in memory. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** Length in bytes. */
  readonly size: number;
  /** Identity of the content. */
  readonly fingerprint: string;
}

/** A model's folder. */
export interface ModelFiles {
  /** How errors call a file of it. */
  describe(path: string): string;
  /** Names that lie directly in the folder. */
  names(): Promise<string[]>;
  /**
   * A file; undefined when there is none.
   *
   * @throws {SluiceError} `invalid_argument` when it leads out of the repository or is no file.
   */
  entry(path: string): Promise<FileEntry | undefined>;
  /** The content of an entry. */
  read(entry: FileEntry): Promise<Uint8Array<ArrayBuffer>>;
}

/** The versions that a model's folder has, ascending, and names that look like versions but are none. */
export async function versionsIn(
  files: ModelFiles,
): Promise<{ readonly versions: readonly number[]; readonly refused: readonly string[] }> {
  const numeric = (await files.names()).filter((name) => /^[0-9]+$/.test(name));
  const versions = numeric.map(versionOf).filter((version) => version !== undefined);
  return {
    versions: versions.sort((a, b) => a - b),
    refused: numeric.filter((name) => versionOf(name) === undefined),
  };
}

/** A model's folder on disk. Symbolic links are followed as long as they stay in the repository. */
export class FilesOnDisk implements ModelFiles {
  readonly #root: string;
  readonly #name: string;

  /**
   * The folder need not exist.
   *
   * @param root The repository's folder, its real path.
   */
  constructor(root: string, name: string) {
    this.#root = root;
    this.#name = name;
  }

  /** Paths as the repository's user sees them. */
  describe(path: string): string {
    return `${this.#name}/${path}`;
  }

  /** Folders and files, hidden ones left out; none when there is no such folder. */
  async names(): Promise<string[]> {
    try {
      const entries = await Array.fromAsync(Deno.readDir(join(this.#root, this.#name)));
      return entries.map((entry) => entry.name).filter((name) => !name.startsWith("."));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  }

  /** Follows links, checks where they lead. */
  async entry(path: string): Promise<FileEntry | undefined> {
    const asked = join(this.#root, this.#name, path);
    let real: string, info: Deno.FileInfo;
    try {
      real = await Deno.realPath(asked);
      info = await Deno.stat(real);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
        return undefined;
      }
      throw new SluiceError("invalid_argument", `${this.describe(path)} cannot be read: ${error}`, {
        cause: error,
      });
    }
    if (!real.startsWith(this.#root + sep)) {
      throw new SluiceError(
        "invalid_argument",
        `${this.describe(path)} is a link that leads out of the repository`,
      );
    }
    if (!info.isFile) {
      throw new SluiceError("invalid_argument", `${this.describe(path)} is no file`);
    }
    const fingerprint = [real, info.ino, info.size, info.mtime?.getTime()].join("|");
    return { path: real, size: info.size, fingerprint };
  }

  /** Reads the whole file. */
  async read(entry: FileEntry): Promise<Uint8Array<ArrayBuffer>> {
    return await Deno.readFile(entry.path!);
  }
}

/** A model's folder as a load request carries it. */
export class FilesInMemory implements ModelFiles {
  readonly #files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

  /**
   * Nothing is copied.
   *
   * @param files Content by path.
   */
  constructor(files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>) {
    this.#files = files;
  }

  /** Paths as the request gave them. */
  describe(path: string): string {
    return `file:${path}`;
  }

  /** First parts of all paths. */
  names(): Promise<string[]> {
    return Promise.resolve([...new Set([...this.#files.keys()].map((path) => path.split("/")[0]))]);
  }

  /** Hashes the content, off the event loop. */
  async entry(path: string): Promise<FileEntry | undefined> {
    const bytes = this.#files.get(path);
    if (bytes === undefined) return undefined;
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return { bytes, size: bytes.byteLength, fingerprint: hash.toHex() };
  }

  /** The bytes themselves. */
  read(entry: FileEntry): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(entry.bytes!);
  }
}

/** A folder laid over another: where both have a file, the upper one's counts. */
export class FilesOverlaid implements ModelFiles {
  readonly #upper: ModelFiles;
  readonly #lower: ModelFiles;

  /**
   * Neither is changed.
   *
   * @param upper Hides what has the same path in `lower`.
   */
  constructor(upper: ModelFiles, lower: ModelFiles) {
    this.#upper = upper;
    this.#lower = lower;
  }

  /** As the upper one. */
  describe(path: string): string {
    return this.#upper.describe(path);
  }

  /** Names of both. */
  async names(): Promise<string[]> {
    const both = [...await this.#upper.names(), ...await this.#lower.names()];
    return [...new Set(both)];
  }

  /** The upper one's, else the lower one's. */
  async entry(path: string): Promise<FileEntry | undefined> {
    return await this.#upper.entry(path) ?? await this.#lower.entry(path);
  }

  /** Entries say themselves where they are. */
  async read(entry: FileEntry): Promise<Uint8Array<ArrayBuffer>> {
    return await this.#upper.read(entry);
  }
}
