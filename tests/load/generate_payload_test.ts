import assert from "node:assert/strict";
import { SluiceError } from "../../models/errors.ts";
import { seededRandom } from "../../models/random.ts";
import { filePrompts, generatePayloads } from "./generate_payload.ts";
import type { GenerateLoad, ModelLoad } from "./scenario.ts";

const MODEL: ModelLoad = { name: "m", free: 1, shapes: {}, priority: 2, deadlineMs: 1.5 };
const bodies = (generate: GenerateLoad, prompts: readonly string[], seed = 1) =>
  generatePayloads(generate, MODEL, prompts, seededRandom(seed))
    .map(({ body }) => JSON.parse(new TextDecoder().decode(body)));

Deno.test("generatePayloads() goes through the prompts and says all that is set", () => {
  const set = { temperature: 0.5, topK: 5, topP: 0.9, seed: 3, stop: ["\n"] };
  const [first, second, third] = bodies({ maxTokens: 7, ...set }, ["a", "b"]);
  assert.deepEqual([first, second, third].map((body) => body.text_input), ["a", "b", "a"]);
  assert.deepEqual(first.parameters, {
    priority: 2,
    timeout: 1500,
    max_tokens: 7,
    temperature: 0.5,
    top_k: 5,
    top_p: 0.9,
    seed: 3,
    stop: ["\n"],
  });
});

Deno.test("generatePayloads() draws lengths evenly, and a seed each, from the scenario's", () => {
  const generate = { maxTokens: { min: 3, max: 7 } };
  const drawn = bodies(generate, ["a"]);
  assert.deepEqual(drawn, bodies(generate, ["a"]));
  assert.notDeepEqual(drawn, bodies(generate, ["a"], 2));
  const counts = Map.groupBy(drawn, ({ parameters }) => parameters.max_tokens);
  assert.deepEqual([...counts.keys()].sort(), [3, 4, 5, 6, 7]);
  for (const { length } of counts.values()) assert.ok(Math.abs(length / 200 - 1) < 0.25);
  assert.ok(new Set(drawn.map(({ parameters }) => parameters.seed)).size > 990);
});

for (
  const [json, message] of [
    [{}, "p.json has no prompts; expected an array of texts"],
    [[], "p.json has no prompts; expected an array of texts"],
    [["a", 5], "p.json: prompt 1 is 5; expected a text"],
  ] as const
) {
  Deno.test(`filePrompts() refuses ${JSON.stringify(json)}`, () => {
    assert.throws(
      () => filePrompts(json, "p.json"),
      (error) => error instanceof SluiceError && error.message === message,
    );
  });
}
