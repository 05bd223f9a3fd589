import assert from "node:assert/strict";
import { SluiceError } from "../../../models/errors.ts";
import type { TensorSpec } from "../../../models/tensor.ts";
import { formatTiming } from "../../../server/protocols/server_timing.ts";
import { ask, binaryBody, errorOf, testApp } from "./exchange.ts";
import { FAKE_TIMING, fakeEngine, fakeModel } from "./fake_engine.ts";

const fp32 = (name: string, shape: readonly number[]): TensorSpec => ({
  name,
  datatype: "FP32",
  shape,
});

const small = fakeModel("small", [fp32("x", [-1, 4])], [fp32("y", [-1, 4])], { maxBatchSize: 8 });
const two = fakeModel(
  "two",
  [fp32("a", [-1]), { name: "b", datatype: "INT32", shape: [-1] }],
  [fp32("first", [-1]), { name: "second", datatype: "INT32", shape: [-1] }],
  { version: 3 },
);
const path = "/v2/models/small/infer";
const x = { name: "x", shape: [1, 4], datatype: "FP32", data: [1, 2.5, -0, 0.1] };
const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer);

Deno.test("infer answers JSON byte for byte as Triton does", async () => {
  const app = testApp({ engine: fakeEngine([small]) });
  const body = '{"id":"é","inputs":[{"name":"x","shape":[1,4],"datatype":"FP32",' +
    '"data":[1, 2.5, -0.0, 0.1]}]}';
  const { status, headers, text } = await ask(app, "POST", path, body);
  assert.equal(status, 200);
  assert.equal(
    text,
    '{"id":"é","model_name":"small","model_version":"1","outputs":[{"name":"y","datatype":"FP32",' +
      '"shape":[1,4],"data":[1.0,2.5,-0.0,0.10000000149011612]}]}',
  );
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(headers.get("inference-header-content-length"), null);
});

Deno.test("infer leaves the id out when it is absent or empty", async () => {
  const app = testApp({ engine: fakeEngine([small]) });
  for (const id of [{}, { id: "" }]) {
    const { text } = await ask(app, "POST", path, { ...id, inputs: [x] });
    assert.ok(text.startsWith('{"model_name":"small","model_version":"1","outputs":[{"name":"y"'));
  }
});

Deno.test("infer says in Server-Timing where the time went", async () => {
  const app = testApp({ engine: fakeEngine([small]) });
  const { headers } = await ask(app, "POST", path, { inputs: [x] });
  assert.equal(
    headers.get("server-timing"),
    'queue;dur=0.012,compute;dur=0.04,batch;desc=8,lane;desc=0,policy;desc="oldest first"',
  );
});

Deno.test("formatTiming() keeps a reason that no header could carry out of it", () => {
  const timing = formatTiming({ ...FAKE_TIMING, because: 'a "b" \\ ü\r\nx: y' });
  assert.ok(timing.endsWith('policy;desc="a ?b? ? ???x: y"'));
});

Deno.test("infer gives outputs as binary when the request asks for it", async () => {
  const app = testApp({ engine: fakeEngine([small]) });
  const request = {
    parameters: { binary_data_output: true },
    inputs: [{ ...x, data: [1, 2.5, 3, 0.1] }],
  };
  const { headers, bytes } = await ask(app, "POST", path, request);
  const json = '{"model_name":"small","model_version":"1","outputs":[{"name":"y",' +
    '"datatype":"FP32","shape":[1,4],"parameters":{"binary_data_size":16}}]}';
  assert.equal(headers.get("content-type"), "application/octet-stream");
  assert.equal(headers.get("inference-header-content-length"), String(json.length));
  assert.deepEqual(
    bytes,
    new Uint8Array([...new TextEncoder().encode(json), ...floats(1, 2.5, 3, 0.1)]),
  );
});

