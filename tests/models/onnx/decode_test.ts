import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { SluiceError } from "../../../models/errors.ts";
import { decodeOnnx, decodeOnnxFile } from "../../../models/onnx/decode.ts";
import { readSkeleton } from "../../../models/onnx/skeleton.ts";
import * as fixtures from "../../fixtures/onnx.ts";
import { repositoryWith } from "../../fixtures/repository.ts";
import { refusal } from "../refusal.ts";

Deno.test("decodeOnnx() reads versions, inputs, outputs, initializers and operators", () => {
  const file = decodeOnnx(fixtures.gatherModel(), "gather.onnx");
  assert.equal(file.irVersion, 8);
  assert.deepEqual([...file.opsets], [["", 17]]);
  assert.deepEqual(file.inputs, [
    { name: "index", kind: "tensor", elementType: 7, dims: ["batch"] },
  ]);
  assert.deepEqual(file.outputs, [
    { name: "value", kind: "tensor", elementType: 1, dims: ["batch"] },
  ]);
  assert.deepEqual([...file.initializers], ["table"]);
  assert.deepEqual([...file.operators], ["Gather"]);
  assert.deepEqual([...file.externalData], []);
});

Deno.test("decodeOnnx() names operators of other domains with their domain", () => {
  const model = fixtures.onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: [1] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [1] }],
    nodes: [
      { op: "Gelu", domain: "com.microsoft", inputs: ["x"], outputs: ["h"] },
      { op: "Relu", domain: "ai.onnx", inputs: ["h"], outputs: ["y"] },
    ],
    domains: { "com.microsoft": 1 },
  });
  const file = decodeOnnx(model, "m.onnx");
  assert.deepEqual([...file.operators], ["com.microsoft:Gelu", "Relu"]);
  assert.deepEqual([...file.opsets], [["", 17], ["com.microsoft", 1]]);
});

Deno.test("decodeOnnx() finds external data of the graph and of nested graphs", () => {
  const { model } = fixtures.externalDataModel("data/weights.bin");
  assert.deepEqual([...decodeOnnx(model, "m.onnx").externalData], ["data/weights.bin"]);
  const nested = fixtures.branchModel({ location: "branches.bin" });
  assert.deepEqual([...decodeOnnx(nested, "m.onnx").externalData], ["branches.bin"]);
});

Deno.test("decodeOnnx() tells a free rank, an unnamed free dimension and a scalar apart", () => {
  const model = fixtures.onnxModel({
    inputs: [
      { name: "anyRank", datatype: "FP32" },
      { name: "unnamed", datatype: "FP32", shape: ["", -1, 3] },
      { name: "scalar", datatype: "FP32", shape: [] },
    ],
    outputs: [{ name: "y", datatype: "FP32", shape: [0] }],
    nodes: [],
  });
  const file = decodeOnnx(model, "m.onnx");
  assert.deepEqual(file.inputs.map((input) => input.dims), [undefined, ["", "", 3], []]);
  assert.deepEqual(file.outputs[0].dims, [0]);
});

Deno.test("decodeOnnx() copies no weights", () => {
  const model = fixtures.heavyModel(2 ** 24);
  const before = Deno.memoryUsage().external;
  decodeOnnx(model, "heavy.onnx");
  assert.ok(Deno.memoryUsage().external - before < 2 ** 20);
});

Deno.test("decodeOnnx() refuses what is no ONNX file, naming the file and the fault", () => {
  const refuses = (bytes: Uint8Array<ArrayBuffer>, message: RegExp) =>
    assert.throws(() => decodeOnnx(bytes, "x/1/model.onnx"), refusal("invalid_argument", message));
  refuses(new Uint8Array(), /^x\/1\/model\.onnx .* it is empty$/);
  refuses(new TextEncoder().encode("version https://git-lfs\noid sha256:1\n"), /it is text$/);
  refuses(new Uint8Array(100), /has a field numbered 0$/);
  refuses(Uint8Array.of(0x08, 0x08), /it has no graph$/);
  refuses(Uint8Array.of(0x3a, 0x00), /it has no ir_version/);
  refuses(Uint8Array.of(0x3a, 0x05, 0x01), /announces 5 bytes at offset 2 and has 1$/);
  refuses(Uint8Array.of(0x0b), /wire type 3$/);
  refuses(Uint8Array.of(0x0a, 0x00), /wire type 2 where an integer was expected$/);
});

