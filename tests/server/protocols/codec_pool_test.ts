import assert from "node:assert/strict";
import { CodecPool } from "../../../server/protocols/open_inference/codec_pool.ts";
import { ask, binaryBody, errorOf, testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

const model = fakeModel(
  "m",
  [{ name: "x", datatype: "FP32", shape: [-1] }, { name: "z", datatype: "INT32", shape: [-1] }],
  [{ name: "y", datatype: "FP32", shape: [-1] }],
);

Deno.test("infer gives the same answers and refusals when a Worker parses", async () => {
  const requests = [
    binaryBody({
      id: "a",
      inputs: [
        { name: "x", shape: [3], datatype: "FP32", data: [1, [2, 0.1]] },
        { name: "z", shape: [1], datatype: "INT32", parameters: { binary_data_size: 4 } },
      ],
    }, new Uint8Array([7, 0, 0, 0])),
    binaryBody({ inputs: [{ name: "x", shape: [3], datatype: "FP32", data: [1] }] }),
    binaryBody({ parameters: { sequence_id: 7 }, inputs: [] }),
  ];
  await using here = testApp({ engine: fakeEngine([model]) });
  await using elsewhere = testApp({ engine: fakeEngine([model]), jsonOffLoopBytes: 0 });
  for (const { body, headers } of requests) {
    const one = await ask(here, "POST", "/v2/models/m/infer", body, headers);
    const other = await ask(elsewhere, "POST", "/v2/models/m/infer", body, headers);
    assert.equal(other.status, one.status);
    assert.equal(other.text, one.text);
    if (one.status !== 200) assert.equal(errorOf(other), errorOf(one));
  }
});

Deno.test("infer writes large JSON answers in a Worker to the same text", async () => {
  const count = 60_000;
  const values = Float32Array.from({ length: count }, (_, i) => i / 8);
  const { body, headers } = binaryBody({
    inputs: [{
      name: "x",
      shape: [count],
      datatype: "FP32",
      parameters: { binary_data_size: count * 4 },
    }],
  }, new Uint8Array(values.buffer));
  await using app = testApp({ engine: fakeEngine([model]) });
  const { text } = await ask(app, "POST", "/v2/models/m/infer", body, headers);
  const [{ data }] = JSON.parse(text).outputs;
  assert.deepEqual(data, [...values]);
  assert.ok(text.includes('"data":[0.0,0.125,'));
});

Deno.test("CodecPool serves more jobs than it has Workers, each its own answer", async () => {
  using pool = new CodecPool(2);
  const ids = Array.from({ length: 20 }, (_, i) => `${i}`);
  const answers = await Promise.all(ids.map((id) => {
    const body = new TextEncoder().encode(JSON.stringify({ id, inputs: [] }));
    return pool.decode(body, body.byteLength);
  }));
  assert.deepEqual(answers.map(({ id }) => id), ids);
});

Deno.test("CodecPool fails what is waiting when it is disposed", async () => {
  const pool = new CodecPool(1);
  const body = () => new TextEncoder().encode('{"inputs":[]}');
  const pending = [pool.decode(body(), 13), pool.decode(body(), 13)];
  const outcomes = Promise.allSettled(pending);
  pool[Symbol.dispose]();
  for (const outcome of await outcomes) {
    assert.equal(outcome.status === "rejected" && outcome.reason.code, "shutting_down");
  }
});
