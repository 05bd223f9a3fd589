/**
 * Checks a scenario file, fills in its defaults, and publishes its schema.
 *
 * @module
 */
import { z } from "zod";
import { SluiceError } from "../../models/errors.ts";
import type { ModelLoad, Scenario } from "./scenario.ts";

const expecting = (what: string) => ({ error: `expected ${what}` });
const above0 = z.number(expecting("a number above 0"))
  .positive(expecting("a number above 0"));
const from0 = z.number(expecting("a number, 0 or more"))
  .nonnegative(expecting("a number, 0 or more"));
const COUNT = expecting("a whole number, 1 or more");
const count = z.int(COUNT).positive(COUNT);
const WHOLE = expecting("a whole number, 0 or more");
const whole = z.int(WHOLE).nonnegative(WHOLE);
const text = z.string(expecting("text")).min(1, expecting("text"));
const rate = above0.describe("Requests per second, on average.");

/** The kinds of arrivals of an open loop. */
export const ARRIVAL_KINDS = ["constant", "poisson", "gamma", "ramp", "burst", "trace"] as const;

const arrivals = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("constant"), rate }).describe("Evenly spaced."),
  z.strictObject({ kind: z.literal("poisson"), rate }).describe("Independent of each other."),
  z.strictObject({
    kind: z.literal("gamma"),
    rate,
    cv: above0.describe("Coefficient of variation of the gaps: 1 is Poisson, more is burstier."),
  }).describe("Gaps of a gamma distribution."),
  z.strictObject({
    kind: z.literal("ramp"),
    rate: above0.describe("Requests per second at the beginning."),
    to: above0.describe("Requests per second at the end."),
  }).describe("Poisson, at a rate that changes linearly."),
  z.strictObject({
    kind: z.literal("burst"),
    rate,
    size: count.describe("Requests that come at the same instant."),
  }).describe("So many at once, then a pause."),
  z.strictObject({
    kind: z.literal("trace"),
    file: text.describe("Lines `seconds` or `seconds,model`, ascending; # begins a comment."),
  }).describe("As recorded."),
], expecting(`"kind" to be one of ${ARRIVAL_KINDS.join(", ")}`));

const closed = z.strictObject({
  concurrency: count.describe("Clients; each sends when its last request is answered."),
  thinkMs: from0.default(0)
    .describe("Mean pause of a client between two requests, exponentially distributed."),
}).describe("A closed loop: as many requests are under way as there are clients.");

const generate = z.strictObject({
  prompt: text.optional().describe("What every request begins with."),
  prompts: text.optional().describe("JSON file with an array of texts, sent in turn."),
  maxTokens: z.union([
    count,
    z.strictObject({ min: count, max: count }),
  ], expecting("a whole number, 1 or more, or {min, max}"))
    .describe("Most tokens of an answer; of {min, max}, each request draws its own, evenly."),
  temperature: from0.optional().describe("Of the sampling; 0 is greedy."),
  topK: count.optional().describe("Sampling from so many of the likeliest tokens."),
  topP: above0.max(1, expecting("a number above 0, at most 1")).optional()
    .describe("Sampling from the likeliest tokens that together have this probability."),
  seed: whole.optional().describe("Of the sampling. Without it each request draws its own."),
  stop: z.array(text, expecting("an array of texts")).optional()
    .describe("Texts that end an answer."),
}, expecting("a JSON object"))
  .describe("Text by `generate_stream`, as server-sent events, instead of inference.");

const sequence = z.strictObject({
  steps: count.describe("Requests of each sequence."),
}, expecting("a JSON object")).describe(
  "Each client of the closed loop sends sequences: `sequence_id`, `sequence_start` and " +
    "`sequence_end` are set.",
);

const model = z.strictObject({
  name: text.describe("In the report, and as the server calls it unless `model` says otherwise."),
  model: text.optional()
    .describe("As the server calls it: a model may be listed more than once, under several names."),
  version: text.optional().describe("Without it: the server's choice."),
  arrivals: arrivals.optional().describe("Its own open loop, instead of the shared one."),
  closed: closed.optional().describe("Its own closed loop, instead of the shared one."),
  priority: whole.optional().describe("The protocol's parameter `priority`."),
  tenant: text.optional().describe("The parameter `tenant`: whose requests they are."),
  deadlineMs: above0.optional().describe("The protocol's parameter `timeout`, in milliseconds."),
  sloMs: above0.optional()
    .describe("What is answered within it is goodput. Without it: the deadline, if there is one."),
  sloTtftMs: above0.optional().describe("What has its first token within it is goodput."),
  sloTbtMs: above0.optional()
    .describe("What has its next token within it 99 times of 100 is goodput."),
  free: count.default(1).describe(
    "Size of the dimensions that the model leaves free, but for the first, the batch, which is 1.",
  ),
  shapes: z.record(z.string(), z.array(whole)).default({})
    .describe("Exact shapes of inputs by their names, instead of `free`."),
  inputs: text.optional().describe(
    "JSON file with a request body of the protocol, or an array of them, instead of random values.",
  ),
  generate: generate.optional(),
  sequence: sequence.optional(),
}, expecting("a JSON object"));

