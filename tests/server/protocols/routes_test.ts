import assert from "node:assert/strict";
import { SluiceError } from "../../../models/errors.ts";
import { EXTENSIONS } from "../../../server/protocols/open_inference/metadata.ts";
import { VERSION } from "../../../server/version.ts";
import { ask, errorOf, testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

const spec = (name: string, shape: readonly number[]) => ({
  name,
  datatype: "FP32" as const,
  shape,
});
const models = [
  fakeModel("m", [spec("x", [-1, 4])], [spec("y", [-1, 2])], { maxBatchSize: 8 }),
  fakeModel("m", [spec("x", [-1, 4])], [spec("y", [-1, 2])], { maxBatchSize: 8, version: 12 }),
  fakeModel("free", [{ ...spec("x", []), unranked: true }], [spec("y", [])], {
    config: { name: "free", platform: "simulated" },
  }),
];
const engine = fakeEngine(models, {
  rows: [
    { name: "broken", version: "1", state: "UNAVAILABLE", reason: "it is text" },
    { name: "never", version: "", state: "" },
  ],
});
const app = testApp({ engine });
const json = async (path: string) => JSON.parse((await ask(app, "GET", path)).text);

Deno.test("GET /v2 says who answers and what works", async () => {
  assert.deepEqual(await json("/v2"), { name: "sluice", version: VERSION, extensions: EXTENSIONS });
});

Deno.test("GET of a model gives metadata in the protocol's order, all versions ascending", async () => {
  const { text, headers } = await ask(app, "GET", "/v2/models/m");
  assert.equal(
    text,
    '{"name":"m","versions":["1","12"],"platform":"onnxruntime_onnx",' +
      '"inputs":[{"name":"x","datatype":"FP32","shape":[-1,4]}],' +
      '"outputs":[{"name":"y","datatype":"FP32","shape":[-1,2]}]}',
  );
  assert.equal(headers.get("content-type"), "application/json");
});

Deno.test("GET of one version lists that one, whatever zeros lead its number", async () => {
  for (const [given, version] of [["1", "1"], ["01", "1"], ["0012", "12"]]) {
    assert.deepEqual((await json(`/v2/models/m/versions/${given}`)).versions, [version]);
  }
});

Deno.test("GET of a model shows a free rank as one free dimension, and its own platform", async () => {
  const { inputs, outputs, platform } = await json("/v2/models/free");
  assert.deepEqual(inputs[0].shape, [-1]);
  assert.deepEqual(outputs[0].shape, []);
  assert.equal(platform, "simulated");
});

Deno.test("GET config gives the model's configuration", async () => {
  assert.deepEqual(await json("/v2/models/m/config"), models[1].config);
  assert.deepEqual(await json("/v2/models/m/versions/1/config"), models[0].config);
});

Deno.test("GET stats has Triton's fields, batch sizes ascending", async () => {
  const { model_stats } = await json("/v2/models/m/versions/12/stats");
  const duration = (count: number, ns: number) => ({ count, ns });
  assert.equal(model_stats.length, 1);
  assert.deepEqual(model_stats[0], {
    name: "m",
    version: "12",
    last_inference: 1_700_000_000_000,
    inference_count: 4,
    execution_count: 2,
    inference_stats: {
      success: duration(3, 3_000_000),
      fail: duration(1, 1000),
      queue: duration(3, 600_000),
      compute_input: duration(3, 3000),
      compute_infer: duration(3, 2_000_000),
      compute_output: duration(3, 6000),
      cache_hit: duration(0, 0),
      cache_miss: duration(0, 0),
    },
    response_stats: {},
    batch_stats: [
      {
        batch_size: 1,
        compute_input: duration(1, 10),
        compute_infer: duration(1, 20),
        compute_output: duration(1, 30),
      },
      {
        batch_size: 3,
        compute_input: duration(1, 30),
        compute_infer: duration(1, 60),
        compute_output: duration(1, 90),
      },
    ],
    memory_usage: [
      { type: "persistent", id: 0, byte_size: 300 },
      { type: "ephemeral", id: 0, byte_size: 200 },
    ],
  });
  const ofOne = await json("/v2/models/m/stats");
  assert.equal(ofOne.model_stats.length, 2);
  assert.ok(!("device_memory" in ofOne));
  const ofAll = await json("/v2/models/stats");
  assert.equal(ofAll.model_stats.length, 3);
  assert.deepEqual(ofAll.device_memory.slice(0, 2), [
    { type: "overhead", byte_size: 5 },
    { model: "m", type: "persistent", byte_size: 300 },
  ]);
});

const YES = [
  ["GET", "/v2/health/live", "text/plain"],
  ["GET", "/v2/health/ready", "text/plain"],
  ["GET", "/v2/models/m/ready", "text/plain"],
  ["GET", "/v2/models/m/versions/1/ready", "text/plain"],
  ["POST", "/v2/repository/models/m/load", "application/json"],
  ["POST", "/v2/repository/models/m/unload", "application/json"],
] as const;

for (const [method, path, contentType] of YES) {
  Deno.test(`${method} ${path} answers yes with an empty ${contentType}`, async () => {
    const { status, bytes, headers } = await ask(app, method, path);
    assert.equal(status, 200);
    assert.equal(bytes.byteLength, 0);
    assert.equal(headers.get("content-length"), "0");
    assert.equal(headers.get("content-type"), contentType);
  });
}

const REFUSED = [
  ["GET", "/v2/models/nope", 404, "unknown model: 'nope'"],
  ["GET", "/v2/models/nope/config", 404, "'nope'"],
  ["GET", "/v2/models/nope/stats", 404, "'nope'"],
  ["GET", "/v2/models/nope/ready", 404, "'nope'"],
  ["POST", "/v2/models/nope/infer", 404, "'nope'"],
  ["GET", "/v2/models/m/versions/7", 404, "version 7"],
  ["POST", "/v2/models/m/versions/7/infer", 404, "version 7"],
  ["GET", "/v2/models/m/versions/99999999999999999999", 404, "99999999999999999999"],
  ["GET", "/v2/models/broken", 503, "'broken'"],
  ["GET", "/v2/models/broken/ready", 503, "'broken'"],
  ["POST", "/v2/models/broken/infer", 503, "'broken'"],
  ["GET", "/v2/models/a%2Fb", 404, "'a%2Fb'"],
  ["GET", "/v2/models/%6d", 404, "'%6d'"],
  ["POST", "/v2/models/%6d/infer", 404, "'%6d'"],
  ["GET", "/v2/models/m%00", 404, "'m%00'"],
  ["GET", "/v2/models/constructor", 404, "'constructor'"],
  ["GET", "/", 404, "There is no route"],
  ["GET", "/v2/", 404, "There is no route"],
  ["GET", "/v2/models", 404, "There is no route /v2/models; /docs shows all"],
  ["GET", "/v2/models/", 404, "There is no route"],
  ["POST", "/v2/models//infer", 404, "There is no route"],
  ["GET", "/v2/models/m/", 404, "There is no route"],
  ["GET", "/v2/models/m/versions/one", 404, "There is no route"],
  ["GET", "/v2/models/m/versions/-1", 404, "There is no route"],
  ["POST", "/v2/models/m/versions/1x/infer", 404, "There is no route"],
  ["POST", "/v2/models/m/a/infer", 404, "There is no route"],
  ["GET", "/V2", 404, "There is no route"],
  ["GET", "/docs/package.json", 404, "There is no route"],
  ["GET", "/docs/%2e%2e/package.json", 404, "There is no route"],
  ["POST", "/v2", 405, "Method POST is not allowed, expected "],
  ["HEAD", "/v2", 405, ""],
  ["OPTIONS", "/v2", 405, "Method OPTIONS is not allowed, expected "],
  ["DELETE", "/v2/models/m", 405, "Method DELETE is not allowed, expected "],
  ["GET", "/v2/models/m/infer", 405, "Method GET is not allowed, expected POST"],
  ["GET", "/v2/repository/index", 405, "Method GET is not allowed, expected "],
  ["PUT", "/metrics", 405, "Method PUT is not allowed, expected "],
  ["POST", "/v2/repository/mine/models/m/load", 501, "no names"],
  ["POST", "/v2/repository/mine/models/m/unload", 501, "no names"],
] as const;

const CODES = { 404: "not_found", 405: "method_not_allowed", 501: "unsupported", 503: "not_ready" };

for (const [method, path, status, says] of REFUSED) {
  Deno.test(`${method} ${path} answers ${status}`, async () => {
    const answer = await ask(app, method, path);
    assert.equal(answer.status, status);
    if (method !== "HEAD") assert.ok(errorOf(answer).includes(says), answer.text);
    assert.equal(answer.headers.get("sluice-error-code"), CODES[status]);
    assert.equal(answer.headers.has("allow"), status === 405);
  });
}

Deno.test("health answers 503 with the reason when the engine is not live or not ready", async () => {
  const app = testApp({ engine: fakeEngine([], { live: false, notReadyReason: "Draining" }) });
  const live = await ask(app, "GET", "/v2/health/live");
  assert.equal(live.status, 503);
  errorOf(live);
  const ready = await ask(app, "GET", "/v2/health/ready");
  assert.equal(ready.status, 503);
  assert.equal(errorOf(ready), "Draining");
});

Deno.test("readiness counts broken models only when it is strict", async () => {
  const engine = fakeEngine([], { brokenModels: ["model 'a' is not ready: it is text"] });
  for (const [strictReadiness, status] of [[false, 200], [true, 503]] as const) {
    const answer = await ask(testApp({ engine, strictReadiness }), "GET", "/v2/health/ready");
    assert.equal(answer.status, status);
  }
});

Deno.test("repository index gives rows without the fields that say nothing", async () => {
  const all = [
    { name: "m", version: "1", state: "READY" },
    { name: "m", version: "12", state: "READY" },
    { name: "free", version: "1", state: "READY" },
    { name: "broken", version: "1", state: "UNAVAILABLE", reason: "it is text" },
    { name: "never" },
  ];
  for (
    const [path, body, rows] of [
      ["/v2/repository/index", undefined, all],
      ["/v2/repository/index", { ready: false }, all],
      ["/v2/repository/index", { ready: true }, all.slice(0, 3)],
      ["/v2/repository/any/index", undefined, all],
    ] as const
  ) {
    assert.deepEqual(JSON.parse((await ask(app, "POST", path, body)).text), rows);
  }
});

Deno.test("load hands configuration and files to the engine", async () => {
  for (const jsonOffLoopBytes of [undefined, 0]) {
    const engine = fakeEngine([]);
    await using app = testApp({ engine, jsonOffLoopBytes });
    await ask(app, "POST", "/v2/repository/models/new/load");
    await ask(app, "POST", "/v2/repository/models/new/load", {
      parameters: { "config": '{"name":"new"}', "file:1/model.onnx": btoa("\x00\xff") },
    });
    assert.deepEqual(engine.loads, [
      { name: "new", override: undefined },
      {
        name: "new",
        override: {
          config: '{"name":"new"}',
          files: new Map([["1/model.onnx", new Uint8Array([0, 255])]]),
        },
      },
    ]);
  }
});

Deno.test("load gives the engine's refusal", async () => {
  const engine = fakeEngine([], {
    load: (name) => Promise.reject(new SluiceError("not_found", `No '${name}'`)),
  });
  const answer = await ask(testApp({ engine }), "POST", "/v2/repository/models/..%2Fx/load");
  assert.equal(answer.status, 404);
  assert.equal(errorOf(answer), "No '..%2Fx'");
});

const UNREADABLE = [
  ["index", "[]", "an array"],
  ["index", "{", "not valid JSON"],
  ["index", { ready: 1 }, "'ready' is 1"],
  ["models/m/load", { parameters: [] }, "'parameters' is an array"],
  ["models/m/load", { parameters: { warm: true } }, "'warm' is not known"],
  ["models/m/load", { parameters: { config: {} } }, "'config' is an object"],
  ["models/m/load", { parameters: { config: "{" } }, "'config' is not valid JSON"],
  ["models/m/load", { parameters: { "file:1/model.onnx": 7 } }, "'file:1/model.onnx' is 7"],
  ["models/m/load", { parameters: { "file:1/model.onnx": "*" } }, "not valid base64"],
  ["models/m/unload", { parameters: { all: true } }, "'all' is not known"],
  ["models/m/unload", { parameters: { unload_dependents: 1 } }, "'unload_dependents' is 1"],
] as const;

for (const [path, body, says] of UNREADABLE) {
  Deno.test(`POST /v2/repository/${path} refuses ${JSON.stringify(body)}`, async () => {
    const loads = engine.loads.length;
    const answer = await ask(app, "POST", `/v2/repository/${path}`, body);
    assert.equal(answer.status, 400);
    assert.ok(errorOf(answer).includes(says), answer.text);
    assert.equal(engine.loads.length, loads);
  });
}

Deno.test("unload takes unload_dependents", async () => {
  const engine = fakeEngine([]);
  const { status } = await ask(testApp({ engine }), "POST", "/v2/repository/models/m/unload", {
    parameters: { unload_dependents: true },
  });
  assert.equal(status, 200);
  assert.deepEqual(engine.unloads, ["m"]);
});

Deno.test("/v2/policy shows and switches the policy", async () => {
  const app = testApp({ engine: fakeEngine([]) });
  const status = (name: string) => ({ name, available: ["fair", "fifo"] });
  assert.deepEqual(JSON.parse((await ask(app, "GET", "/v2/policy")).text), status("fifo"));
  for (const [method, name] of [["PUT", "fair"], ["POST", "fifo"]]) {
    const { text } = await ask(app, method, "/v2/policy", { name });
    assert.deepEqual(JSON.parse(text), status(name));
  }
  for (const body of [{ name: "nope" }, {}, { name: 7 }]) {
    const answer = await ask(app, "PUT", "/v2/policy", body);
    assert.equal(answer.status, 400);
    errorOf(answer);
  }
});
