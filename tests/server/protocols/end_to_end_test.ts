import assert from "node:assert/strict";
import { openCpuDevice } from "../../../models/cpu/mod.ts";
import { FileRepository } from "../../../models/repository.ts";
import { type Datatype, DATATYPE_BYTES } from "../../../models/tensor.ts";
import type { Engine } from "../../../server/engine/api.ts";
import { openEngine } from "../../../server/engine/engine.ts";
import {
  addModel,
  gatherModel,
  identityModel,
  onnxModel,
  scaleModel,
} from "../../fixtures/onnx.ts";
import { repositoryWith } from "../../fixtures/repository.ts";
import type { App } from "../../../server/protocols/app.ts";
import { ask, binaryBody, errorOf, testApp } from "./exchange.ts";

const DATATYPES = Object.keys(DATATYPE_BYTES) as Datatype[];

const files: Record<string, string | Uint8Array> = {
  ...Object.fromEntries(
    DATATYPES.map((datatype) => [`${datatype}/1/model.onnx`, identityModel(datatype, ["n"])]),
  ),
  "add/1/model.onnx": addModel(),
  "batched/1/model.onnx": scaleModel(2, ["batch", 2]),
  "batched/config.pbtxt": 'name: "batched"\nmax_batch_size: 4\ndynamic_batching {}\n' +
    'input [{ name: "x" data_type: TYPE_FP32 dims: [ 2 ] }]\n' +
    'output [{ name: "y" data_type: TYPE_FP32 dims: [ 2 ] label_filename: "labels.txt" }]\n',
  "batched/labels.txt": "ant\nbee\n",
  "broken/1/model.onnx": onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: [1] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [1] }],
    nodes: [{ op: "NoSuchOperator", inputs: ["x"], outputs: ["y"] }],
  }),
  "gather/1/model.onnx": gatherModel(),
  "versions/1/model.onnx": scaleModel(1, ["batch", 1]),
  "versions/2/model.onnx": scaleModel(2, ["batch", 1]),
  "versions/config.pbtxt": "version_policy { all {} }\n",
};

/** The whole gateway but its port. */
async function withGateway(use: (app: App, engine: Engine) => Promise<void>): Promise<void> {
  await using folder = await repositoryWith(files);
  await using device = openCpuDevice({ threads: 1 });
  await using engine = await openEngine({ device, repository: new FileRepository(folder.path) });
  await using app = testApp({ engine });
  await use(app, engine);
}

const BINARY: Readonly<Record<Datatype, ArrayBufferView>> = {
  BOOL: new Uint8Array([1, 0]),
  UINT8: new Uint8Array([0, 255]),
  UINT16: new Uint16Array([0, 65535]),
  UINT32: new Uint32Array([0, 4294967295]),
  UINT64: new BigUint64Array([0n, 2n ** 64n - 1n]),
  INT8: new Int8Array([-128, 127]),
  INT16: new Int16Array([-32768, 32767]),
  INT32: new Int32Array([-2147483648, 2147483647]),
  INT64: new BigInt64Array([-(2n ** 63n), 2n ** 63n - 1n]),
  FP16: new Uint16Array([0x7c00, 0x0001]),
  BF16: new Uint16Array([0x7f80, 0x0001]),
  FP32: new Float32Array([NaN, -0]),
  FP64: new Float64Array([-Infinity, 5e-324]),
  BYTES: new Uint8Array([0, 0, 0, 0, 3, 0, 0, 0, 0xff, 0, 0x41]),
};

const JSON_DATA: { readonly [datatype in Datatype]?: string } = {
  BOOL: "[true,false]",
  UINT8: "[0,255]",
  UINT16: "[0,65535]",
  UINT32: "[0,4294967295]",
  UINT64: "[0,18446744073709551615]",
  INT8: "[-128,127]",
  INT16: "[-32768,32767]",
  INT32: "[-2147483648,2147483647]",
  INT64: "[-9223372036854775808,9223372036854775807]",
  FP32: "[NaN,-0.0]",
  FP64: "[-Infinity,5e-324]",
  BYTES: '["","é\\u0000z"]',
};

