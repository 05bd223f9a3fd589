/**
 * Finds what belongs to a model in a file or folder that somebody points at.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { SluiceError } from "../errors.ts";
import { type Manifest, parseManifest } from "../manifest.ts";
import { decodeOnnxFile } from "../onnx/decode.ts";
import { containedPath, versionOf } from "../repository/names.ts";
import { type ModelConfig, parseConfigText } from "../triton_config/model_config.ts";

/** A version's files where they lie now. */
export interface CollectedVersion {
  /** Its number; absent where nobody has given it one. */
  readonly version?: number;
  /** By path in the version's folder. */
  readonly files: ReadonlyMap<string, string>;
}

/** A model's files where they lie now, ready to go into a repository. */
export interface CollectedFiles {
  /** Ascending; one at least. */
  readonly versions: readonly CollectedVersion[];
  /** By path in the model's folder. */
  readonly shared: ReadonlyMap<string, string>;
  /** Settings that a manifest beside them has. */
  readonly settings: Omit<Manifest, "versions">;
}

/**
 * Collects a model: an ONNX file with its external data, a folder that has one, or a model's folder
 * of a repository, with versions.
 *
 * @param version Of a folder with versions the one to take, alone; what has none gets it.
 * @throws {SluiceError} `not_found`, or `invalid_argument` when it is no model.
 */
export async function collectFiles(path: string, version?: number): Promise<CollectedFiles> {
  const info = await stat(path);
  if (info === undefined) throw new SluiceError("not_found", `${path} is missing`);
  if (!info.isDirectory) {
    const files = await modelFiles(path, "model.onnx");
    return { versions: [{ version, files }], shared: new Map(), settings: {} };
  }
  const config = await readConfig(path);
  const fileName = config.default_model_filename || "model.onnx";
  const names = (await Array.fromAsync(Deno.readDir(path))).map((entry) => entry.name);
  const present = names.map(versionOf).filter((found) => found !== undefined);
  const rest = {
    shared: sharedFiles(path, names, config),
    settings: await readSettings(path, names),
  };
  if (present.length === 0) {
    const model = join(path, onlyModel(path, names, fileName));
    return { versions: [{ version, files: await modelFiles(model, fileName) }], ...rest };
  }
  const contained = containedPath(fileName, "default_model_filename");
  const versions: CollectedVersion[] = [];
  for (const chosen of chosenVersions(path, present, version)) {
    const model = join(path, String(chosen), contained);
    versions.push({ version: chosen, files: await modelFiles(model, fileName) });
  }
  return { versions, ...rest };
}

function chosenVersions(
  folder: string,
  present: readonly number[],
  wanted: number | undefined,
): readonly number[] {
  const ascending = present.toSorted((a, b) => a - b);
  if (wanted === undefined) return ascending;
  if (present.includes(wanted)) return [wanted];
  throw new SluiceError(
    "not_found",
    `${folder} has no version ${wanted}; it has ${ascending.join(", ")}. To give one of them ` +
      `another number, name its folder: ${join(folder, String(ascending[0]))}`,
  );
}

/** The model under its name in the repository, and its external data. */
async function modelFiles(path: string, fileName: string): Promise<Map<string, string>> {
  await checkIsFile(path);
  const files = new Map([[fileName, path]]);
  for (const location of (await decodeOnnxFile(path, path)).externalData) {
    const contained = containedPath(location, `${path}: external data`);
    const data = join(dirname(path), contained);
    if (await stat(data) === undefined) {
      throw new SluiceError("not_found", `${path} needs external data, and ${data} is missing`);
    }
    await checkIsFile(data);
    files.set(contained, data);
  }
  return files;
}

function onlyModel(folder: string, names: readonly string[], fileName: string): string {
  if (names.includes(fileName)) return fileName;
  const models = names.filter((name) => name.endsWith(".onnx"));
  if (models.length === 1) return models[0];
  throw new SluiceError(
    "invalid_argument",
    `${folder} has ${models.length === 0 ? "no model" : `the models ${models.join(", ")}`}; ` +
      `expected a folder with versions, with ${fileName} or with a single .onnx file`,
  );
}

async function readConfig(folder: string): Promise<ModelConfig> {
  const path = join(folder, "config.pbtxt");
  if (await stat(path) === undefined) return {};
  await checkIsFile(path);
  return parseConfigText(await readText(path), path).config;
}

function sharedFiles(
  folder: string,
  names: readonly string[],
  config: ModelConfig,
): Map<string, string> {
  const labels = (config.output ?? []).flatMap(({ label_filename }) => label_filename || []);
  const wanted = [...names.filter((name) => name === "config.pbtxt"), ...labels]
    .map((name) => containedPath(name, `${folder}/config.pbtxt: "label_filename"`));
  return new Map(wanted.map((name) => [name, join(folder, name)]));
}

async function readSettings(
  folder: string,
  names: readonly string[],
): Promise<CollectedFiles["settings"]> {
  if (!names.includes("manifest.json")) return {};
  const path = join(folder, "manifest.json");
  await checkIsFile(path);
  const { versions: _versions, ...settings } = parseManifest(await readText(path), path);
  return settings;
}

/** Without the byte order mark that some editors write, which `Deno.readTextFile` would keep. */
async function readText(path: string): Promise<string> {
  return new TextDecoder().decode(await Deno.readFile(path));
}

async function stat(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return undefined;
    }
    throw error;
  }
}

/** Opening a named pipe, for one, would wait for ever. */
async function checkIsFile(path: string): Promise<void> {
  const info = await stat(path);
  if (info === undefined) throw new SluiceError("not_found", `${path} is missing`);
  if (!info.isFile) throw new SluiceError("invalid_argument", `${path} is no file`);
}
