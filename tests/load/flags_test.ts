import assert from "node:assert/strict";
import { type LoadFlags, refuseBesideFile, scenarioOfFlags } from "./flags.ts";
import { UsageError } from "../../server/commands/command.ts";

const MODEL = { model: ["a"] };

for (
  const [arrivals, expected] of [
    ["constant", { kind: "constant", rate: 9 }],
    ["gamma:2.5", { kind: "gamma", rate: 9, cv: 2.5 }],
    ["ramp:90", { kind: "ramp", rate: 9, to: 90 }],
    ["burst:4", { kind: "burst", rate: 9, size: 4 }],
    [undefined, { kind: "poisson", rate: 9 }],
  ] as const
) {
  Deno.test(`scenarioOfFlags() reads --arrivals ${arrivals ?? "left out"}`, () => {
    assert.deepEqual(scenarioOfFlags({ ...MODEL, rate: "9", arrivals }).arrivals, expected);
  });
}

Deno.test("scenarioOfFlags() reads a trace, whose path may have a colon", () => {
  const { arrivals } = scenarioOfFlags({ ...MODEL, arrivals: "trace:c:/t.csv" });
  assert.deepEqual(arrivals, { kind: "trace", file: "c:/t.csv" });
});

Deno.test("scenarioOfFlags() makes a closed loop, and gives every model its settings", () => {
  assert.deepEqual(
    scenarioOfFlags({ model: ["a", "b"], concurrency: "4", think: "2", slo: "50", duration: "3" }),
    {
      durationSeconds: 3,
      closed: { concurrency: 4, thinkMs: 2 },
      models: [{ name: "a", sloMs: 50 }, { name: "b", sloMs: 50 }],
    },
  );
});

Deno.test("scenarioOfFlags() asks for text, with lengths drawn between two", () => {
  const { models } = scenarioOfFlags({
    ...MODEL,
    rate: "1",
    prompt: "Once",
    maxTokens: "5-500",
    temperature: "0",
    sloTtft: "200",
    sloTbt: "20",
  });
  const generate = { prompt: "Once", maxTokens: { min: 5, max: 500 }, temperature: 0 };
  assert.deepEqual(models, [{ name: "a", sloTtftMs: 200, sloTbtMs: 20, generate }]);
});

Deno.test("scenarioOfFlags() makes sequences", () => {
  const { models } = scenarioOfFlags({ ...MODEL, concurrency: "1", sequence: "30" });
  assert.deepEqual(models, [{ name: "a", sequence: { steps: 30 } }]);
});

for (
  const [flags, message] of [
    [{}, "--model and --scenario are missing; expected one of them"],
    [MODEL, "There is no load; expected --rate or --concurrency"],
    [{ ...MODEL, rate: "x" }, '--rate is "x"; expected a number'],
    [{ ...MODEL, arrivals: "burst:2" }, "--rate is missing; --arrivals burst needs it"],
    [{ ...MODEL, rate: "1", arrivals: "gamma" }, '--arrivals is "gamma"; expected gamma:CV'],
    [{ ...MODEL, rate: "1", arrivals: "poisson:2" }, '--arrivals is "poisson:2"; expected poisson'],
    [{ ...MODEL, rate: "1", arrivals: "flat" }, '--arrivals is "flat"; expected one of constant,'],
    [{ ...MODEL, rate: "1", arrivals: "trace:t" }, "--rate is given with a trace"],
    [{ ...MODEL, rate: "1", concurrency: "1" }, "--concurrency is given together with --rate"],
    [{ ...MODEL, rate: "1", think: "1" }, "--think is given without --concurrency"],
    [
      { ...MODEL, rate: "1", maxTokens: "9" },
      "--max-tokens is given without --prompt or --prompts",
    ],
    [
      { ...MODEL, rate: "1", prompt: "x", maxTokens: "1-x" },
      '--max-tokens is "x"; expected a number',
    ],
  ] as (readonly [LoadFlags, string])[]
) {
  Deno.test(`scenarioOfFlags() refuses ${JSON.stringify(flags)}`, () => {
    assert.throws(
      () => scenarioOfFlags(flags),
      (error) => error instanceof UsageError && error.message.startsWith(message),
    );
  });
}

Deno.test("refuseBesideFile() lets pass only what may override a file", () => {
  refuseBesideFile({ scenario: "f", url: "u", duration: "1", seed: "2" });
  assert.throws(() => refuseBesideFile({ scenario: "f", slo: "5" }), /^UsageError: --slo is given/);
  assert.throws(() => refuseBesideFile({ scenario: "f", maxTokens: "5" }), /--max-tokens is given/);
});
