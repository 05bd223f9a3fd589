import assert from "node:assert/strict";
import fc from "fast-check";
import { PbfWriter } from "pbf";
import { SluiceError } from "../../../models/errors.ts";
import { decodeOnnx } from "../../../models/onnx/decode.ts";
import { readInitializers, replaceInitializers } from "../../../models/onnx/initializers.ts";
import type { Datatype, Tensor } from "../../../models/tensor.ts";
import * as fixtures from "../../fixtures/onnx.ts";
import type { Initializer } from "../../fixtures/onnx_writer.ts";
import { refusal } from "../refusal.ts";

function modelWithInitializers(initializers: readonly Initializer[]): Uint8Array<ArrayBuffer> {
  return fixtures.onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: ["n"] }],
    outputs: [{ name: "y", datatype: "FP32", shape: ["n"] }],
    initializers,
    nodes: [{ op: "Identity", inputs: ["x"], outputs: ["y"] }],
  });
}

function fp32Tensor(name: string, shape: readonly number[], values: readonly number[]): Tensor {
  return { name, datatype: "FP32", shape, data: fixtures.fp32(values) };
}

function read(bytes: Uint8Array, ...names: string[]): Tensor[] {
  return [...readInitializers(bytes, new Set(names), "m.onnx").values()];
}

const RAW: Initializer = {
  name: "raw",
  datatype: "FP32",
  shape: [2, 2],
  raw: fixtures.fp32([1, 2, 3, 4]),
};
const TYPED: Initializer = { name: "typed", datatype: "FP32", shape: [3], values: [0.5, -1, 8] };
const MODEL = modelWithInitializers([RAW, TYPED]);

Deno.test("readInitializers() gives those that are wanted and there", () => {
  assert.deepEqual(read(MODEL, "typed", "raw", "y"), [
    fp32Tensor("raw", [2, 2], [1, 2, 3, 4]),
    fp32Tensor("typed", [3], [0.5, -1, 8]),
  ]);
  assert.deepEqual(read(MODEL), []);
});

const TYPED_VALUES: readonly [Datatype, readonly number[], ArrayBufferView<ArrayBuffer>][] = [
  ["FP64", [0.1, -2], new Float64Array([0.1, -2])],
  ["INT64", [-(2 ** 53), 2 ** 40 + 1], new BigInt64Array([-(2n ** 53n), 2n ** 40n + 1n])],
  ["INT32", [-1, 2 ** 31 - 1], new Int32Array([-1, 2 ** 31 - 1])],
  ["INT16", [-300, 300], new Int16Array([-300, 300])],
  ["INT8", [-128, 127], new Int8Array([-128, 127])],
  ["UINT64", [0, 2 ** 53], new BigUint64Array([0n, 2n ** 53n])],
  ["UINT32", [1, 2 ** 32 - 1], new Uint32Array([1, 2 ** 32 - 1])],
  ["UINT16", [0, 65535], new Uint16Array([0, 65535])],
  ["UINT8", [0, 255], new Uint8Array([0, 255])],
  ["BOOL", [1, 0], new Uint8Array([1, 0])],
  ["FP16", [0x3c00, 0xc000], new Float16Array([1, -2])],
  ["BF16", [0x3f80, 0xc000], new Uint16Array([0x3f80, 0xc000])],
];

for (const [datatype, values, expected] of TYPED_VALUES) {
  Deno.test(`readInitializers() reads ${datatype} values from the field of their type`, () => {
    const [tensor] = read(
      modelWithInitializers([{ name: "t", datatype, shape: [2], values }]),
      "t",
    );
    assert.deepEqual(tensor, {
      name: "t",
      datatype,
      shape: [2],
      data: new Uint8Array(expected.buffer),
    });
  });
}

Deno.test("readInitializers() reads scalars and empty tensors", () => {
  const model = modelWithInitializers([
    { name: "scalar", datatype: "FP32", shape: [], values: [7] },
    { name: "empty", datatype: "INT64", shape: [0, 4] },
  ]);
  assert.deepEqual(read(model, "scalar", "empty"), [
    fp32Tensor("scalar", [], [7]),
    { name: "empty", datatype: "INT64", shape: [0, 4], data: new Uint8Array(0) },
  ]);
});

Deno.test("readInitializers() refuses what has no values of its own, if it is wanted", () => {
  const { model } = fixtures.externalDataModel();
  const [external] = decodeOnnx(model, "m.onnx").initializers;
  assert.deepEqual(read(model, "other"), []);
  assert.throws(
    () => read(model, external),
    refusal(
      "unsupported",
      /^m\.onnx: initialiser ".+" keeps its values in another file; expected /,
    ),
  );
  const strings = modelWithInitializers([
    { name: "s", datatype: "BYTES", shape: [1], strings: [new Uint8Array([65])] },
  ]);
  assert.throws(() => read(strings, "s"), refusal("unsupported", /"s" is of BYTES; expected/));
});