const fields = z.strictObject({
  $schema: z.string().optional().describe("Where this schema lies, for editors."),
  url: text.default("http://127.0.0.1:8000")
    .describe("A server of the Open Inference Protocol v2."),
  seed: whole.default(1).describe("The same seed gives the same schedule and payloads."),
  durationSeconds: above0.default(10).describe("How long requests are sent and counted."),
  warmupSeconds: from0.default(1).describe("How long requests are sent before they are counted."),
  timeoutSeconds: above0.default(30).describe("When a client gives up."),
  connections: count.default(1000).describe(
    "Most requests under way in an open loop; those beyond wait, which counts as their latency.",
  ),
  payloads: count.default(8).describe("Different random payloads of each model."),
  arrivals: arrivals.optional()
    .describe("One open loop, shared by the models that have no load of their own."),
  zipf: from0.default(0).describe(
    "How shared arrivals are divided: the n-th model's share goes as 1/n^zipf; 0 is evenly.",
  ),
  closed: closed.optional()
    .describe("A closed loop for each of the models that have no load of their own."),
  models: z.array(model, expecting("an array of models")).min(1, expecting("at least one model")),
}, expecting("a JSON object"));

const schema: z.ZodType<Scenario> = fields.superRefine((scenario, context) => {
  const issue = (path: PropertyKey[], message: string) =>
    context.addIssue({ code: "custom", path, message });
  const both = "is given together with arrivals; expected one of them";
  if (scenario.arrivals && scenario.closed) issue(["closed"], both);
  const names = new Set<string>();
  scenario.models.forEach((model, index) => {
    const { name, arrivals, closed } = model;
    const path = ["models", index];
    if (names.has(name)) issue([...path, "name"], "is listed twice; expected each name once");
    names.add(name);
    if (arrivals && closed) issue([...path, "closed"], both);
    if (!(arrivals ?? closed ?? scenario.arrivals ?? scenario.closed)) {
      issue(path, "has no load; expected arrivals or closed, its own or the scenario's");
    }
    for (const [field, message] of misfits(model, scenario)) issue([...path, ...field], message);
  });
});

/** Fields of a model's load that do not go together, and why. */
function misfits(
  { generate, sequence, inputs, arrivals, closed, ...load }: ModelLoad,
  scenario: Scenario,
): [field: string[], message: string][] {
  const found: [string[], string][] = [];
  for (const name of ["sloTtftMs", "sloTbtMs"] as const) {
    if (load[name] !== undefined && !generate) {
      found.push([[name], "is given without generate, whose tokens it is about"]);
    }
  }
  if (generate) {
    const { prompt, prompts, maxTokens } = generate;
    if ((prompt === undefined) === (prompts === undefined)) {
      const fault = prompt === undefined ? "has no text" : "has both prompt and prompts";
      found.push([["generate"], `${fault}; expected one of prompt and prompts`]);
    }
    if (typeof maxTokens === "object" && maxTokens.min > maxTokens.max) {
      found.push([["generate", "maxTokens"], "has a min above its max; expected min <= max"]);
    }
    for (const [name, value] of Object.entries({ inputs, sequence })) {
      if (value) found.push([[name], "is given together with generate, which has no tensors"]);
    }
  }
  if (sequence && !(arrivals ? undefined : closed ?? scenario.closed)) {
    found.push([["sequence"], "is given without closed; expected a closed loop"]);
  }
  return found;
}

/** The JSON Schema of a scenario file, as published in `tests/load/scenario.schema.json`. */
export function scenarioJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(fields, { io: "input" });
  return { $schema, title: "Sluice load scenario", ...rest };
}

/**
 * Checks a scenario and fills in the defaults.
 *
 * @param where Named in messages: the file.
 * @throws {SluiceError} `invalid_argument`, naming the field, what was given and expected.
 */
export function resolveScenario(given: unknown, where: string): Scenario {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0]] : issue.path;
  const value = path.reduce((at: unknown, key) => Object(at)[key], given);
  const field = path.map((key) => typeof key === "number" ? `[${key}]` : `.${String(key)}`).join("")
    .replace(/^\./, "") || "the scenario";
  const fault = issue.code === "unrecognized_keys"
    ? "is unknown"
    : issue.code === "custom"
    ? issue.message
    : value === undefined
    ? `is missing; ${issue.message}`
    : `is ${JSON.stringify(value)}; ${issue.message}`;
  throw new SluiceError("invalid_argument", `${where}: ${field} ${fault}`);
}

/**
 * Reads a scenario's text.
 *
 * @throws {SluiceError} `invalid_argument` when it is not JSON.
 */
export function parseJsonFile(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SluiceError("invalid_argument", `${path} is not valid JSON: ${String(cause)}`, {
      cause,
    });
  }
}