Deno.test("the gateway serves every datatype, as binary and as JSON", () =>
  withGateway(async (app) => {
    for (const datatype of DATATYPES) {
      const path = `/v2/models/${datatype}/infer`;
      const data = new Uint8Array(BINARY[datatype].buffer as ArrayBuffer);
      const { body, headers } = binaryBody({
        parameters: { binary_data_output: true },
        inputs: [{
          name: "x",
          shape: [2],
          datatype,
          parameters: { binary_data_size: data.byteLength },
        }],
      }, data);
      const binary = await ask(app, "POST", path, body, headers);
      assert.equal(binary.status, 200, `${datatype}: ${binary.text}`);
      const length = Number(binary.headers.get("inference-header-content-length"));
      assert.deepEqual(binary.bytes.subarray(length), data, datatype);

      const written = JSON_DATA[datatype];
      if (written === undefined) continue;
      const json = await ask(
        app,
        "POST",
        path,
        `{"inputs":[{"name":"x","shape":[2],"datatype":"${datatype}","data":${written}}]}`,
      );
      assert.ok(json.text.endsWith(`"data":${written}}]}`), `${datatype}: ${json.text}`);
    }
  }));

Deno.test("the gateway serves tensors without elements", () =>
  withGateway(async (app) => {
    const { text } = await ask(app, "POST", "/v2/models/FP32/infer", {
      inputs: [{ name: "x", shape: [0], datatype: "FP32", data: [] }],
    });
    assert.ok(text.endsWith('"shape":[0],"data":[]}]}'), text);
  }));

Deno.test("the gateway refuses what does not fit the model, and serves on", () =>
  withGateway(async (app) => {
    const a = { name: "a", shape: [1, 4], datatype: "FP32", data: [1, 2, 3, 4] };
    const b = { ...a, name: "b" };
    const refused = [
      [[a], ["'b'"]],
      [[a, b, { ...a, name: "c" }], ["'c'"]],
      [[a, b, b], ["'b'"]],
      [[a, { ...b, shape: [1, 3], data: [1, 2, 3] }], ["'b'", "3"]],
      [[a, { ...b, shape: [4] }], ["'b'"]],
      [[a, { ...b, datatype: "INT32" }], ["'b'", "INT32", "FP32"]],
    ] as const;
    for (const [inputs, says] of refused) {
      const answer = await ask(app, "POST", "/v2/models/add/infer", { inputs });
      assert.equal(answer.status, 400);
      for (const words of says) assert.ok(errorOf(answer).includes(words), answer.text);
    }
    const { text } = await ask(app, "POST", "/v2/models/add/infer", { inputs: [b, a] });
    assert.ok(text.endsWith('"data":[2.0,4.0,6.0,8.0]}]}'), text);
  }));

Deno.test("the gateway answers a model's own failure, and serves on", () =>
  withGateway(async (app) => {
    const ask_ = (index: number) =>
      ask(app, "POST", "/v2/models/gather/infer", {
        inputs: [{ name: "index", shape: [1], datatype: "INT64", data: [index] }],
      });
    const failed = await ask_(99);
    assert.equal(failed.status, 500);
    assert.equal(failed.headers.get("sluice-error-code"), "execution_failed");
    errorOf(failed);
    assert.ok((await ask_(9)).text.endsWith('"data":[90.0]}]}'));
  }));

Deno.test("the gateway batches, classifies and counts", () =>
  withGateway(async (app) => {
    const one = (rows: number[][]) =>
      ask(app, "POST", "/v2/models/batched/infer", {
        inputs: [{ name: "x", shape: [rows.length, 2], datatype: "FP32", data: rows }],
        outputs: [{ name: "y", parameters: { classification: 1 } }],
      });
    const answers = await Promise.all([one([[1, 2]]), one([[4, 3], [5, 6]])]);
    assert.ok(answers[0].text.endsWith('"shape":[1,1],"data":["4.000000:1:bee"]}]}'));
    assert.ok(
      answers[1].text.endsWith('"shape":[2,1],"data":["8.000000:0:ant","12.000000:1:bee"]}]}'),
    );
    assert.match(
      answers[0].headers.get("server-timing")!,
      /^queue;dur=[\d.]+,compute;dur=[\d.]+,batch;desc=\d+,lane;desc=\d+,policy;desc=".+"$/,
    );
    const { text } = await ask(app, "GET", "/v2/models/batched/stats");
    const [stats] = JSON.parse(text).model_stats;
    assert.equal(stats.inference_count, 3);
    assert.equal(stats.inference_stats.success.count, 2);
    const metadata = JSON.parse((await ask(app, "GET", "/v2/models/batched")).text);
    assert.deepEqual(metadata.inputs[0].shape, [-1, 2]);
    const config = JSON.parse((await ask(app, "GET", "/v2/models/batched/config")).text);
    assert.equal(config.max_batch_size, 4);
    assert.deepEqual(config.input[0].dims, [2]);
  }));