Deno.test("readInitializers() refuses a sparse initialiser, if it is wanted", () => {
  const writer = new PbfWriter();
  writer.writeMessage(7, (_, graph) => {
    graph.writeMessage(15, (_, sparse) => {
      sparse.writeMessage(1, (name, values) => values.writeStringField(8, name), "weights");
    }, undefined);
  }, undefined);
  const model = writer.finish();
  assert.deepEqual(read(model, "other"), []);
  assert.throws(() => read(model, "weights"), refusal("unsupported", /"weights" is sparse/));
});

Deno.test("readInitializers() refuses values that do not fill the shape", () => {
  for (
    const broken of [
      { ...RAW, raw: fixtures.fp32([1, 2, 3]) },
      { ...RAW, raw: undefined, values: [1, 2, 3, 4, 5] },
      { ...RAW, shape: [2 ** 40, 2 ** 40] },
      { ...RAW, shape: [-2, -2] },
    ]
  ) {
    assert.throws(
      () => read(modelWithInitializers([broken]), "raw"),
      refusal("invalid_argument", /tensor "raw" has [345] values; expected .* shape \[/),
    );
  }
});

Deno.test("replaceInitializers() changes those values and nothing else", () => {
  const raw = fp32Tensor("raw", [2, 2], [9, 8, 7, 6]);
  const replaced = replaceInitializers(MODEL, [raw], "m.onnx");
  assert.deepEqual(replaced, modelWithInitializers([{ ...RAW, raw: raw.data }, TYPED]));
  const typed = fp32Tensor("typed", [3], [1, 2, 3]);
  const both = replaceInitializers(MODEL, [typed, raw], "m.onnx");
  assert.deepEqual(
    both,
    modelWithInitializers([
      { ...RAW, raw: raw.data },
      { ...TYPED, values: undefined, raw: typed.data },
    ]),
  );
  assert.deepEqual(replaceInitializers(MODEL, [], "m.onnx"), MODEL);
});

Deno.test("replaceInitializers() gives back what readInitializers() read", () => {
  fc.assert(fc.property(
    fc.array(fc.float({ noNaN: true }), { maxLength: 300 }),
    (values) => {
      const shape = [values.length];
      const zeros = { name: "w", datatype: "FP32", shape, raw: new Uint8Array(4 * values.length) };
      const model = modelWithInitializers([RAW, zeros as Initializer, TYPED]);
      const tensor = fp32Tensor("w", shape, values);
      assert.deepEqual(read(replaceInitializers(model, [tensor], "m.onnx"), "w"), [tensor]);
    },
  ));
});

Deno.test("replaceInitializers() refuses what does not fit the file", () => {
  const cases: [Tensor, RegExp][] = [
    [fp32Tensor("none", [1], [1]), /^m\.onnx has no initialiser "none" to replace$/],
    [
      fp32Tensor("raw", [4], [1, 2, 3, 4]),
      /"raw" is FP32 of shape \[2,2\]; given are 16 bytes of FP32 of shape \[4\]$/,
    ],
    [
      { ...fp32Tensor("raw", [2, 2], [1, 2, 3, 4]), datatype: "INT32" },
      /given are 16 bytes of INT32 of shape \[2,2\]$/,
    ],
    [fp32Tensor("raw", [2, 2], [1]), /given are 4 bytes of FP32/],
  ];
  for (const [tensor, expected] of cases) {
    assert.throws(
      () => replaceInitializers(MODEL, [tensor], "m.onnx"),
      refusal("invalid_argument", expected),
    );
  }
});

Deno.test("readInitializers() and replaceInitializers() fail on nothing but with a refusal", () => {
  const tensor = fp32Tensor("raw", [2, 2], [1, 2, 3, 4]);
  const damage = fc.record({ at: fc.nat(MODEL.length - 1), byte: fc.nat(255) });
  fc.assert(
    fc.property(fc.array(damage, { minLength: 1, maxLength: 3 }), (damages) => {
      const damaged = MODEL.slice();
      for (const { at, byte } of damages) damaged[at] = byte;
      try {
        read(damaged, "raw", "typed");
        replaceInitializers(damaged, [tensor], "m.onnx");
      } catch (error) {
        assert.ok(error instanceof SluiceError, String(error));
      }
    }),
    { numRuns: 500 },
  );
});

Deno.test("readInitializers() and replaceInitializers() refuse every truncated file", () => {
  const tensor = fp32Tensor("raw", [2, 2], [1, 2, 3, 4]);
  const names = new Set(["raw", "typed"]);
  let refused = 0;
  for (let length = 0; length < MODEL.length; length++) {
    const head = MODEL.subarray(0, length);
    try {
      readInitializers(head, names, "m.onnx");
      replaceInitializers(head, [tensor], "m.onnx");
    } catch (error) {
      assert.ok(error instanceof SluiceError, String(error));
      assert.equal(error.code, "invalid_argument");
      refused++;
    }
  }
  // What is cut off between two fields is a shorter file, which only a missing initialiser tells.
  assert.ok(refused > MODEL.length * 0.9, `${refused} of ${MODEL.length}`);
});
