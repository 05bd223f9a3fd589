/**
 * Puts a model together from its files.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { posix } from "node:path";
import { SluiceError } from "../errors.ts";
import type { Model, ModelSignature } from "../model.ts";
import { decodeOnnx, decodeOnnxFile } from "../onnx/decode.ts";
import { isDynamicallyQuantised, signatureOf } from "../onnx/signature.ts";
import type { ModelConfig } from "../triton_config/model_config.ts";
import { completeConfig, reconcile } from "../triton_config/reconcile.ts";
import { batchingRule } from "./batching.ts";
import { declaredCarry } from "./carried_tensors.ts";
import { MANIFEST } from "./manifest_file.ts";
import { type FileEntry, type ModelFiles, versionsIn } from "./model_files.ts";
import { containedPath } from "./names.ts";
import { type ModelSettings, readSettings, type SettingsOptions } from "./read_settings.ts";
import { sequenceRule } from "./sequence_rule.ts";

/** What an ONNX file says; kept for as long as the file does not change. */
export interface OnnxFacts {
  /** Inputs and outputs. */
  readonly signature: ModelSignature;
  /** Values are quantised by the range of the whole batch. */
  readonly isDynamicallyQuantised: boolean;
  /** Paths of external data, relative to the file's folder. */
  readonly externalData: readonly string[];
}

/** What reading a model needs beside its files. */
export interface ReadingEnvironment extends SettingsOptions {
  /** Facts of ONNX files read before, by path; good while the fingerprint is the same. */
  readonly known: Map<string, { readonly fingerprint: string; readonly facts: OnnxFacts }>;
}

/**
 * Reads all versions of a model that its version policy names, ascending.
 *
 * @param only Versions to read alone, whatever the policy says.
 * @throws {SluiceError} `invalid_argument` with the file and the fault in it.
 */
export async function readModel(
  name: string,
  files: ModelFiles,
  environment: ReadingEnvironment,
  only?: readonly number[],
): Promise<Model[]> {
  const settings = await readSettings(name, files, environment);
  const { config, where, fileName } = settings;
  const versions = only ??
    chooseVersions(config, await presentVersions(files, environment), where);
  if (versions.length === 0) {
    throw new SluiceError(
      "invalid_argument",
      `${files.describe("")} has no version: expected a folder such as 1/${fileName}`,
    );
  }
  const shared = { name, files, environment, ...settings };
  const models: Model[] = [];
  for (const version of versions) models.push(await readVersion(version, shared));
  return models;
}

interface Shared extends ModelSettings {
  readonly name: string;
  readonly files: ModelFiles;
  readonly environment: ReadingEnvironment;
}

async function readVersion(version: number, shared: Shared): Promise<Model> {
  const { name, files, config, where, manifest, fileName } = shared;
  const path = `${version}/${fileName}`;
  const file = await files.entry(path);
  if (file === undefined) {
    throw new SluiceError("invalid_argument", `${files.describe(path)} is missing`);
  }
  const facts = await onnxFacts(path, file, shared);
  const external = await externalEntries(path, facts.externalData, files);
  const sources = { manifest, manifestName: files.describe(MANIFEST), config, where };
  const carry = declaredCarry(sources);
  const signature = config === undefined
    ? facts.signature
    : reconcile(config, facts.signature, where, carry);
  const fileBytes = file.size + external.reduce((sum, entry) => sum + entry.size, 0);
  // A version that was replaced by hand has another size than the one that was probed.
  const probed = manifest.versions?.[version]?.bytes === fileBytes
    ? manifest.versions[version]
    : undefined;
  const { isDynamicallyQuantised } = facts;
  const sequence = sequenceRule({
    ...sources,
    name,
    carry,
    signature,
    isDynamicallyQuantised,
    probe: probed?.sequenceBatching,
  });
  const { maxBatch, priority, weight, pin } = manifest;
  const batching = batchingRule({
    signature,
    isDynamicallyQuantised,
    config,
    probe: probed?.batching,
    maxBatch,
  });
  return {
    name,
    version,
    file: file.path === undefined ? { bytes: file.bytes } : { path: file.path },
    fileBytes,
    fingerprint: digest([file, ...external].map((entry) => entry.fingerprint), settingsOf(shared)),
    signature,
    maxBatchSize: config?.max_batch_size ?? 0,
    batching,
    ...(sequence && { sequence }),
    config: completeConfig(config ?? {}, name, fileName, signature, sequence),
    labels: shared.labels,
    samples: manifest.samples ?? [],
    priority: priority ?? config?.dynamic_batching?.default_priority_level ?? 0,
    weight: weight ?? 1,
    pin: pin ?? false,
  };
}

