/**
 * What is sent to each model of a scenario, made before the run.
 *
 * @module
 */
import { type Random, seededRandom } from "../../models/random.ts";
import type { Requests } from "./exchange.ts";
import { filePrompts, generatePayloads } from "./generate_payload.ts";
import { encodeRequest, fileInputs, randomInputs } from "./payload.ts";
import type { GenerateLoad, ModelLoad, Scenario } from "./scenario.ts";
import { parseJsonFile } from "./scenario_schema.ts";
import { modelPath, type Target } from "./target.ts";

/** Reads prompts and inputs. */
export type ReadFile = (path: string) => Promise<string>;

/**
 * Asks the server for its models and makes their requests.
 *
 * @throws {SluiceError} When the server has no such model, or requests cannot be made for it.
 */
export async function makeRequests(
  { models, seed, payloads }: Scenario,
  target: Target,
  { readFile }: { readonly readFile: ReadFile },
): Promise<Requests[]> {
  const binary = await target.takesBinary();
  const made: Requests[] = [];
  for (const [index, model] of models.entries()) {
    const random = seededRandom(seed + index);
    const served = model.model ?? model.name;
    const path = modelPath(served, model.version);
    const metadata = await target.inputs(served, model.version);
    if (model.generate !== undefined) {
      made.push(await textRequests(path, model.generate, model, random, readFile));
      continue;
    }
    const inputs = model.inputs === undefined
      ? Array.from({ length: payloads }, () => randomInputs(model, metadata, random))
      : fileInputs(parseJsonFile(await readFile(model.inputs), model.inputs), model.inputs);
    // The steps of a sequence name it, so they are encoded as they are sent.
    const encoded = model.sequence ? [] : inputs.map((each) => encodeRequest(each, model, binary));
    made.push({
      path: `${path}/infer`,
      streamed: false,
      payload: (n, step) =>
        step === undefined
          ? encoded[n % encoded.length]
          : encodeRequest(inputs[n % inputs.length], model, binary, step),
    });
  }
  return made;
}

async function textRequests(
  path: string,
  generate: GenerateLoad,
  model: ModelLoad,
  random: Random,
  readFile: ReadFile,
): Promise<Requests> {
  const { prompt, prompts } = generate;
  const texts = prompts === undefined
    ? [prompt!]
    : filePrompts(parseJsonFile(await readFile(prompts), prompts), prompts);
  const payloads = generatePayloads(generate, model, texts, random);
  return {
    path: `${path}/generate_stream`,
    streamed: true,
    payload: (n) => payloads[n % payloads.length],
  };
}
