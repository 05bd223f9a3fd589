/**
 * A new version of a model on its way into a repository: its files are written and checked, and it
 * can be tried out, before anybody else sees it.
 *
 * @module
 */
import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import {
  type BatchingProbe,
  formatManifest,
  type Manifest,
  parseManifest,
  type VersionRecord,
} from "../manifest.ts";
import type { Model } from "../model.ts";
import {
  type Content,
  removeIfThere,
  sayingFullDisk,
  type WriteChunk,
  writeDurably,
} from "./disk.ts";
import { FilesOnDisk, FilesOverlaid, type ModelFiles, versionsIn } from "./model_files.ts";
import { checkModelName, checkVersion, containedPath } from "./names.ts";
import { type ReadingEnvironment, readModel } from "./read_model.ts";
import { asWriter, commit, type Preparation, prepare } from "./store.ts";

/** What is to be added to a repository. */
export interface NewVersion {
  /** The model's name; the model may exist already, with other versions. */
  readonly name: string;
  /** The next after the highest when absent. */
  readonly version?: number;
  /** Files of the version by their path in its folder: `model.onnx` and its external data. */
  readonly files: ReadonlyMap<string, Content>;
  /** Files that all versions share, by their path in the model's folder: `config.pbtxt`, labels. */
  readonly shared?: ReadonlyMap<string, Content>;
  /** Settings of the model. What is absent stays as it is. */
  readonly settings?: Omit<Manifest, "versions">;
  /** Where it was fetched from; it is kept as it is, so it must hold no secret. */
  readonly source?: string;
}

/** How to write it. */
export interface StagingOptions {
  /** Stops the writing. */
  readonly signal?: AbortSignal;
  /** Takes the disk's place in tests. */
  readonly write?: WriteChunk;
}

/** A version that is complete and checked, and seen by nobody yet. Disposing of it drops it. */
export interface StagedVersion extends AsyncDisposable {
  /** The model as it will be, with its files where they are now. */
  readonly model: Model;
  /**
   * Puts it into the repository, all or nothing.
   *
   * @param probe Whether requests may be joined, when that has been found out.
   * @throws {SluiceError} `conflict` when somebody else has taken the version meanwhile.
   */
  commit(probe?: BatchingProbe): Promise<void>;
}

/**
 * Writes and checks a new version.
 *
 * @param root The repository's folder, its real path.
 * @throws {SluiceError} `invalid_argument`, `conflict` when the version exists, `too_large` when
 * the disk is full. Nothing is left behind.
 */
export async function stageVersion(
  root: string,
  added: NewVersion,
  environment: ReadingEnvironment,
  options: StagingOptions = {},
): Promise<StagedVersion> {
  return await sayingFullDisk(root, () => stage(root, added, environment, options));
}

async function stage(
  root: string,
  added: NewVersion,
  environment: ReadingEnvironment,
  options: StagingOptions,
): Promise<StagedVersion> {
  checkModelName(added.name);
  const existing = new FilesOnDisk(root, added.name);
  const version = await freeVersion(existing, added);
  const preparation = await prepare(root);
  try {
    const folder = join(preparation.folder, added.name);
    const record = await writeFiles(folder, version, added, options);
    await writeManifest(folder, existing, added.settings, version, record, options);
    const staged = new FilesOnDisk(preparation.folder, added.name);
    const files = new FilesOverlaid(staged, existing);
    const [model] = await readModel(added.name, files, environment, version);
    return stagedVersion(root, preparation, model, async (probe) => {
      await freeVersion(existing, { ...added, version });
      const complete = probe === undefined ? record : { ...record, batching: probe };
      await writeManifest(folder, existing, added.settings, version, complete, options);
    });
  } catch (error) {
    await preparation[Symbol.asyncDispose]();
    throw error;
  }
}

function stagedVersion(
  root: string,
  preparation: Preparation,
  model: Model,
  complete: (probe?: BatchingProbe) => Promise<void>,
): StagedVersion {
  return {
    model,
    async commit(probe) {
      const change = async () => {
        await complete(probe);
        await commit(root, preparation);
      };
      await sayingFullDisk(root, () => asWriter(root, change));
    },
    [Symbol.asyncDispose]: () => preparation[Symbol.asyncDispose](),
  };
}

/** The version to add: the one asked for when it is free, else the next. */
async function freeVersion(
  existing: ModelFiles,
  { name, version }: Pick<NewVersion, "name" | "version">,
): Promise<number> {
  const { versions } = await versionsIn(existing);
  const next = (versions[versions.length - 1] ?? 0) + 1;
  if (version === undefined) return next;
  checkVersion(version);
  if (!versions.includes(version)) return version;
  throw new SluiceError(
    "conflict",
    `Model "${name}" has a version ${version} already. Give another one (the next is ${next}), ` +
      "or unregister that one first",
  );
}

async function writeFiles(
  folder: string,
  version: number,
  { files, shared, source }: NewVersion,
  { write, signal }: StagingOptions,
): Promise<VersionRecord> {
  for (const [path, content] of shared ?? []) {
    const contained = containedPath(path, "A file beside the versions");
    await writeDurably(join(folder, contained), content, write, signal);
  }
  let bytes = 0, sha256: string | undefined;
  for (const [path, content] of files) {
    const contained = containedPath(path, "A file of the version");
    const target = join(folder, String(version), contained);
    const written = await writeDurably(target, content, write, signal);
    bytes += written.bytes;
    if (contained.endsWith(".onnx")) sha256 ??= written.sha256;
  }
  return { bytes, ...(sha256 && { sha256 }), ...(source && { source }) };
}

async function writeManifest(
  folder: string,
  existing: ModelFiles,
  settings: NewVersion["settings"],
  version: number,
  record: VersionRecord,
  { write, signal }: StagingOptions,
): Promise<void> {
  const before = await readManifest(existing);
  const versions: Record<string, VersionRecord> = { [version]: record };
  for (const present of (await versionsIn(existing)).versions) {
    const kept = before.versions?.[present];
    if (kept !== undefined) versions[present] = kept;
  }
  const text = formatManifest({ ...before, ...settings, versions });
  const path = join(folder, "manifest.json");
  await removeIfThere(path);
  await writeDurably(path, new TextEncoder().encode(text), write, signal);
}

async function readManifest(files: ModelFiles): Promise<Manifest> {
  const entry = await files.entry("manifest.json");
  if (entry === undefined) return {};
  const text = new TextDecoder().decode(await files.read(entry));
  return parseManifest(text, files.describe("manifest.json"));
}