Deno.test("infer takes binary inputs as views and answers JSON when nothing is said", async () => {
  const engine = fakeEngine([small]);
  const { body, headers } = binaryBody({
    inputs: [{ name: "x", shape: [1, 4], datatype: "FP32", parameters: { binary_data_size: 16 } }],
  }, floats(1, 2, 3, 4));
  const { text } = await ask(testApp({ engine }), "POST", path, body, headers);
  assert.ok(text.endsWith('"data":[1.0,2.0,3.0,4.0]}]}'));
  const [{ data }] = engine.submitted[0].inputs;
  assert.equal(data.buffer.byteLength, body.size);
});

Deno.test("infer lets an output's own binary_data win over the request's", async () => {
  const app = testApp({ engine: fakeEngine([two]) });
  const { text, headers } = await ask(app, "POST", "/v2/models/two/versions/03/infer", {
    parameters: { binary_data_output: true },
    inputs: [
      { name: "a", shape: [1], datatype: "FP32", data: [1] },
      { name: "b", shape: [2], datatype: "INT32", data: [7, 8] },
    ],
    outputs: [{ name: "second", parameters: { binary_data: true } }, { name: "first" }],
  });
  const length = Number(headers.get("inference-header-content-length"));
  assert.equal(
    text.slice(0, length),
    '{"model_name":"two","model_version":"3","outputs":[' +
      '{"name":"first","datatype":"FP32","shape":[1],"data":[1.0]},' +
      '{"name":"second","datatype":"INT32","shape":[2],"parameters":{"binary_data_size":8}}]}',
  );
  assert.equal(text.length - length, 8);
});

Deno.test("infer gives an output that is named twice once, and only what is named", async () => {
  const app = testApp({ engine: fakeEngine([two]) });
  const { text } = await ask(app, "POST", "/v2/models/two/infer", {
    inputs: [
      { name: "a", shape: [1], datatype: "FP32", data: [1] },
      { name: "b", shape: [1], datatype: "INT32", data: [7] },
    ],
    outputs: [{ name: "second" }, { name: "second" }],
  });
  assert.ok(
    text.endsWith('"outputs":[{"name":"second","datatype":"INT32","shape":[1],"data":[7]}]}'),
  );
});

Deno.test("infer answers JSON without a length header when all binary data is empty", async () => {
  const app = testApp({ engine: fakeEngine([two]) });
  const { text, headers } = await ask(app, "POST", "/v2/models/two/infer", {
    parameters: { binary_data_output: true },
    inputs: [
      { name: "a", shape: [0], datatype: "FP32", data: [] },
      { name: "b", shape: [0, 3], datatype: "INT32", data: [[]] },
    ],
  });
  assert.ok(text.endsWith('"shape":[0,3],"parameters":{"binary_data_size":0}}]}'));
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(headers.get("inference-header-content-length"), null);
});

Deno.test("infer takes a raw body, deduces its free dimension and answers in binary", async () => {
  const one = fakeModel("one", [fp32("x", [-1, 2])], [fp32("y", [-1, 2])]);
  const engine = fakeEngine([one, small]);
  const app = testApp({ engine });
  const raw = { "inference-header-content-length": "0" };
  const { headers } = await ask(app, "POST", "/v2/models/one/infer", floats(1, 2, 3, 4, 5, 6), raw);
  assert.deepEqual(engine.submitted[0].inputs[0].shape, [3, 2]);
  assert.equal(headers.get("content-type"), "application/octet-stream");
  await ask(app, "POST", path, floats(1, 2, 3, 4), raw);
  assert.deepEqual(engine.submitted[1].inputs[0].shape, [1, 4]);
});

Deno.test("infer takes a raw body as the one element of a BYTES input", async () => {
  const bytes = (name: string): TensorSpec => ({ name, datatype: "BYTES", shape: [-1] });
  const engine = fakeEngine([fakeModel("texts", [bytes("x")], [bytes("y")])]);
  const raw = { "inference-header-content-length": "0" };
  await ask(testApp({ engine }), "POST", "/v2/models/texts/infer", "hello", raw);
  const [{ shape, data }] = engine.submitted[0].inputs;
  assert.deepEqual(shape, [1]);
  assert.deepEqual(data, new Uint8Array([5, 0, 0, 0, ...new TextEncoder().encode("hello")]));
});

