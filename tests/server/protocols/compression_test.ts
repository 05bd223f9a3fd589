import assert from "node:assert/strict";
import { deflateRawSync, deflateSync, gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { acceptedCoding } from "../../../server/protocols/compression.ts";
import { ask, binaryBody, errorOf, testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

const engine = fakeEngine([
  fakeModel(
    "m",
    [{ name: "x", datatype: "FP32", shape: [-1] }],
    [{ name: "y", datatype: "FP32", shape: [-1] }],
  ),
]);
const app = testApp({ engine, maxBodyBytes: 100_000 });
const path = "/v2/models/m/infer";
const json = JSON.stringify({
  inputs: [{ name: "x", shape: [2], datatype: "FP32", data: [1, 2] }],
});
const plain = (bytes: Uint8Array) => new Uint8Array(bytes);

Deno.test("infer takes gzip, deflate and identity bodies", async () => {
  for (
    const [coding, body] of [
      ["gzip", plain(gzipSync(json))],
      ["GZip", plain(gzipSync(json))],
      ["deflate", plain(deflateSync(json))],
      ["identity", json],
    ] as const
  ) {
    const { status, text } = await ask(app, "POST", path, body, { "content-encoding": coding });
    assert.equal(status, 200, text);
  }
});

Deno.test("infer takes the length header of a compressed body from before its compression", async () => {
  const { body, headers } = binaryBody({
    inputs: [{ name: "x", shape: [1], datatype: "FP32", parameters: { binary_data_size: 4 } }],
  }, new Uint8Array(4));
  const { status, text } = await ask(app, "POST", path, plain(gzipSync(await body.bytes())), {
    ...headers,
    "content-encoding": "gzip",
  });
  assert.equal(status, 200, text);
});

Deno.test("infer answers 501 with what it speaks to other codings", async () => {
  for (const coding of ["br", "compress", "gzip, deflate", "zstd"]) {
    const answer = await ask(app, "POST", path, json, { "content-encoding": coding });
    assert.equal(answer.status, 501);
    assert.equal(answer.headers.get("accept-encoding"), "gzip, deflate");
    assert.ok(errorOf(answer).includes(`'${coding}'`));
  }
});

Deno.test("infer refuses a body that is not what its coding says", async () => {
  const gzip = plain(gzipSync(json));
  for (
    const [coding, body] of [
      ["gzip", json],
      ["gzip", gzip.subarray(0, gzip.length - 9)],
      ["gzip", ""],
      ["gzip", plain(deflateSync(json))],
      ["deflate", plain(deflateRawSync(json))],
    ] as const
  ) {
    const answer = await ask(app, "POST", path, body, { "content-encoding": coding });
    assert.equal(answer.status, 400);
    assert.ok(errorOf(answer).includes(`not valid ${coding}`));
  }
});

Deno.test("infer refuses a body that unfolds beyond the limit", async () => {
  const bomb = plain(gzipSync(new Uint8Array(50_000_000)));
  const answer = await ask(app, "POST", path, bomb, { "content-encoding": "gzip" });
  assert.equal(answer.status, 413);
  assert.ok(errorOf(answer).includes("more than 100000 bytes"));
});

Deno.test("infer compresses its answer as Accept-Encoding asks", async () => {
  const uncompressed = await ask(app, "POST", path, json);
  for (const [coding, decode] of [["gzip", gunzipSync], ["deflate", inflateSync]] as const) {
    const { headers, bytes } = await ask(app, "POST", path, json, { "accept-encoding": coding });
    assert.equal(headers.get("content-encoding"), coding);
    assert.equal(new TextDecoder().decode(decode(bytes)), uncompressed.text);
  }
});

Deno.test("infer compresses binary answers whole, large ones too", async () => {
  const data = new Uint8Array(new Float32Array(10_000).fill(7).buffer);
  const { body, headers } = binaryBody({
    parameters: { binary_data_output: true },
    inputs: [{
      name: "x",
      shape: [10_000],
      datatype: "FP32",
      parameters: { binary_data_size: 40_000 },
    }],
  }, data);
  const answer = await ask(app, "POST", path, body, { ...headers, "accept-encoding": "gzip" });
  const length = Number(answer.headers.get("inference-header-content-length"));
  assert.equal(answer.headers.get("content-type"), "application/octet-stream");
  assert.deepEqual(plain(gunzipSync(answer.bytes)).subarray(length), data);
});

Deno.test("only inference answers are compressed, and no errors", async () => {
  const accept = { "accept-encoding": "gzip" };
  for (
    const answer of [
      await ask(app, "GET", "/v2/models/m", undefined, accept),
      await ask(app, "POST", path, "{", accept),
    ]
  ) {
    assert.equal(answer.headers.get("content-encoding"), null);
  }
});

Deno.test("acceptedCoding() goes by q-value, then by order", () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ["gzip", "gzip"],
    ["deflate, gzip", "deflate"],
    ["gzip, deflate, br", "gzip"],
    ["br;q=1.0, gzip;q=0.8, deflate;q=0.9", "deflate"],
    ["gzip;q=0", undefined],
    ["gzip;q=0.5, identity", undefined],
    ["identity;q=0.1, gzip;q=0.2", "gzip"],
    ["*", undefined],
    ["br", undefined],
    ["", undefined],
    ["GZIP ; Q=0.3", "gzip"],
    ["gzip;q=abc", undefined],
  ];
  for (const [header, expected] of cases) assert.equal(acceptedCoding(header), expected, header);
});
