import assert from "node:assert/strict";
import { gunzipSync, gzipSync } from "node:zlib";
import { SluiceError } from "../../../models/errors.ts";
import { CodecPool } from "../../../server/protocols/open_inference/codec_pool.ts";
import { ask, binaryBody, errorOf, testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

const model = fakeModel(
  "m",
  [{ name: "x", datatype: "FP32", shape: [-1] }, { name: "z", datatype: "INT32", shape: [-1] }],
  [{ name: "y", datatype: "FP32", shape: [-1] }],
);

const KNOWN = { model: "m", names: ["x"] };

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
    return pool.decode(body, body.byteLength, KNOWN);
  }));
  assert.deepEqual(answers.map(({ id }) => id), ids);
});

Deno.test("CodecPool fails what is waiting when it is disposed", async () => {
  const pool = new CodecPool(1);
  const body = () => new TextEncoder().encode('{"inputs":[]}');
  const pending = [pool.decode(body(), 13, KNOWN), pool.decode(body(), 13, KNOWN)];
  const outcomes = Promise.allSettled(pending);
  pool[Symbol.dispose]();
  for (const outcome of await outcomes) {
    assert.equal(outcome.status === "rejected" && outcome.reason.code, "shutting_down");
  }
});

/** Too large for both directions to be done in place; one comes out small, the other does not. */
const BODIES = [new Uint8Array(64 * 1024), crypto.getRandomValues(new Uint8Array(64 * 1024))];

Deno.test("CodecPool compresses and decompresses in its Workers", async () => {
  using pool = new CodecPool(1);
  for (const body of [...BODIES, ...BODIES]) {
    const gzip = await pool.compress("gzip", body.slice());
    assert.deepEqual(new Uint8Array(gunzipSync(gzip)), body);
    assert.deepEqual(await pool.decompress("gzip", gzip, body.byteLength), body);
  }
});

Deno.test("CodecPool refuses what a body unfolds to beyond the limit, and broken bodies", async () => {
  using pool = new CodecPool(1);
  const bomb = () => new Uint8Array(gzipSync(new Uint8Array(8_000_000)));
  assert.ok(bomb().byteLength > 4096);
  const refused = (code: string) => (error: unknown) =>
    error instanceof SluiceError && error.code === code;
  await assert.rejects(pool.decompress("gzip", bomb(), 7_999_999), refused("too_large"));
  await assert.rejects(pool.decompress("deflate", bomb(), 1e7), refused("invalid_argument"));
  assert.equal((await pool.decompress("gzip", bomb(), 8_000_000)).byteLength, 8_000_000);
});

Deno.test("CodecPool parses what has been unfolded before it unfolds more", async () => {
  using pool = new CodecPool(1);
  const order: string[] = [];
  const note = (what: string) => () => void order.push(what);
  const gzip = () => new Uint8Array(gzipSync(BODIES[1]));
  await Promise.all([
    pool.decompress("gzip", gzip(), 1e6).then(note("first")),
    pool.decompress("gzip", gzip(), 1e6).then(note("second")),
    pool.decode(new TextEncoder().encode('{"inputs":[]}'), 13, KNOWN).then(note("parsed")),
  ]);
  assert.deepEqual(order, ["first", "parsed", "second"]);
});
