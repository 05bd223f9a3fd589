/**
 * A model's configuration as Triton writes it: `config.pbtxt` beside the versions, or the JSON of a
 * load request.
 *
 * @module
 */
import { messageOf, SluiceError } from "../errors.ts";
import { MODEL_CONFIG } from "./model_config_schema.ts";
import { fieldsOfJson, type Form, readMessage, SchemaError } from "./read_message.ts";
import type { MessageOf } from "./schema.ts";
import { parseTextFormat, positionOf, type TextField, TextFormatError } from "./text_format.ts";

/** A configuration; what is absent has its default. */
export type ModelConfig = MessageOf<typeof MODEL_CONFIG>;

/** A configuration, and what it says in vain. */
export interface ParsedConfig {
  /** What was set. */
  readonly config: ModelConfig;
  /** Names the fields that Triton knows and that have no effect here; absent where there are none. */
  readonly warning?: string;
}

/**
 * Reads a `config.pbtxt`.
 *
 * @param fileName How errors call the file; they add line and column.
 * @throws {SluiceError} `invalid_argument`: broken text, an unknown field, a value of another type.
 */
export function parseConfigText(text: string, fileName: string): ParsedConfig {
  try {
    return read(parseTextFormat(text), "text", fileName);
  } catch (error) {
    if (error instanceof TextFormatError) {
      const { line, column } = error.position;
      throw refused(`${fileName}:${line}:${column}`, error.fault, error);
    }
    if (error instanceof SchemaError) {
      const { line, column } = positionOf(text, error.at);
      throw refused(`${fileName}:${line}:${column}`, error.message, error);
    }
    throw error;
  }
}

/**
 * Reads the JSON form, as a load request carries it.
 *
 * @param where How errors call it.
 * @throws {SluiceError} `invalid_argument`: no JSON, an unknown field, a value of another type.
 */
export function parseConfigJson(text: string, where: string): ParsedConfig {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw refused(where, `it is no JSON (${messageOf(error)})`, error);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refused(where, "expected a JSON object");
  }
  try {
    return read(fieldsOfJson(value as Record<string, unknown>), "json", where);
  } catch (error) {
    if (error instanceof SchemaError) throw refused(where, error.message, error);
    if (error instanceof RangeError) throw refused(where, "it nests too deep", error);
    throw error;
  }
}

function read(fields: readonly TextField[], form: Form, where: string): ParsedConfig {
  const { message, noted } = readMessage(MODEL_CONFIG, fields, form);
  if (noted.length === 0) return { config: message };
  const names = noted.map((field) => `"${field}"`).join(", ");
  return { config: message, warning: `${where}: known to Triton, without effect here: ${names}` };
}

function refused(where: string, fault: string, cause?: unknown): SluiceError {
  return new SluiceError("invalid_argument", `${where}: ${fault}`, { cause });
}
