/**
 * Bodies of the model repository extension: index, load and unload.
 *
 * @module
 */
import { messageOf } from "../../../models/errors.ts";
import type { ModelOverride } from "../../../models/model.ts";
import type { IndexRow } from "../../engine/api.ts";
import { describe } from "../describe.ts";
import type { Fields } from "../json_body.ts";
import { boolean, invalid, object } from "./fields.ts";

/** `{"ready": true}` of an index request: only what is ready. */
export function decodeIndexRequest(body: Fields): boolean {
  return body.ready === undefined ? false : boolean(body.ready, "'ready'");
}

/** A row of the index without the fields that say nothing: a model never loaded is just a name. */
export function indexRow({ name, version, state, reason }: IndexRow): Partial<IndexRow> {
  return {
    name,
    ...(version === "" ? {} : { version }),
    ...(state === "" ? {} : { state }),
    ...(reason === undefined || reason === "" ? {} : { reason }),
  };
}

/**
 * The parameters of a load request: `config` (a model configuration as JSON text) and
 * `file:<path>` (base64).
 *
 * @throws {SluiceError} `invalid_argument`; unknown parameters are refused, not ignored.
 */
export function decodeLoadRequest(body: Fields): ModelOverride | undefined {
  let config: string | undefined;
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [name, value] of Object.entries(parametersOf(body))) {
    if (name === "config") config = jsonText(name, value);
    else if (name.startsWith("file:")) files.set(name.slice("file:".length), base64(name, value));
    else {
      throw invalid(
        `Load parameter '${name}' is not known, expected 'config' or 'file:<version>/<file name>'`,
      );
    }
  }
  if (config === undefined && files.size === 0) return undefined;
  return {
    ...(config === undefined ? {} : { config }),
    ...(files.size === 0 ? {} : { files }),
  };
}

/**
 * Checks an unload request. `unload_dependents` is accepted: there are no ensembles, so nothing
 * depends on a model.
 *
 * @throws {SluiceError} `invalid_argument`.
 */
export function checkUnloadRequest(body: Fields): void {
  for (const [name, value] of Object.entries(parametersOf(body))) {
    if (name !== "unload_dependents") {
      throw invalid(`Unload parameter '${name}' is not known, expected 'unload_dependents'`);
    }
    boolean(value, "Unload parameter '%s'", name);
  }
}

function parametersOf({ parameters }: Fields): Fields {
  return parameters === undefined ? {} : object(parameters, "'parameters'");
}

function jsonText(name: string, value: unknown): string {
  if (typeof value !== "string") {
    throw invalid(`Load parameter '${name}' is ${describe(value)}, expected JSON text in a string`);
  }
  try {
    JSON.parse(value);
  } catch (fault) {
    throw invalid(`Load parameter '${name}' is not valid JSON: ${messageOf(fault)}`);
  }
  return value;
}

function base64(name: string, value: unknown): Uint8Array<ArrayBuffer> {
  if (typeof value !== "string") {
    throw invalid(`Load parameter '${name}' is ${describe(value)}, expected base64 in a string`);
  }
  try {
    return Uint8Array.fromBase64(value);
  } catch {
    throw invalid(`Load parameter '${name}' is not valid base64`);
  }
}