Deno.test("decodeOnnx() refuses graphs that nest without end", () => {
  let bytes = new Uint8Array();
  const wrap = (tag: number, inner: Uint8Array) => {
    const length = [];
    for (let n = inner.length;; n >>>= 7) {
      length.push(n > 0x7f ? (n & 0x7f) | 0x80 : n);
      if (n <= 0x7f) break;
    }
    return Uint8Array.from([tag << 3 | 2, ...length, ...inner]);
  };
  // Graph -> node -> attribute -> graph ...
  for (let depth = 0; depth < 200; depth++) bytes = wrap(1, wrap(5, wrap(6, bytes)));
  const model = Uint8Array.from([0x08, 0x08, ...wrap(7, bytes)]);
  assert.throws(
    () => decodeOnnx(model, "m.onnx"),
    refusal("invalid_argument", /graphs are nested more than 64 deep$/),
  );
});

Deno.test("decodeOnnx() refuses a file cut off anywhere, or gives the same as for the whole", () => {
  const whole = fixtures.branchModel();
  const expected = decodeOnnx(whole, "m.onnx");
  for (let length = 0; length < whole.length; length++) {
    try {
      const file = decodeOnnx(fixtures.truncated(whole, length), "m.onnx");
      // Only what follows the graph can be missing without notice.
      assert.deepEqual(file.operators, expected.operators);
    } catch (error) {
      assert.ok(error instanceof SluiceError, `at ${length}: ${error}`);
    }
  }
});

Deno.test("decodeOnnx() fails in no other way on damaged files", () => {
  const whole = fixtures.branchModel();
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }),
      (damages) => {
        const bytes = whole.slice();
        for (const [at, value] of damages) bytes[at] = value;
        try {
          decodeOnnx(bytes, "m.onnx");
        } catch (error) {
          assert.ok(error instanceof SluiceError, String(error));
        }
      },
    ),
    { seed: 1, numRuns: 2000 },
  );
});

Deno.test("decodeOnnxFile() finds in a file on disk what decodeOnnx() finds in memory", async () => {
  const models = [
    fixtures.mlpModel(),
    fixtures.branchModel(),
    fixtures.externalDataModel().model,
    fixtures.identityModel("BYTES"),
    fixtures.sequenceOutputModel(),
    fixtures.quantisedModel(),
  ];
  for (const model of models) {
    await using folder = await repositoryWith({ "m.onnx": model });
    const file = await decodeOnnxFile(join(folder.path, "m.onnx"), "m.onnx");
    assert.deepEqual(file, decodeOnnx(model, "m.onnx"));
  }
});

Deno.test("decodeOnnxFile() refuses what decodeOnnx() refuses, with the same words", async () => {
  const whole = fixtures.mlpModel(1, [8, 4]);
  const broken = [
    new Uint8Array(),
    new TextEncoder().encode("not a model"),
    new Uint8Array(100),
    Uint8Array.of(0x0b),
    Uint8Array.of(0x3a, 0x00),
    ...[1, 2, 20, 50, 100, whole.length - 1].map((n) => fixtures.truncated(whole, n)),
  ];
  for (const bytes of broken) {
    await using folder = await repositoryWith({ "m.onnx": bytes });
    let expected: unknown;
    assert.throws(() => decodeOnnx(bytes, "m.onnx"), (error) => {
      expected = error;
      return true;
    });
    await assert.rejects(
      decodeOnnxFile(join(folder.path, "m.onnx"), "m.onnx"),
      { name: "SluiceError", message: (expected as Error).message },
    );
  }
});

Deno.test("readSkeleton() leaves the weights on disk", async () => {
  await using folder = await repositoryWith({ "m.onnx": fixtures.heavyModel(2 ** 22) });
  using file = await Deno.open(join(folder.path, "m.onnx"));
  const skeleton = await readSkeleton(file);
  assert.ok(skeleton.length < 200, `${skeleton.length} bytes`);
});
