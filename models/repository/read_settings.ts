/**
 * What all versions of a model share: Triton's configuration, the manifest, labels.
 *
 * @module
 */
import { SluiceError } from "../errors.ts";
import { type Manifest, parseManifest } from "../manifest.ts";
import {
  type ModelConfig,
  parseConfigJson,
  parseConfigText,
  type ParsedConfig,
} from "../triton_config/model_config.ts";
import { checkSequenceBatching } from "../triton_config/sequence_batching.ts";
import { MANIFEST } from "./manifest_file.ts";
import type { ModelFiles } from "./model_files.ts";
import { containedPath } from "./names.ts";

/** Settings of a model. */
export interface ModelSettings {
  /** Triton's configuration, where there is one. */
  readonly config?: ModelConfig;
  /** How errors call the configuration. */
  readonly where: string;
  /** The manifest; empty where there is none. */
  readonly manifest: Manifest;
  /** Labels by output name. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** Name of the ONNX file in a version's folder. */
  readonly fileName: string;
}

/** What reading settings needs beside the files. */
export interface SettingsOptions {
  /** A configuration as JSON that replaces the folder's. */
  readonly config?: string;
  /** Told of what is odd, without being an error. */
  warn(message: string): void;
}

/**
 * Reads the settings of a model.
 *
 * @throws {SluiceError} `invalid_argument` with the file and the fault in it, `unsupported` for a
 * model of another kind.
 */
export async function readSettings(
  name: string,
  files: ModelFiles,
  options: SettingsOptions,
): Promise<ModelSettings> {
  const { config, where } = await readConfig(name, files, options);
  const manifestText = await readText(files, MANIFEST);
  const manifest = manifestText === undefined
    ? {}
    : parseManifest(manifestText, files.describe(MANIFEST));
  const fileName = containedPath(
    config?.default_model_filename || "model.onnx",
    `${where}: "default_model_filename"`,
  );
  const labels = await readLabels(config, manifest, files);
  return { config, where, manifest, labels, fileName };
}

async function readConfig(
  name: string,
  files: ModelFiles,
  options: SettingsOptions,
): Promise<{ readonly config?: ModelConfig; readonly where: string }> {
  const path = "config.pbtxt";
  let where = files.describe(path);
  let parsed: ParsedConfig;
  if (options.config !== undefined) {
    where = `The configuration given for "${name}"`;
    parsed = parseConfigJson(options.config, where);
  } else {
    const text = await readText(files, path, LARGEST_CONFIG_BYTES);
    if (text === undefined) return { where };
    parsed = parseConfigText(text, where);
  }
  checkServable(name, parsed.config, where);
  if (parsed.warning !== undefined) options.warn(parsed.warning);
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
  if (config.sequence_batching !== undefined) {
    checkSequenceBatching(config.sequence_batching, where);
  }
}

/** Configurations are some kilobytes; a model's own samples and labels may take more. */
const LARGEST_CONFIG_BYTES = 2 ** 20;
const LARGEST_TEXT_BYTES = 64 * 2 ** 20;

async function readText(
  files: ModelFiles,
  path: string,
  largestBytes = LARGEST_TEXT_BYTES,
): Promise<string | undefined> {
  const entry = await files.entry(path);
  if (entry === undefined) return undefined;
  if (entry.size > largestBytes) {
    throw new SluiceError(
      "invalid_argument",
      `${files.describe(path)} has ${entry.size} bytes, expected at most ${largestBytes}`,
    );
  }
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
