/**
 * New versions of a model on their way into a repository: their files are written and checked, and
 * they can be tried out, before anybody else sees them.
 *
 * @module
 */
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import type { VersionRecord } from "../manifest.ts";
import type { JobOrigin, Model } from "../model.ts";
import {
  type Content,
  removeIfThere,
  sayingFullDisk,
  type WriteChunk,
  writeDurably,
} from "./disk.ts";
import { changedManifest, MANIFEST, type Settings } from "./manifest_file.ts";
import { FilesOnDisk, FilesOverlaid, type ModelFiles, versionsIn } from "./model_files.ts";
import { checkModelName, checkVersion, containedPath } from "./names.ts";
import { type ReadingEnvironment, readModel } from "./read_model.ts";
import { asWriter, commit, type Preparation, prepare } from "./store.ts";

/** A version that is to be added. */
export interface NewVersion {
  /** The next after the highest when absent. */
  readonly version?: number;
  /** Its files by their path in its folder: `model.onnx` and its external data. */
  readonly files: ReadonlyMap<string, Content>;
}

/** What is to be added to a repository. */
export interface Addition {
  /** The model's name; the model may exist already, with other versions. */
  readonly name: string;
  /** All of them come, or none does. */
  readonly versions: readonly NewVersion[];
  /** Files that all versions share, by their path in the model's folder: `config.pbtxt`, labels. */
  readonly shared?: ReadonlyMap<string, Content>;
  /** Settings of the model, for all its versions. What is absent stays as it is. */
  readonly settings?: Settings;
  /** Where it was fetched from; it is kept as it is, so it must hold no secret. */
  readonly source?: string;
  /** The job that they are checkpoints of; the model exists already. */
  readonly job?: JobOrigin;
}

/** What probes found out about a version. */
export type Probed = Pick<VersionRecord, "batching" | "sequenceBatching">;

/** How to write it. */
export interface StagingOptions {
  /** Stops the writing. */
  readonly signal?: AbortSignal;
  /** Takes the disk's place in tests. */
  readonly write?: WriteChunk;
}

/** What is complete and checked, and seen by nobody yet. Disposing of it drops it. */
export interface StagedVersions extends AsyncDisposable {
  /** The versions in the order they were given, as they will be, with their files where they are now. */
  readonly models: readonly Model[];
  /**
   * Puts them into the repository, all or nothing.
   *
   * @param probes By version: whether requests, and sequences, may be joined, where that has been
   *   found out.
   * @throws {SluiceError} `conflict` when somebody else has taken a version meanwhile; `not_found`
   *   when the model of a checkpoint is gone.
   */
  commit(probes?: ReadonlyMap<number, Probed>): Promise<void>;
}

/**
 * Writes and checks new versions.
 *
 * @param root The repository's folder, its real path.
 * @throws {SluiceError} `invalid_argument`, `conflict` when a version exists, `too_large` when the
 * disk is full. Nothing is left behind.
 */
export async function stageVersions(
  root: string,
  added: Addition,
  environment: ReadingEnvironment,
  options: StagingOptions = {},
): Promise<StagedVersions> {
  return await sayingFullDisk(root, () => stage(root, added, environment, options));
}

async function stage(
  root: string,
  added: Addition,
  environment: ReadingEnvironment,
  options: StagingOptions,
): Promise<StagedVersions> {
  const { name, settings } = added;
  checkModelName(name);
  const existing = new FilesOnDisk(root, name);
  const numbers = await freeVersions(existing, added);
  const preparation = await prepare(root);
  try {
    const folder = join(preparation.folder, name);
    const writeManifest = async (records: ReadonlyMap<number, VersionRecord>) => {
      const kept = (await versionsIn(existing)).versions;
      const content = await changedManifest(existing, { kept, added: records, settings });
      const path = join(folder, MANIFEST);
      await removeIfThere(path);
      await writeDurably(path, content, options.write, options.signal);
    };
    const records = await writeFiles(folder, numbers, added, options);
    await writeManifest(records);
    const files = new FilesOverlaid(new FilesOnDisk(preparation.folder, name), existing);
    const models = await readModel(name, files, environment, numbers);
    return stagedVersions(root, preparation, models, async (probes) => {
      await freeVersions(existing, { name, versions: models });
      if (added.job !== undefined) await checkIsThere(existing, name);
      await writeManifest(withProbes(records, probes));
    });
  } catch (error) {
    await preparation[Symbol.asyncDispose]();
    throw error;
  }
}

function stagedVersions(
  root: string,
  preparation: Preparation,
  models: readonly Model[],
  complete: (probes: ReadonlyMap<number, Probed>) => Promise<void>,
): StagedVersions {
  return {
    models,
    async commit(probes = new Map()) {
      const change = async () => {
        await complete(probes);
        await commit(root, preparation);
      };
      await sayingFullDisk(root, () => asWriter(root, change));
    },
    [Symbol.asyncDispose]: () => preparation[Symbol.asyncDispose](),
  };
}

/** The versions to add: those asked for when they are free, else the next. */
async function freeVersions(
  existing: ModelFiles,
  { name, versions }: { readonly name: string; readonly versions: readonly { version?: number }[] },
): Promise<number[]> {
  const taken = new Set((await versionsIn(existing)).versions);
  return versions.map(({ version }) => {
    const next = Math.max(0, ...taken) + 1;
    const number = version ?? next;
    checkVersion(number);
    if (taken.has(number)) {
      throw new SluiceError(
        "conflict",
        `Model "${name}" has a version ${number} already. Give another one (the next is ${next}), ` +
          "or unregister that one first",
      );
    }
    taken.add(number);
    return number;
  });
}

/** A model that was unregistered while a job wrote a checkpoint stays away. */
async function checkIsThere(existing: ModelFiles, name: string): Promise<void> {
  if ((await versionsIn(existing)).versions.length > 0) return;
  throw new SluiceError("not_found", `Model "${name}" was unregistered meanwhile`);
}

async function writeFiles(
  folder: string,
  numbers: readonly number[],
  { versions, shared, source, job }: Addition,
  { write, signal }: StagingOptions,
): Promise<Map<number, VersionRecord>> {
  for (const [path, content] of shared ?? []) {
    const contained = containedPath(path, "A file beside the versions");
    await writeDurably(join(folder, contained), content, write, signal);
  }
  const records = new Map<number, VersionRecord>();
  for (const [index, { files }] of versions.entries()) {
    let bytes = 0, sha256: string | undefined;
    for (const [path, content] of files) {
      const contained = containedPath(path, "A file of the version");
      const target = join(folder, String(numbers[index]), contained);
      const written = await writeDurably(target, content, write, signal);
      bytes += written.bytes;
      if (contained.endsWith(".onnx")) sha256 ??= written.sha256;
    }
    records.set(numbers[index], {
      bytes,
      ...(sha256 && { sha256 }),
      ...(source && { source }),
      ...(job && { job }),
    });
  }
  return records;
}

function withProbes(
  records: ReadonlyMap<number, VersionRecord>,
  probes: ReadonlyMap<number, Probed>,
): Map<number, VersionRecord> {
  return new Map(
    Array.from(records, ([version, record]) => [version, { ...record, ...probes.get(version) }]),
  );
}
