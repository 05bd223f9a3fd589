/**
 * Models in a folder, laid out as Triton does: `<name>/<version>/model.onnx`, with an optional
 * `config.pbtxt`, label files and a `manifest.json` beside the versions.
 *
 * @module
 */
import { join } from "node:path";
import { SluiceError } from "./errors.ts";
import type { Model, ModelOverride, Repository } from "./model.ts";
import { takeLock } from "./repository/lock.ts";
import { changedManifest, MANIFEST } from "./repository/manifest_file.ts";
import { FilesInMemory, FilesOnDisk, versionsIn } from "./repository/model_files.ts";
import { checkModelName, containedPath, isModelName, NAME_RULE } from "./repository/names.ts";
import { type ReadingEnvironment, readModel } from "./repository/read_model.ts";
import {
  type Addition,
  type StagedVersions,
  stageVersions,
  type StagingOptions,
} from "./repository/staging.ts";
import { asWriter, finishCommits, replaceFile, rootOf, takeAway } from "./repository/store.ts";

export type { BatchingProbe, Manifest, VersionRecord } from "./manifest.ts";
export type { Content, WriteChunk } from "./repository/disk.ts";
export type {
  Addition,
  NewVersion,
  Probed,
  StagedVersions,
  StagingOptions,
} from "./repository/staging.ts";

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
  readonly #passedOver = new Set<string>();

  /** Nothing is read before the first call. */
  constructor(folder: string, options: FileRepositoryOptions = {}) {
    this.folder = folder;
    this.#warn = options.warn ?? (() => {});
  }

  /**
   * Names of the models that are there, sorted. Of folders whose names cannot be models, each is warned
   * of once; hidden ones are the repository's own.
   *
   * @throws {SluiceError} `not_found` when the repository's folder is missing.
   */
  async list(): Promise<string[]> {
    const root = await rootOf(this.folder);
    await finishCommits(root);
    const names: string[] = [];
    for await (const entry of Deno.readDir(root)) {
      if (entry.name.startsWith(".") || !await isFolder(join(root, entry.name))) continue;
      if (isModelName(entry.name)) names.push(entry.name);
      else this.#passOver(entry.name);
    }
    return names.sort();
  }

  /**
   * All versions of a model that its version policy names, ascending.
   *
   * @throws {SluiceError} `not_found`, or `invalid_argument` with the file and the fault in it.
   */
  async read(name: string, override: ModelOverride = {}): Promise<Model[]> {
    const root = await rootOf(this.folder);
    if (override.files === undefined) await this.#modelFolder(root, name);
    else checkModelName(name);
    const files = override.files === undefined
      ? new FilesOnDisk(root, name)
      : new FilesInMemory(containedFiles(override.files));
    return await readModel(name, files, {
      known: this.#known,
      warn: this.#warn,
      config: override.config,
    });
  }

  /**
   * Writes and checks new versions that nobody sees before they are committed: time to try them out.
   *
   * @throws {SluiceError} `invalid_argument`, `conflict` when a version exists, `too_large` when the
   * disk is full. Nothing is left behind.
   */
  async stage(added: Addition, options?: StagingOptions): Promise<StagedVersions> {
    const environment = { known: new Map(), warn: this.#warn };
    return await stageVersions(await rootOf(this.folder), added, environment, options);
  }

  /**
   * Adds versions as they are: {@linkcode stage} and commit at once.
   *
   * @returns Their numbers.
   */
  async install(added: Addition, options?: StagingOptions): Promise<number[]> {
    await using staged = await this.stage(added, options);
    await staged.commit();
    return staged.models.map(({ version }) => version);
  }

  /**
   * Takes a version away with its record in the manifest, or the whole model when none is given or
   * it is the last one.
   *
   * @throws {SluiceError} `not_found`, or `invalid_argument` when the manifest cannot be read.
   */
  async remove(name: string, version?: number): Promise<void> {
    const root = await rootOf(this.folder);
    await asWriter(root, async () => {
      const folder = await this.#modelFolder(root, name);
      if (version === undefined) return await takeAway(root, folder);
      const files = new FilesOnDisk(root, name);
      const { versions } = await versionsIn(files);
      if (!versions.includes(version)) {
        throw new SluiceError(
          "not_found",
          `Model "${name}" has no version ${version}; it has ${versions.join(", ") || "none"}`,
        );
      }
      if (versions.length === 1) return await takeAway(root, folder);
      const kept = versions.filter((other) => other !== version);
      const manifest = await files.entry(MANIFEST) && await changedManifest(files, { kept });
      await takeAway(root, join(folder, String(version)));
      if (manifest !== undefined) await replaceFile(root, join(folder, MANIFEST), manifest);
    });
  }

  /**
   * Claims the repository for a gateway. Registrations are not held up by it.
   *
   * @returns Undefined where the folder cannot be written to: a second gateway goes unnoticed there,
   * and does no harm.
   * @throws {SluiceError} `conflict`, naming the process that serves it.
   */
  async claim(): Promise<Disposable | undefined> {
    try {
      const doing = `serves ${this.folder}. Stop it, or serve another folder with --repository`;
      return await takeLock(join(await rootOf(this.folder), ".serving"), doing);
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code !== "forbidden") throw error;
      return undefined;
    }
  }

  #passOver(name: string): void {
    if (this.#passedOver.has(name)) return;
    this.#passedOver.add(name);
    this.#warn(`Folder ${JSON.stringify(name)} of ${this.folder} is not served: ${NAME_RULE}`);
  }

  async #modelFolder(root: string, name: string): Promise<string> {
    const folder = join(root, name);
    if (isModelName(name) && await isFolder(folder)) return folder;
    throw new SluiceError("not_found", `There is no model ${JSON.stringify(name)}`);
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
