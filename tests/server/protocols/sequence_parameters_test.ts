import assert from "node:assert/strict";
import type { Model } from "../../../models/model.ts";
import type { InferenceRequest } from "../../../server/engine/api.ts";
import { ask, binaryBody, errorOf, testApp } from "./exchange.ts";
import { FAKE_TIMING, fakeEngine, fakeModel } from "./fake_engine.ts";

const fp32 = (name: string) => ({ name, datatype: "FP32" as const, shape: [-1, 2] });

/** Adds up what comes; its sum, and a copy in half precision, carry over. */
function adder(name: string, required: boolean): Model {
  const inputs = [fp32("x"), fp32("sum"), fp32("half")];
  const outputs = [
    { ...fp32("half_next"), datatype: "FP16" as const },
    fp32("sum_next"),
    fp32("mean"),
    fp32("largest"),
  ];
  const carried = (input: string, output: string) => ({
    input,
    output,
    datatype: "FP32" as const,
    shape: [1, 2],
    batchAxis: 0,
  });
  const plain = fakeModel(name, inputs, outputs);
  return {
    ...plain,
    sequence: {
      carry: [carried("sum", "sum_next"), carried("half", "half_next")],
      batching: plain.batching,
      maxIdleMicros: 60_000_000,
      required,
      checkpoint: name,
    },
  };
}

/** As an engine does: outputs that carry over stay on the device. */
function answer(request: InferenceRequest): void {
  const [{ datatype, shape, data }] = request.inputs;
  request.respond(
    ["mean", "largest"].map((name) => ({ name, datatype, shape, data })),
    FAKE_TIMING,
  );
}

const engine = fakeEngine([adder("adder", false), adder("stateful", true)], { answer });
const app = testApp({ engine });
const X = { name: "x", shape: [1, 2], datatype: "FP32", data: [1, 2] };

const infer = (body: Record<string, unknown>) =>
  ask(app, "POST", "/v2/models/adder/infer", { inputs: [X], ...body });

Deno.test("infer hands sequence and tenant to the engine", async () => {
  for (
    const [parameters, sequence] of [
      [{ sequence_id: 7, sequence_start: true }, { id: 7, start: true, end: false }],
      [{ sequence_id: "a", sequence_end: true }, { id: "a", start: false, end: true }],
      [{ sequence_id: "7" }, { id: "7", start: false, end: false }],
      [{ sequence_id: Number.MAX_SAFE_INTEGER }, {
        id: Number.MAX_SAFE_INTEGER,
        start: false,
        end: false,
      }],
    ] as const
  ) {
    assert.equal((await infer({ parameters: { ...parameters, tenant: "me" } })).status, 200);
    const submitted = engine.submitted.at(-1);
    assert.deepEqual([submitted?.sequence, submitted?.tenant], [sequence, "me"]);
  }
});

Deno.test("infer takes a sequence's parameters from a binary request", async () => {
  const { body, headers } = binaryBody({
    parameters: { sequence_id: 7, sequence_start: true, binary_data_output: true },
    inputs: [{ ...X, data: undefined, parameters: { binary_data_size: 8 } }],
  }, new Uint8Array(8));
  const { status, text } = await ask(app, "POST", "/v2/models/adder/infer", body, headers);
  assert.equal(status, 200, text);
  assert.deepEqual(engine.submitted.at(-1)?.sequence, { id: 7, start: true, end: false });
});

Deno.test("infer takes a request for one of no sequence where its id is 0, empty or missing", async () => {
  for (const parameters of [{}, { sequence_id: 0, sequence_end: false }, { sequence_id: "" }]) {
    await infer({ outputs: [{ name: "mean" }], parameters });
    assert.equal(engine.submitted.at(-1)?.sequence, undefined);
    assert.equal(engine.submitted.at(-1)?.tenant, undefined);
  }
});

Deno.test("infer refuses parameters that name no sequence", async () => {
  const submitted = engine.submitted.length;
  for (
    const [parameters, message] of [
      [{ sequence_id: -1 }, /'sequence_id' is -1, expected a string, or a whole number/],
      [{ sequence_id: 1.5 }, /'sequence_id' is 1.5/],
      [{ sequence_id: 2 ** 53 }, /'sequence_id' is 9007199254740992/],
      [{ sequence_id: true }, /'sequence_id' is true/],
      [{ sequence_id: 1, sequence_start: 1 }, /'sequence_start' is 1, expected true or false/],
      [{ sequence_id: 1, sequence_end: "yes" }, /'sequence_end' is the string "yes"/],
      [{ sequence_start: true }, /'sequence_start' is true, expected a 'sequence_id' beside it/],
      [{ sequence_id: "", sequence_end: true }, /'sequence_end' is true, expected a 'sequence_id'/],
      [{ tenant: 7 }, /'tenant' is 7, expected a string/],
    ] as const
  ) {
    const answer = await infer({ parameters });
    assert.equal(answer.status, 400);
    assert.match(errorOf(answer), message);
  }
  assert.equal(engine.submitted.length, submitted);
});

const IN_SEQUENCE = { parameters: { sequence_id: 7, sequence_start: true } };

Deno.test("infer answers a sequence's request without what carries over", async () => {
  const names = async (body: Record<string, unknown>) => {
    const { status, text } = await infer({ ...IN_SEQUENCE, ...body });
    assert.equal(status, 200, text);
    return JSON.parse(text).outputs.map(({ name }: { readonly name: string }) => name);
  };
  assert.deepEqual(await names({}), ["mean", "largest"], "half_next has no form in JSON");
  assert.deepEqual(await names({ outputs: [{ name: "largest" }] }), ["largest"]);
});

Deno.test("infer classifies the output that was asked for, whatever carries over before it", async () => {
  const outputs = [{ name: "largest", parameters: { classification: 1 } }];
  const { text } = await infer({ ...IN_SEQUENCE, outputs });
  assert.deepEqual(JSON.parse(text).outputs, [
    { name: "largest", datatype: "BYTES", shape: [1, 1], data: ["2.000000:1"] },
  ]);
});

Deno.test("infer refuses to give an output that carries over, and names it", async () => {
  const answer = await infer({ ...IN_SEQUENCE, outputs: [{ name: "sum_next" }] });
  assert.equal(answer.status, 400);
  assert.match(errorOf(answer), /'sum_next' of model 'adder' stays on the device, as input 'sum'/);
});

Deno.test("GET of a model shows what carries over only where a client may give it", async () => {
  const names = async (model: string) => {
    const { text } = await ask(app, "GET", `/v2/models/${model}`);
    const { inputs, outputs } = JSON.parse(text);
    const nameOf = ({ name }: { readonly name: string }) => name;
    return [inputs.map(nameOf), outputs.map(nameOf)];
  };
  assert.deepEqual(await names("adder"), [
    ["x", "sum", "half"],
    ["half_next", "sum_next", "mean", "largest"],
  ]);
  assert.deepEqual(await names("stateful"), [["x"], ["mean", "largest"]]);
});
