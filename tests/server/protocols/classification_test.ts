import assert from "node:assert/strict";
import fc from "fast-check";
import { TextFramer, unframeElements } from "../../../models/bytes_elements.ts";
import type { Datatype } from "../../../models/tensor.ts";
import {
  classificationOf,
  classify,
} from "../../../server/protocols/open_inference/classification.ts";
import { largest } from "../../../server/protocols/open_inference/largest.ts";
import { ask, binaryBody, errorOf, testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

const model = (shape: readonly number[], maxBatchSize = 0, datatype: Datatype = "FP32") =>
  fakeModel(
    "classes",
    [{ name: "x", datatype, shape }],
    [{ name: "y", datatype, shape }],
    { maxBatchSize, labels: new Map([["y", ["ant", "bee"]]]) },
  );

const tensor = (datatype: Datatype, shape: readonly number[], values: ArrayBufferView) => ({
  name: "y",
  datatype,
  shape,
  data: new Uint8Array(values.buffer as ArrayBuffer),
});

const texts = (data: Uint8Array<ArrayBuffer>) =>
  unframeElements(data)?.map((element) => new TextDecoder().decode(element));

Deno.test("classify() gives the largest values of every row, with labels where there are any", () => {
  const values = new Float32Array([0.1, 0.636409, 0.2, 3, 2, 1]);
  const how = classificationOf(model([-1, 3], 8), 0, 2);
  const { shape, datatype, data } = classify(tensor("FP32", [2, 3], values), how);
  assert.equal(datatype, "BYTES");
  assert.deepEqual(shape, [2, 2]);
  assert.deepEqual(texts(data), [
    "0.636409:1:bee",
    "0.200000:2",
    "3.000000:0:ant",
    "2.000000:1:bee",
  ]);
});

Deno.test("classify() takes a tensor without a batch as one row, and no more than it has", () => {
  const values = new Float32Array([1, 2]);
  const { shape, data } = classify(
    tensor("FP32", [2], values),
    classificationOf(model([2]), 0, 9),
  );
  assert.deepEqual(shape, [2]);
  assert.deepEqual(texts(data), ["2.000000:1:bee", "1.000000:0:ant"]);
});

Deno.test("classify() reads every numeric datatype as it is", () => {
  const cases: readonly (readonly [Datatype, ArrayBufferView, string])[] = [
    ["INT8", new Int8Array([-2, -1]), "-1:1:bee"],
    ["UINT8", new Uint8Array([0, 255]), "255:1:bee"],
    ["INT64", new BigInt64Array([0n, 2n ** 62n]), "4611686018427387904:1:bee"],
    ["FP16", new Float16Array([0, 0.5]), "0.500000:1:bee"],
    ["BF16", new Uint16Array([0, 0x3f80]), "1.000000:1:bee"],
    ["FP64", new Float64Array([-Infinity, 1e25]), "10000000000000000905969664.000000:1:bee"],
    ["FP32", new Float32Array([NaN, -0]), "-0.000000:1:bee"],
  ];
  for (const [datatype, values, expected] of cases) {
    const { data } = classify(
      tensor(datatype, [2], values),
      classificationOf(model([2], 0, datatype), 0, 1),
    );
    assert.deepEqual(texts(data), [expected], datatype);
  }
});

const request = (classes: unknown, datatype: string, data: unknown) => ({
  inputs: [{ name: "x", shape: [1, 3], datatype, data }],
  outputs: [{ name: "y", parameters: { classification: classes } }],
});

Deno.test("infer answers a classification as BYTES", async () => {
  const app = testApp({ engine: fakeEngine([model([-1, 3], 8)]) });
  const { text } = await ask(
    app,
    "POST",
    "/v2/models/classes/infer",
    request(1, "FP32", [1, 3, 2]),
  );
  assert.ok(
    text.endsWith('[{"name":"y","datatype":"BYTES","shape":[1,1],"data":["3.000000:1:bee"]}]}'),
  );
  const off = await ask(app, "POST", "/v2/models/classes/infer", request(0, "FP32", [1, 3, 2]));
  assert.ok(off.text.endsWith('"datatype":"FP32","shape":[1,3],"data":[1.0,3.0,2.0]}]}'));
});

Deno.test("infer classifies large outputs in a Worker, with labels and in binary", async () => {
  const count = 6000;
  const values = Float32Array.from({ length: count }, (_, i) => -i);
  const { body, headers } = binaryBody({
    inputs: [{
      name: "x",
      shape: [1, count],
      datatype: "FP32",
      parameters: { binary_data_size: count * 4 },
    }],
    outputs: [{ name: "y", parameters: { classification: 2, binary_data: true } }],
  }, new Uint8Array(values.buffer));
  await using app = testApp({ engine: fakeEngine([model([-1, -1], 8)]) });
  const { bytes, headers: answered } = await ask(
    app,
    "POST",
    "/v2/models/classes/infer",
    body,
    headers,
  );
  const jsonBytes = Number(answered.get("inference-header-content-length"));
  assert.deepEqual(texts(bytes.slice(jsonBytes)), ["-0.000000:0:ant", "-1.000000:1:bee"]);
});

Deno.test("infer refuses a classification of what has no order", async () => {
  for (
    const [datatype, data] of [["BYTES", ["a", "b", "c"]], ["BOOL", [true, false, true]]] as const
  ) {
    const app = testApp({ engine: fakeEngine([model([-1, 3], 8, datatype)]) });
    const answer = await ask(app, "POST", "/v2/models/classes/infer", request(1, datatype, data));
    assert.equal(answer.status, 400);
    assert.ok(errorOf(answer).includes(datatype));
  }
});

Deno.test("largest() gives the places that sorting all values gives, NaN last", () => {
  const value = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(NaN, -0, Infinity));
  const row = fc.array(value, { maxLength: 40 });
  fc.assert(fc.property(row, row, fc.nat(40), (before, row, count) => {
    const places = row.map((_, i) => before.length + i);
    const values = Float64Array.from([...before, ...row, 9]);
    const order = (a: number, b: number) =>
      Number(isNaN(values[a])) - Number(isNaN(values[b])) ||
      (values[a] < values[b] ? 1 : values[a] > values[b] ? -1 : a - b);
    const wanted = Math.min(count, row.length);
    assert.deepEqual(
      [...largest(values, before.length, row.length, wanted)],
      places.sort(order).slice(0, wanted),
    );
  }));
});

Deno.test("TextFramer frames any texts, one after the other", () => {
  fc.assert(fc.property(fc.array(fc.string({ unit: "binary", maxLength: 700 })), (given) => {
    const framer = new TextFramer();
    for (const text of given) framer.add(text);
    assert.deepEqual(texts(framer.data()), given);
  }));
});

Deno.test("classify() puts all values in order where more are asked for", () => {
  const count = 2 ** 15;
  const values = Int32Array.from({ length: count }, (_, i) => Math.imul(i, 0x9e3779b1));
  const { shape, data } = classify(
    tensor("INT32", [count], values),
    { classes: 1e9, byRow: false },
  );
  assert.deepEqual(shape, [count]);
  const given = texts(data)!.map((text) => text.split(":").map(Number));
  assert.ok(
    given.every(([value, place], i) =>
      value === values[place] && (i === 0 || value < given[i - 1][0])
    ),
  );
});