Deno.test("the gateway serves versions, the newest by default", () =>
  withGateway(async (app) => {
    const inputs = [{ name: "x", shape: [1, 1], datatype: "FP32", data: [3] }];
    for (
      const [path, version, value] of [
        ["versions", "2", "6.0"],
        ["versions/versions/1", "1", "3.0"],
        ["versions/versions/02", "2", "6.0"],
      ]
    ) {
      const { text } = await ask(app, "POST", `/v2/models/${path}/infer`, { inputs });
      assert.ok(
        text.includes(`"model_version":"${version}"`) && text.endsWith(`[${value}]}]}`),
        text,
      );
    }
  }));

Deno.test("the gateway shows a broken model, loads an upload, and unloads", () =>
  withGateway(async (app) => {
    const index = async () =>
      JSON.parse((await ask(app, "POST", "/v2/repository/index")).text) as Record<string, string>[];
    const row = async (name: string) => (await index()).find((row) => row.name === name);
    assert.equal((await row("broken"))?.state, "UNAVAILABLE");
    assert.ok((await row("broken"))?.reason);
    assert.equal((await ask(app, "GET", "/v2/health/ready")).status, 200);
    assert.equal((await ask(app, "GET", "/v2/models/broken/ready")).status, 503);

    const upload = {
      parameters: { "file:1/model.onnx": scaleModel(3, ["batch", 1]).toBase64() },
    };
    const load = await ask(app, "POST", "/v2/repository/models/uploaded/load", upload);
    assert.equal(load.status, 200, load.text);
    const inputs = [{ name: "x", shape: [1, 1], datatype: "FP32", data: [3] }];
    const { text } = await ask(app, "POST", "/v2/models/uploaded/infer", { inputs });
    assert.ok(text.endsWith('"data":[9.0]}]}'), text);

    assert.equal((await ask(app, "POST", "/v2/repository/models/uploaded/unload")).status, 200);
    const gone = await ask(app, "POST", "/v2/models/uploaded/infer", { inputs });
    assert.equal(gone.status, 503);
    assert.deepEqual(await row("uploaded"), {
      name: "uploaded",
      version: "1",
      state: "UNAVAILABLE",
      reason: "unloaded",
    });
    for (const name of ["nope", "...", "a%2Fb", "%00"]) {
      const answer = await ask(app, "POST", `/v2/repository/models/${name}/load`);
      assert.ok(answer.status === 404 || answer.status === 400, `${name}: ${answer.text}`);
      errorOf(answer);
      assert.equal((await ask(app, "POST", `/v2/repository/models/${name}/unload`)).status, 200);
    }
  }));

Deno.test("the gateway forgets names whose upload fails, unless the repository has them", () =>
  withGateway(async (app) => {
    const index = async () => (await ask(app, "POST", "/v2/repository/index")).text;
    const before = await index();
    const parameters = { "file:1/model.onnx": new Uint8Array(3).toBase64() };
    for (const name of ["nope", "...", "..%2fx", "a%20b"]) {
      const answer = await ask(app, "POST", `/v2/repository/models/${name}/load`, { parameters });
      assert.equal(answer.status, 400, answer.text);
      assert.equal((await ask(app, "POST", `/v2/models/${name}/infer`, "{}")).status, 404);
    }
    assert.equal(await index(), before);
    await ask(app, "POST", "/v2/repository/models/broken/load", { parameters });
    assert.equal((await ask(app, "POST", "/v2/models/broken/infer", "{}")).status, 503);
  }));
