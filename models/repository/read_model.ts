/**
 * Puts a model together from its files: configuration, manifest, ONNX files, labels.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { posix } from "node:path";
import { SluiceError } from "../errors.ts";
import { type Manifest, parseManifest } from "../manifest.ts";
import type { Model, ModelSignature } from "../model.ts";
import { decodeOnnx, decodeOnnxFile } from "../onnx/decode.ts";
import { isDynamicallyQuantised, signatureOf } from "../onnx/signature.ts";
import {
  type ModelConfig,
  parseConfigJson,
  parseConfigText,
  type ParsedConfig,
} from "../triton_config/model_config.ts";
import { completeConfig, reconcile } from "../triton_config/reconcile.ts";
import { batchingRule } from "./batching.ts";
import { type FileEntry, type ModelFiles, versionsIn } from "./model_files.ts";
import { containedPath } from "./names.ts";

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
export interface ReadingEnvironment {
  /** Facts of ONNX files read before, by path; good while the fingerprint is the same. */
  readonly known: Map<string, { readonly fingerprint: string; readonly facts: OnnxFacts }>;
  /** Told of what is odd, without being an error. */
  warn(message: string): void;
  /** A configuration as JSON that replaces the folder's. */
  readonly config?: string;
}

const DEFAULT_FILE_NAME = "model.onnx";

/**
 * Reads all versions of a model that its version policy names, ascending.
 *
 * @param only A version to read alone, whatever the policy says.
 * @throws {SluiceError} `invalid_argument` with the file and the fault in it.
 */
export async function readModel(
  name: string,
  files: ModelFiles,
  environment: ReadingEnvironment,
  only?: number,
): Promise<Model[]> {
  const { config, where } = await readConfig(name, files, environment);
  const manifestText = await readText(files, "manifest.json");
  const manifest = manifestText === undefined
    ? {}
    : parseManifest(manifestText, files.describe("manifest.json"));
  const labels = await readLabels(config, manifest, files);
  const fileName = containedPath(
    config?.default_model_filename || DEFAULT_FILE_NAME,
    `${where}: "default_model_filename"`,
  );
  const versions = only === undefined
    ? chooseVersions(config, await presentVersions(files, environment), where)
    : [only];
  if (versions.length === 0) {
    throw new SluiceError(
      "invalid_argument",
      `${files.describe("")} has no version: expected a folder such as 1/${fileName}`,
    );
  }
  const shared = { name, files, environment, config, where, manifest, labels, fileName };
  const models: Model[] = [];
  for (const version of versions) models.push(await readVersion(version, shared));
  return models;
}

interface Shared {
  readonly name: string;
  readonly files: ModelFiles;
  readonly environment: ReadingEnvironment;
  readonly config?: ModelConfig;
  readonly where: string;
  readonly manifest: Manifest;
  readonly labels: ReadonlyMap<string, readonly string[]>;
  readonly fileName: string;
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
  const signature = config === undefined
    ? facts.signature
    : reconcile(config, facts.signature, where);
  const record = manifest.versions?.[version];
  const fileBytes = file.size + external.reduce((sum, entry) => sum + entry.size, 0);
  // Samples and a probe's result are left out: they change nothing of a model that is loaded.
  const { maxBatch, priority, weight, pin } = manifest;
  const settings = JSON.stringify([config, maxBatch, priority, weight, pin, [...shared.labels]]);
  const batching = batchingRule({
    signature,
    isDynamicallyQuantised: facts.isDynamicallyQuantised,
    config,
    // A version that was replaced by hand has another size than the one that was probed.
    probe: record?.bytes === fileBytes ? record.batching : undefined,
    maxBatch,
  });
  return {
    name,
    version,
    file: file.path === undefined ? { bytes: file.bytes } : { path: file.path },
    fileBytes,
    fingerprint: digest([file, ...external].map((entry) => entry.fingerprint), settings),
    signature,
    maxBatchSize: config?.max_batch_size ?? 0,
    batching,
    config: completeConfig(config ?? {}, name, fileName, signature),
    labels: shared.labels,
    samples: manifest.samples ?? [],
    priority: priority ?? config?.dynamic_batching?.default_priority_level ?? 0,
    weight: weight ?? 1,
    pin: pin ?? false,
  };
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

async function readConfig(
  name: string,
  files: ModelFiles,
  environment: ReadingEnvironment,
): Promise<{ readonly config?: ModelConfig; readonly where: string }> {
  const path = "config.pbtxt";
  let where = files.describe(path);
  let parsed: ParsedConfig;
  if (environment.config !== undefined) {
    where = `The configuration given for "${name}"`;
    parsed = parseConfigJson(environment.config, where);
  } else {
    const text = await readText(files, path);
    if (text === undefined) return { where };
    parsed = parseConfigText(text, where);
  }
  checkServable(name, parsed.config, where);
  for (const warning of parsed.warnings) environment.warn(warning);
  return { config: parsed.config, where };
}

function checkServable(name: string, config: ModelConfig, where: string): void {
  const refuse = (fault: string, code: "invalid_argument" | "unsupported" = "invalid_argument") =>
    new SluiceError(code, `${where}: ${fault}`);
  if (config.name && config.name !== name) {
    throw refuse(`"name" is ${JSON.stringify(config.name)}; the model's folder is "${name}"`);
  }
  if (config.platform && config.platform !== "onnxruntime_onnx") {
    throw refuse(
      `"platform" is ${JSON.stringify(config.platform)}; only "onnxruntime_onnx" is served`,
      "unsupported",
    );
  }
  if (config.backend && config.backend !== "onnxruntime") {
    throw refuse(
      `"backend" is ${JSON.stringify(config.backend)}; only "onnxruntime" is served`,
      "unsupported",
    );
  }
  if (config.ensemble_scheduling !== undefined) {
    throw refuse(`"ensemble_scheduling": ensembles are not served`, "unsupported");
  }
}

async function readText(files: ModelFiles, path: string): Promise<string | undefined> {
  const entry = await files.entry(path);
  if (entry === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await files.read(entry));
  } catch (error) {
    throw new SluiceError("invalid_argument", `${files.describe(path)} is no UTF-8 text`, {
      cause: error,
    });
  }
}

async function readLabels(
  config: ModelConfig | undefined,
  manifest: Manifest,
  files: ModelFiles,
): Promise<Map<string, readonly string[]>> {
  const labels = new Map(Object.entries(manifest.labels ?? {}));
  for (const output of config?.output ?? []) {
    if (!output.label_filename || output.name === undefined) continue;
    const what = `${files.describe("config.pbtxt")}: "label_filename" of "${output.name}"`;
    const path = containedPath(output.label_filename, what);
    const text = await readText(files, path);
    if (text === undefined) {
      throw new SluiceError("invalid_argument", `${what} is "${path}", which is missing`);
    }
    const lines = text.split(/\r?\n/);
    if (lines[lines.length - 1] === "") lines.pop();
    labels.set(output.name, lines);
  }
  return labels;
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
