/**
 * The `manifest.json` of a model that changes.
 *
 * @module
 */
import { formatManifest, type Manifest, parseManifest, type VersionRecord } from "../manifest.ts";
import type { ModelFiles } from "./model_files.ts";

/** Name of the file in a model's folder. */
export const MANIFEST = "manifest.json";

/** Settings of a model, which are those of all its versions. */
export type Settings = Omit<Manifest, "versions">;

/** What changes. */
export interface ManifestChange {
  /** Versions whose records stay; those of all others go. */
  readonly kept: readonly number[];
  /** Records of new versions. */
  readonly added?: ReadonlyMap<number, VersionRecord>;
  /** Settings that take the place of those before. */
  readonly settings?: Settings;
}

/**
 * The content that a model's manifest gets.
 *
 * @throws {SluiceError} `invalid_argument` when the one that is there cannot be read.
 */
export async function changedManifest(
  files: ModelFiles,
  { kept, added = new Map(), settings }: ManifestChange,
): Promise<Uint8Array<ArrayBuffer>> {
  const before = await readManifest(files);
  const versions: Record<string, VersionRecord> = Object.fromEntries(added);
  for (const version of kept) {
    const record = before.versions?.[version];
    if (record !== undefined) versions[version] = record;
  }
  return new TextEncoder().encode(formatManifest({ ...before, ...settings, versions }));
}

async function readManifest(files: ModelFiles): Promise<Manifest> {
  const entry = await files.entry(MANIFEST);
  if (entry === undefined) return {};
  const text = new TextDecoder().decode(await files.read(entry));
  return parseManifest(text, files.describe(MANIFEST));
}
