/**
 * Models in a folder, laid out as Triton does: `<name>/<version>/model.onnx`, with an optional
 * `config.pbtxt`, label files and a `manifest.json` beside the versions.
 *
 * @module
 */
import { join } from "node:path";
import { SluiceError } from "./errors.ts";
import type { Model, ModelOverride, Repository } from "./model.ts";
import { FilesInMemory, FilesOnDisk } from "./repository/model_files.ts";
import { containedPath, isModelName } from "./repository/names.ts";
import { type ReadingEnvironment, readModel } from "./repository/read_model.ts";

/** Settings of a repository. */
export interface FileRepositoryOptions {
  /** Told of what is odd in a model's files without being an error, each time it is read. */
  readonly warn?: (message: string) => void;
}

/** Models in a folder. Reading follows what is there at the moment of the call. */
export class FileRepository implements Repository {
  /** The folder, as given. */
  readonly folder: string;
  readonly #warn: (message: string) => void;
  readonly #known: ReadingEnvironment["known"] = new Map();

  /** Nothing is read before the first call. */
  constructor(folder: string, options: FileRepositoryOptions = {}) {
    this.folder = folder;
    this.#warn = options.warn ?? (() => {});
  }

  /**
   * Names of the models that are there, sorted. Folders whose names cannot be models are left out.
   *
   * @throws {SluiceError} `not_found` when the repository's folder is missing.
   */
  async list(): Promise<string[]> {
    const root = await this.#root();
    const names: string[] = [];
    for await (const entry of Deno.readDir(root)) {
      if (isModelName(entry.name) && await isFolder(join(root, entry.name))) {
        names.push(entry.name);
      }
    }
    return names.sort();
  }

  /**
   * All versions of a model that its version policy names, ascending.
   *
   * @throws {SluiceError} `not_found`, or `invalid_argument` with the file and the fault in it.
   */
  async read(name: string, override: ModelOverride = {}): Promise<Model[]> {
    const root = await this.#root();
    const isThere = isModelName(name) && await isFolder(join(root, name));
    if (!isModelName(name) || (!isThere && override.files === undefined)) {
      throw new SluiceError("not_found", `There is no model ${JSON.stringify(name)}`);
    }
    const files = override.files === undefined
      ? new FilesOnDisk(root, name)
      : new FilesInMemory(containedFiles(override.files));
    return await readModel(name, files, {
      known: this.#known,
      warn: this.#warn,
      config: override.config,
    });
  }

  async #root(): Promise<string> {
    try {
      return await Deno.realPath(this.folder);
    } catch (error) {
      throw new SluiceError("not_found", `The model repository ${this.folder} is missing`, {
        cause: error,
      });
    }
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isDirectory;
  } catch {
    return false;
  }
}

function containedFiles(
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  return new Map(
    Array.from(files, ([path, bytes]) => [containedPath(path, "An uploaded file"), bytes]),
  );
}
