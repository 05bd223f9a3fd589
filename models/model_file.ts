/**
 * A model's file and the files beside it that it keeps weights in, checked and read.
 *
 * @module
 */
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { messageOf, SluiceError } from "./errors.ts";
import { initialState } from "./initial_state.ts";
import type { Model } from "./model.ts";
import { decodeOnnx } from "./onnx/decode.ts";
import { readInitializers } from "./onnx/initializers.ts";
import type { ExternalData } from "./onnx/tensor_proto.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Other files that a model keeps weights in, as it names them.
 *
 * @throws {SluiceError} `invalid_argument` when it is no ONNX file.
 */
export function externalDataOf(model: Model): Promise<ReadonlySet<string>> {
  return withContent(model, (content, name) => decodeOnnx(content, name).externalData);
}

/**
 * What sequences start from: the initialisers of carried inputs.
 *
 * @throws {SluiceError} `invalid_argument` when one does not fit, `unsupported` when it cannot be read.
 */
export function fileStateOf(model: Model): Promise<ReadonlyMap<string, Tensor>> {
  const names = new Set(model.sequence?.carry.map(({ input }) => input));
  if (names.size === 0) return Promise.resolve(new Map());
  return withContent(
    model,
    (content, name) => initialState(model, [...readInitializers(content, names, name).values()]),
  );
}

/**
 * What to load a model from: its path, where it has one, or its content.
 *
 * @param externalData As {@linkcode externalDataOf} gave it.
 * @throws {SluiceError} `invalid_argument` when external data are missing or outside its folder.
 */
export async function modelSource(
  model: Model,
  externalData: ReadonlySet<string>,
): Promise<string | Uint8Array<ArrayBuffer>> {
  const { path, bytes } = model.file;
  const label = labelOf(model);
  const [external] = externalData;
  if (bytes !== undefined && external === undefined) return bytes;
  if (bytes !== undefined || path === undefined) {
    throw new SluiceError(
      "invalid_argument",
      `${label} was uploaded as one file but keeps weights in "${external}"; expected a file that contains them`,
    );
  }
  for (const location of externalData) await checkExternal(path, location, label);
  return path;
}

/**
 * Reads a piece of a file beside a model.
 *
 * @param bytes How long it has to be.
 * @throws {SluiceError} `invalid_argument` when it is not there, or outside the model's folder.
 */
export async function readExternalData(
  model: Model,
  { location, offset, length }: ExternalData,
  bytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  await modelSource(model, new Set([location]));
  const path = join(dirname(model.file.path!), location);
  const data = new Uint8Array(bytes);
  let done = 0;
  using file = await Deno.open(path);
  await file.seek(offset, Deno.SeekMode.Start);
  while (done < bytes) {
    const read = await file.read(data.subarray(done));
    if (read === null) break;
    done += read;
  }
  if (done === bytes && (length ?? bytes) === bytes) return data;
  throw new SluiceError(
    "invalid_argument",
    `${labelOf(model)} keeps ${bytes} bytes of weights in "${location}" from byte ${offset} on; ` +
      `it says ${length ?? "to the end"}, and ${done} are there`,
  );
}

/** How errors call a model. */
export function labelOf({ name, version }: Model): string {
  return `Model "${name}" version ${version}`;
}

/**
 * Calls `read` with the file's content and how errors call it. A content that was read for it is
 * gone afterwards.
 *
 * @throws {SluiceError} `invalid_argument` when the file cannot be read.
 */
export async function withContent<T>(
  model: Model,
  read: (content: Uint8Array<ArrayBuffer>, name: string) => T | Promise<T>,
): Promise<T> {
  const { path, bytes } = model.file;
  const label = labelOf(model);
  if (bytes !== undefined) return await read(bytes, label);
  if (path === undefined) throw new SluiceError("internal", `${label} has no file`);
  const content = await readFile(path, label);
  try {
    return await read(content, `${label} (${basename(path)})`);
  } finally {
    // It may be large, so it goes at once, not when it is collected.
    content.buffer.transfer(0);
  }
}

async function readFile(path: string, label: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await Deno.readFile(path);
  } catch (cause) {
    throw new SluiceError(
      "invalid_argument",
      `${label} cannot be read from ${basename(path)}: ${messageOf(cause)}`,
      { cause },
    );
  }
}

/** A model may name files beside or below it, directly or through links, and no others. */
async function checkExternal(modelPath: string, location: string, label: string): Promise<void> {
  const refuse = (fault: string, cause?: unknown) =>
    new SluiceError(
      "invalid_argument",
      `${label} keeps weights in "${location}", which ${fault}`,
      { cause },
    );
  const folder = await Deno.realPath(dirname(modelPath));
  if (location === "") throw refuse("names no file");
  if (isAbsolute(location) || isOutside(folder, join(folder, location))) {
    throw refuse("is outside the model's folder; expected a relative path inside it");
  }
  let target: string;
  try {
    target = await Deno.realPath(join(folder, location));
  } catch (cause) {
    throw refuse("is not there", cause);
  }
  if (isOutside(folder, target)) throw refuse("leads outside the model's folder through a link");
}

function isOutside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === ".." || way.startsWith("../") || isAbsolute(way);
}