/** Samples and what a probe found are left out: they change nothing of a model that is loaded. */
function settingsOf({ config, manifest, labels }: ModelSettings): string {
  const { versions: _versions, samples: _samples, ...settings } = manifest;
  return JSON.stringify([config, settings, [...labels]]);
}

function digest(...parts: (string | readonly string[])[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

async function onnxFacts(path: string, file: FileEntry, shared: Shared): Promise<OnnxFacts> {
  const { files, environment } = shared;
  const describe = files.describe(path);
  const known = environment.known.get(describe);
  if (known?.fingerprint === file.fingerprint) return known.facts;
  const onnx = file.path === undefined
    ? decodeOnnx(await files.read(file), describe)
    : await decodeOnnxFile(file.path, describe);
  const facts = {
    signature: signatureOf(onnx, describe),
    isDynamicallyQuantised: isDynamicallyQuantised(onnx),
    externalData: [...onnx.externalData],
  };
  environment.known.set(describe, { fingerprint: file.fingerprint, facts });
  return facts;
}

/** External data lie beside the model file and are read by the runtime, from disk. */
async function externalEntries(
  modelPath: string,
  locations: readonly string[],
  files: ModelFiles,
): Promise<FileEntry[]> {
  const entries: FileEntry[] = [];
  for (const location of locations) {
    const contained = containedPath(location, `${files.describe(modelPath)}: external data`);
    const path = posix.join(posix.dirname(modelPath), contained);
    const entry = await files.entry(path);
    if (entry === undefined) {
      throw new SluiceError(
        "invalid_argument",
        `${files.describe(modelPath)} needs external data ${JSON.stringify(location)}, ` +
          `and ${files.describe(path)} is missing`,
      );
    }
    if (entry.path === undefined) {
      throw new SluiceError(
        "unsupported",
        `${files.describe(modelPath)} keeps weights in another file; such a model cannot be ` +
          "uploaded, only put into the repository's folder",
      );
    }
    entries.push(entry);
  }
  return entries;
}

async function presentVersions(
  files: ModelFiles,
  environment: ReadingEnvironment,
): Promise<readonly number[]> {
  const { versions, refused } = await versionsIn(files);
  for (const name of refused) {
    environment.warn(
      `${files.describe(name)} is no version: expected an integer from 1 to ` +
        `${Number.MAX_SAFE_INTEGER} without leading zeros`,
    );
  }
  return versions;
}

function chooseVersions(
  config: ModelConfig | undefined,
  present: readonly number[],
  where: string,
): readonly number[] {
  const policy = config?.version_policy;
  if (policy?.all !== undefined) return present;
  if (policy?.specific !== undefined) {
    const wanted = new Set(policy.specific.versions ?? []);
    for (const version of wanted) {
      if (present.includes(version)) continue;
      throw new SluiceError(
        "invalid_argument",
        `${where}: "version_policy" names version ${version}; there ` +
          (present.length === 0 ? "is none" : `are ${present.join(", ")}`),
      );
    }
    return present.filter((version) => wanted.has(version));
  }
  const count = policy?.latest?.num_versions || 1;
  return present.slice(-count);
}
