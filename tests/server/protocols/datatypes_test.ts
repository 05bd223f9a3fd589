import assert from "node:assert/strict";
import fc from "fast-check";
import { type Datatype, DATATYPE_BYTES } from "../../../models/tensor.ts";
import { ask, binaryBody, testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

const DATATYPES = Object.keys(DATATYPE_BYTES) as Datatype[];
const app = testApp({
  engine: fakeEngine(DATATYPES.map((datatype) =>
    fakeModel(
      datatype,
      [{ name: "x", datatype, shape: [-1] }],
      [{ name: "y", datatype, shape: [-1] }],
    )
  )),
});
const path = (datatype: Datatype) => `/v2/models/${datatype}/infer`;
const seeded = { seed: 1, numRuns: 100 };

const bigint = (min: bigint, max: bigint) =>
  fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max, max - 1n));
const integer = (min: number, max: number) =>
  fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max)).map(BigInt);
const bare = fc.constantFrom("NaN", "Infinity", "-Infinity", "-0.0", "5e-324", "1e21", "-1e300");

/** An element's JSON text, as a client writes it, for every datatype that has one. */
const TEXTS: { readonly [datatype in Datatype]?: fc.Arbitrary<string> } = {
  BOOL: fc.boolean().map(String),
  UINT8: integer(0, 255).map(String),
  UINT16: integer(0, 65535).map(String),
  UINT32: integer(0, 4294967295).map(String),
  UINT64: bigint(0n, 2n ** 64n - 1n).map(String),
  INT8: integer(-128, 127).map(String),
  INT16: integer(-32768, 32767).map(String),
  INT32: integer(-2147483648, 2147483647).map(String),
  INT64: bigint(-(2n ** 63n), 2n ** 63n - 1n).map(String),
  FP32: fc.oneof(fc.float({ noNaN: true }).map(String), bare),
  FP64: fc.oneof(fc.double({ noNaN: true }).map(String), bare),
  BYTES: fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
};

/** The value that an element's text stands for, as the datatype holds it. */
const VALUES: { readonly [datatype in Datatype]?: (text: string) => unknown } = {
  FP32: (text) => Math.fround(Number(text)),
  FP64: Number,
  BYTES: (text) => JSON.parse(text),
};

const SPLIT: { readonly [datatype in Datatype]?: (data: string) => string[] } = {
  BYTES: (data) => JSON.parse(data).map((element: string) => JSON.stringify(element)),
};

for (const [name, element] of Object.entries(TEXTS)) {
  const datatype = name as Datatype;
  Deno.test(`infer carries ${datatype} through JSON without a change`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(element, { maxLength: 20 }), async (texts) => {
        const body = `{"inputs":[{"name":"x","shape":[${texts.length}],"datatype":"${datatype}",` +
          `"data":[${texts.join(", ")}]}]}`;
        const { status, text } = await ask(app, "POST", path(datatype), body);
        assert.equal(status, 200, text);
        const data = text.slice(text.indexOf('"data":') + '"data":'.length, -3);
        const split = SPLIT[datatype] ?? ((list) => list.slice(1, -1).split(","));
        const given = data === "[]" ? [] : split(data);
        const value = VALUES[datatype] ?? BigInt;
        const plain = datatype === "BOOL" ? String : value;
        assert.deepEqual(given.map(plain), texts.map(plain));
      }),
      seeded,
    );
  });
}

