/**
 * Request bodies of Triton's generate extension, made before the run.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import type { Random } from "../../models/random.ts";
import { callerParameters, type Payload } from "./payload.ts";
import type { GenerateLoad, ModelLoad } from "./scenario.ts";

/** Bodies that are made: enough to draw a distribution from, and small. */
const BODIES = 1000;

/** Requests that go through the prompts in turn; each draws its length and its seed. */
export function generatePayloads(
  generate: GenerateLoad,
  load: ModelLoad,
  prompts: readonly string[],
  random: Random,
): Payload[] {
  const { maxTokens, temperature, topK, topP, seed, stop } = generate;
  const draw = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  return Array.from({ length: BODIES }, (_, index) => {
    const body = {
      text_input: prompts[index % prompts.length],
      parameters: {
        ...callerParameters(load),
        max_tokens: typeof maxTokens === "number" ? maxTokens : draw(maxTokens.min, maxTokens.max),
        temperature,
        top_k: topK,
        top_p: topP,
        seed: seed ?? draw(0, 2 ** 31 - 1),
        stop,
      },
    };
    return {
      headers: { "content-type": "application/json" },
      body: new TextEncoder().encode(JSON.stringify(body)),
    };
  });
}

/**
 * Prompts from a file.
 *
 * @throws {SluiceError} `invalid_argument`, naming the first that is none.
 */
export function filePrompts(json: unknown, path: string): string[] {
  if (!Array.isArray(json) || json.length === 0) {
    throw new SluiceError("invalid_argument", `${path} has no prompts; expected an array of texts`);
  }
  const wrong = json.findIndex((prompt) => typeof prompt !== "string" || prompt === "");
  if (wrong < 0) return json;
  throw new SluiceError(
    "invalid_argument",
    `${path}: prompt ${wrong} is ${JSON.stringify(json[wrong])}; expected a text`,
  );
}
