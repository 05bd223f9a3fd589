/**
 * The body of a generate request. Triton's clients give parameters beside `text_input`, KServe's in
 * `parameters`; either will do, also mixed.
 *
 * @module
 */
import type { GenerationRule } from "../../../models/model.ts";
import type { TextRequest } from "../../generation/generation.ts";
import type { SamplingOptions } from "../../generation/sampling.ts";
import { describe } from "../describe.ts";
import type { Fields } from "../json_body.ts";
import { boolean, invalid, object, string, wholeNumber } from "../open_inference/fields.ts";

const PARAMETERS: readonly string[] = [
  "id",
  "max_tokens",
  "temperature",
  "top_k",
  "top_p",
  "seed",
  "stop",
  "stream",
  "priority",
  "timeout",
  "tenant",
];

/** Tokens of an answer where a request names no number and the cache holds so many. */
export const DEFAULT_MAX_TOKENS = 128;
/** Stop strings of one request. */
export const MOST_STOPS = 8;
/** Of each, UTF-8. */
export const LONGEST_STOP_BYTES = 256;
const SEEDS = 2 ** 32;

const encoder = new TextEncoder();

/**
 * Decodes a request's fields.
 *
 * @param rule Of the model that is asked.
 * @param streams Whether the route answers with a stream: `stream` may not say otherwise.
 * @throws {SluiceError} `invalid_argument`.
 */
export function decodeGenerateRequest(
  fields: Fields,
  rule: GenerationRule,
  streams: boolean,
): TextRequest {
  const parameters = parametersOf(fields);
  const { id = "", stream = streams, priority = 0, timeout = 0, tenant } = parameters;
  if (boolean(stream, "Parameter 'stream'") !== streams) {
    throw invalid(
      `Parameter 'stream' is ${stream}, but generate answers at once and generate_stream in a stream`,
    );
  }
  const prompt = encode(string(fields.text_input, "The request's 'text_input'"), "'text_input'");
  return {
    id: string(id, "Parameter 'id'"),
    prompt,
    maxTokens: decodeMaxTokens(parameters.max_tokens, prompt.length + 1, rule.maxTokens),
    sampling: decodeSampling(parameters),
    stop: decodeStop(parameters.stop),
    priority: wholeNumber(priority, "Parameter 'priority'"),
    timeoutMicros: wholeNumber(timeout, "Parameter 'timeout'"),
    tenant: tenant === undefined ? undefined : string(tenant, "Parameter 'tenant'"),
  };
}

function parametersOf({ text_input: _, parameters = {}, ...beside }: Fields): Fields {
  const inside = object(parameters, "The request's 'parameters'");
  for (const name of [...Object.keys(beside), ...Object.keys(inside)]) {
    if (PARAMETERS.includes(name)) continue;
    throw invalid(
      `Parameter '${name}' is not known, expected 'text_input' and some of ${
        PARAMETERS.map((known) => `'${known}'`).join(", ")
      }`,
    );
  }
  for (const name of Object.keys(inside)) {
    if (!Object.hasOwn(beside, name)) continue;
    throw invalid(`Parameter '${name}' is given twice, expected it beside or in 'parameters'`);
  }
  return { ...beside, ...inside };
}

function encode(text: string, what: string): Uint8Array<ArrayBuffer> {
  if (text.isWellFormed()) return encoder.encode(text);
  throw invalid(`${what} has half of a surrogate pair, expected Unicode`);
}

/** Every token of the prompt and of the answer needs a place in the cache. */
function decodeMaxTokens(value: unknown, promptTokens: number, cacheTokens: number): number {
  const room = cacheTokens - promptTokens;
  if (value !== undefined) {
    const maxTokens = atLeastOne(value, "max_tokens");
    if (maxTokens <= room) return maxTokens;
    throw invalid(
      `Parameter 'max_tokens' is ${maxTokens} and the prompt has ${promptTokens} tokens, ` +
        `expected at most ${cacheTokens} together`,
    );
  }
  if (room >= 1) return Math.min(DEFAULT_MAX_TOKENS, room);
  throw invalid(
    `The prompt has ${promptTokens} tokens, expected less than ${cacheTokens}, which is all that ` +
      "prompt and answer may have together",
  );
}

/** Chance comes in with the first parameter that speaks of it. */
function decodeSampling({ temperature, top_k, top_p, seed }: Fields): SamplingOptions {
  const chance = top_k !== undefined || top_p !== undefined;
  return {
    temperature: temperature === undefined
      ? chance ? 1 : 0
      : number(temperature, "temperature", "a number, 0 or more", (value) => value >= 0),
    topK: top_k === undefined ? 0 : wholeNumber(top_k, "Parameter 'top_k'"),
    topP: top_p === undefined
      ? 1
      : number(top_p, "top_p", "a number above 0, at most 1", (value) => value > 0 && value <= 1),
    seed: seed === undefined ? Math.floor(Math.random() * SEEDS) : number(
      seed,
      "seed",
      "a whole number, 0 or more and below 2^32",
      (value) => Number.isInteger(value) && value >= 0 && value < SEEDS,
    ),
  };
}

function decodeStop(value: unknown): readonly Uint8Array<ArrayBuffer>[] {
  if (value === undefined) return [];
  const strings: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (strings.length > MOST_STOPS) {
    throw invalid(`Parameter 'stop' has ${strings.length} strings, expected at most ${MOST_STOPS}`);
  }
  return strings.map((given) => {
    if (typeof given !== "string") {
      const what = Array.isArray(value) ? "has an entry that is" : "is";
      throw invalid(
        `Parameter 'stop' ${what} ${describe(given)}, expected a string or an array of strings`,
      );
    }
    const bytes = encode(given, "Parameter 'stop'");
    if (bytes.length >= 1 && bytes.length <= LONGEST_STOP_BYTES) return bytes;
    throw invalid(
      `Parameter 'stop' has a string of ${bytes.length} bytes, expected 1 to ${LONGEST_STOP_BYTES}`,
    );
  });
}

function atLeastOne(value: unknown, name: string): number {
  return number(
    value,
    name,
    "a whole number, 1 or more",
    (value) => Number.isSafeInteger(value) && value >= 1,
  );
}

function number(
  value: unknown,
  name: string,
  expected: string,
  fits: (value: number) => boolean,
): number {
  if (typeof value === "number" && Number.isFinite(value) && fits(value)) return value;
  throw invalid(`Parameter '${name}' is ${describe(value)}, expected ${expected}`);
}