for (const datatype of DATATYPES) {
  Deno.test(`infer carries ${datatype} through binary bit for bit`, async () => {
    const size = DATATYPE_BYTES[datatype];
    const bytes = size === 0
      ? fc.array(fc.uint8Array({ maxLength: 9 }), { maxLength: 9 }).map((elements) => ({
        count: elements.length,
        data: new Uint8Array(elements.flatMap((element) => [element.length, 0, 0, 0, ...element])),
      }))
      : fc.nat(20).chain((count) =>
        fc.uint8Array({ minLength: count * size, maxLength: count * size })
          .map((data) => ({ count, data: new Uint8Array(data) }))
      );
    await fc.assert(
      fc.asyncProperty(bytes, fc.string(), async ({ count, data }, id) => {
        const { body, headers } = binaryBody({
          id: id.toWellFormed(), // its length moves the data to any alignment
          parameters: { binary_data_output: true },
          inputs: [{
            name: "x",
            shape: [count],
            datatype,
            parameters: { binary_data_size: data.byteLength },
          }],
        }, data);
        const answer = await ask(app, "POST", path(datatype), body, headers);
        assert.equal(answer.status, 200, answer.text);
        const length = answer.headers.get("inference-header-content-length");
        assert.equal(length === null, data.byteLength === 0);
        const given = answer.bytes.subarray(Number(length ?? answer.bytes.byteLength));
        assert.deepEqual(given, data);
        const json = JSON.parse(new TextDecoder().decode(
          answer.bytes.subarray(0, Number(length ?? answer.bytes.byteLength)),
        ));
        assert.deepEqual(json.outputs, [{
          name: "y",
          datatype,
          shape: [count],
          parameters: { binary_data_size: data.byteLength },
        }]);
      }),
      seeded,
    );
  });
}

/** Elements as a client writes them and as the answer must, byte for byte. */
const WRITTEN: readonly (readonly [Datatype, given: string, expected: string])[] = [
  ["FP32", "1", "1.0"],
  ["FP32", "-0.0", "-0.0"],
  ["FP32", "0.1", "0.10000000149011612"],
  ["FP32", "16777217", "16777216.0"],
  ["FP32", "NaN", "NaN"],
  ["FP32", "-Infinity", "-Infinity"],
  ["FP32", "1e39", "Infinity"],
  ["FP64", "0.1", "0.1"],
  ["FP64", "1e20", "100000000000000000000.0"],
  ["FP64", "1e21", "1e21"],
  ["FP64", "-1.5e300", "-1.5e300"],
  ["FP64", "1e-7", "1e-7"],
  ["FP64", "5e-324", "5e-324"],
  ["FP64", "1.7976931348623157e308", "1.7976931348623157e308"],
  ["INT64", "-9007199254740993", "-9007199254740993"],
  ["UINT64", "18446744073709551615", "18446744073709551615"],
  ["BOOL", "true", "true"],
  ["BYTES", '"\\u00e9\\n\\u0000\\"/"', '"é\\n\\u0000\\"/"'],
];

for (const [datatype, given, expected] of WRITTEN) {
  Deno.test(`infer writes ${datatype} ${given} as ${expected}`, async () => {
    const body = `{"inputs":[{"name":"x","shape":[1],"datatype":"${datatype}","data":[${given}]}]}`;
    const { text } = await ask(app, "POST", path(datatype), body);
    assert.ok(text.endsWith(`"data":[${expected}]}]}`), text);
  });
}

Deno.test("infer takes any byte but 0 of a binary BOOL as true", async () => {
  const { body, headers } = binaryBody({
    inputs: [{
      name: "x",
      shape: [3],
      datatype: "BOOL",
      parameters: { binary_data_size: 3 },
    }],
  }, new Uint8Array([0, 1, 255]));
  const { text } = await ask(app, "POST", path("BOOL"), body, headers);
  assert.ok(text.endsWith('"data":[false,true,true]}]}'));
});

Deno.test("infer carries scalars and dimensions of zero", async () => {
  for (const [shape, data, written] of [["[]", "[7]", "[7]"], ["[2,0,3]", "[[],[]]", "[]"]]) {
    const body = `{"inputs":[{"name":"x","shape":${shape},"datatype":"INT32","data":${data}}]}`;
    const { text } = await ask(app, "POST", path("INT32"), body);
    assert.ok(text.endsWith(`"shape":${shape},"data":${written}}]}`), text);
  }
});
