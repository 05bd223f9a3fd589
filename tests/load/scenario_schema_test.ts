import assert from "node:assert/strict";
import { SluiceError } from "../../models/errors.ts";
import { resolveScenario, scenarioJsonSchema } from "./scenario_schema.ts";

const ONE = { arrivals: { kind: "poisson", rate: 5 }, models: [{ name: "a" }] };

const generating = (generate: object, more: object = {}) => ({
  ...ONE,
  models: [{ name: "a", generate, ...more }],
});

Deno.test("resolveScenario() fills in the defaults", () => {
  const scenario = resolveScenario(ONE, "f.json");
  assert.equal(scenario.url, "http://127.0.0.1:8000");
  assert.equal(scenario.durationSeconds, 10);
  assert.deepEqual(scenario.models, [{ name: "a", free: 1, shapes: {} }]);
});

for (
  const [given, message] of [
    [{ ...ONE, seed: -1 }, "f.json: seed is -1; expected a whole number, 0 or more"],
    [{ ...ONE, sed: 1 }, "f.json: sed is unknown"],
    [{ ...ONE, models: [] }, "f.json: models is []; expected at least one model"],
    [{}, "f.json: models is missing; expected an array of models"],
    [[], "f.json: the scenario is []; expected a JSON object"],
    [{ ...ONE, models: [5] }, "f.json: models[0] is 5; expected a JSON object"],
    [
      { models: [{ name: "a" }] },
      "f.json: models[0] has no load; expected arrivals or closed, " +
      "its own or the scenario's",
    ],
    [
      { ...ONE, models: [{ name: "a" }, { name: "a" }] },
      "f.json: models[1].name is listed twice; expected each name once",
    ],
    [
      { ...ONE, closed: { concurrency: 1 } },
      "f.json: closed is given together with arrivals; expected one of them",
    ],
    [
      { ...ONE, arrivals: { kind: "gamma", rate: 5, cv: 0 } },
      "f.json: arrivals.cv is 0; expected a number above 0",
    ],
    [
      { ...ONE, models: [{ name: "a", deadlineMs: -5 }] },
      "f.json: models[0].deadlineMs is -5; expected a number above 0",
    ],
    [
      generating({ maxTokens: 5 }),
      "f.json: models[0].generate has no text; expected one of prompt and " +
      "prompts",
    ],
    [
      generating({ prompt: "a", prompts: "b", maxTokens: 5 }),
      "f.json: models[0].generate has both prompt and prompts; expected one of prompt and prompts",
    ],
    [
      generating({ prompt: "a", maxTokens: { min: 5, max: 4 } }),
      "f.json: models[0].generate.maxTokens has a min above its max; expected min <= max",
    ],
    [
      generating({ prompt: "a", maxTokens: 0 }),
      "f.json: models[0].generate.maxTokens is 0; expected a whole number, 1 or more",
    ],
    [
      generating({ prompt: "a", maxTokens: 5, topP: 2 }),
      "f.json: models[0].generate.topP is 2; expected a number above 0, at most 1",
    ],
    [
      generating({ prompt: "a", maxTokens: 5 }, { inputs: "f" }),
      "f.json: models[0].inputs is given together with generate, which has no tensors",
    ],
    [
      { ...ONE, models: [{ name: "a", sloTbtMs: 5 }] },
      "f.json: models[0].sloTbtMs is given without generate, whose tokens it is about",
    ],
    [
      { ...ONE, models: [{ name: "a", sequence: { steps: 5 } }] },
      "f.json: models[0].sequence is given without closed; expected a closed loop",
    ],
    [
      { ...ONE, arrivals: { kind: "uniform" } },
      'f.json: arrivals.kind is "uniform"; expected "kind" to be one of constant, poisson, gamma, ' +
      "ramp, burst, trace",
    ],
  ] as const
) {
  Deno.test(`resolveScenario() refuses ${JSON.stringify(given)}`, () => {
    assert.throws(
      () => resolveScenario(given, "f.json"),
      (error) => {
        assert.ok(error instanceof SluiceError);
        assert.equal(error.message, message);
        return true;
      },
    );
  });
}

Deno.test("scenarioJsonSchema() is the published one: deno task load --schema", async () => {
  const published = await Deno.readTextFile(new URL("scenario.schema.json", import.meta.url));
  assert.deepEqual(JSON.parse(published), scenarioJsonSchema());
});