Deno.test("infer takes JSON with a length header, white space, a BOM and unknown keys", async () => {
  const app = testApp({ engine: fakeEngine([small]) });
  const text = `\uFEFF \n${JSON.stringify({ unknown: {}, inputs: [x] })} \n`;
  const length = String(new TextEncoder().encode(text).byteLength);
  const form = { "content-type": "application/x-www-form-urlencoded" };
  for (const headers of [form, { ...form, "inference-header-content-length": length }]) {
    const answer = await ask(app, "POST", `${path}?a=b`, text, headers);
    assert.equal(answer.status, 200);
  }
});

Deno.test("infer takes data nested in any way, as long as the elements are as many", async () => {
  const app = testApp({ engine: fakeEngine([small]) });
  for (const data of [[[1, 2, 3, 4]], [[1], [2, 3], 4], [1, [2], 3, [[[4]]]], [1, [[2], 3], 4]]) {
    const { text } = await ask(app, "POST", path, { inputs: [{ ...x, data }] });
    assert.ok(text.endsWith('"data":[1.0,2.0,3.0,4.0]}]}'), JSON.stringify(data));
  }
});

Deno.test("infer hands priority, timeout and id to the engine", async () => {
  const engine = fakeEngine([small]);
  const parameters = { priority: 2, timeout: 5000, other: "passes", half: 0.5, flag: true };
  await ask(testApp({ engine }), "POST", path, { id: "q", parameters, inputs: [x] });
  const [{ id, priority, timeoutMicros, signal }] = engine.submitted;
  assert.deepEqual({ id, priority, timeoutMicros }, { id: "q", priority: 2, timeoutMicros: 5000 });
  assert.equal(signal?.aborted, false);
});

Deno.test("infer takes of a duplicate key the last", async () => {
  const engine = fakeEngine([small]);
  const input = JSON.stringify(x);
  await ask(testApp({ engine }), "POST", path, `{"id":"a","inputs":[${input}],"id":"b"}`);
  assert.equal(engine.submitted[0].id, "b");
});

Deno.test("infer gives the engine's refusal with its status and code", async () => {
  const refusals = [
    ["queue_full", 429, 503],
    ["deadline_exceeded", 504, 503],
    ["execution_failed", 500, 500],
    ["device_failed", 503, 503],
    ["out_of_memory", 503, 503],
    ["shutting_down", 503, 503],
    ["cancelled", 499, 499],
    ["invalid_argument", 400, 400],
  ] as const;
  for (const [code, own, triton] of refusals) {
    const engine = fakeEngine([small], {
      answer: (request) => request.fail(new SluiceError(code, "Because")),
    });
    for (const tritonStatusCodes of [false, true]) {
      const app = testApp({ engine, tritonStatusCodes });
      const answer = await ask(app, "POST", path, { inputs: [x] });
      assert.equal(answer.status, tritonStatusCodes ? triton : own);
      assert.equal(errorOf(answer), "Because");
      assert.equal(answer.headers.get("sluice-error-code"), code);
      assert.equal(answer.headers.get("retry-after"), code === "queue_full" ? "1" : null);
    }
  }
});

Deno.test("infer fails with internal when an answer cannot be written", async () => {
  const engine = fakeEngine([small], {
    answer: (request) =>
      request.respond([{
        name: "y",
        datatype: "FP32",
        shape: [1],
        get data(): Uint8Array<ArrayBuffer> {
          throw new TypeError("gone");
        },
      }], FAKE_TIMING),
  });
  const answer = await ask(testApp({ engine }), "POST", path, { inputs: [x] });
  assert.equal(answer.status, 500);
  assert.equal(errorOf(answer), "gone");
});
