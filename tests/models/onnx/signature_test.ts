import assert from "node:assert/strict";
import { decodeOnnx } from "../../../models/onnx/decode.ts";
import { isDynamicallyQuantised, signatureOf } from "../../../models/onnx/signature.ts";
import { type Datatype, DATATYPE_BYTES } from "../../../models/tensor.ts";
import * as fixtures from "../../fixtures/onnx.ts";
import { refusal } from "../refusal.ts";

function signature(bytes: Uint8Array<ArrayBuffer>) {
  return signatureOf(decodeOnnx(bytes, "m.onnx"), "m.onnx");
}

Deno.test("signatureOf() gives every datatype of the protocol", () => {
  for (const datatype of Object.keys(DATATYPE_BYTES) as Datatype[]) {
    const { inputs, outputs } = signature(fixtures.identityModel(datatype, [2, "n", ""]));
    const expected = { datatype, shape: [2, -1, -1], dimNames: [undefined, "n", undefined] };
    assert.deepEqual(inputs, [{ name: "x", ...expected }]);
    assert.deepEqual(outputs, [{ name: "y", ...expected }]);
  }
});

Deno.test("signatureOf() marks an input with an initializer as optional since format version 4", () => {
  const { inputs } = signature(fixtures.optionalInputModel(8));
  assert.deepEqual(inputs.map(({ name, optional }) => [name, optional]), [
    ["x", undefined],
    ["k", true],
  ]);
});

Deno.test("signatureOf() takes initializers of older files for the constants they are", () => {
  assert.deepEqual(signature(fixtures.optionalInputModel(3)).inputs.map(({ name }) => name), ["x"]);
});

Deno.test("signatureOf() serves tensor outputs and names the others", () => {
  const { outputs, notServed } = signature(fixtures.sequenceOutputModel());
  assert.deepEqual(outputs.map(({ name }) => name), ["y"]);
  assert.deepEqual(notServed, ["parts"]);
});

Deno.test("signatureOf() refuses a model without any tensor output", () => {
  assert.throws(
    () => signature(fixtures.sequenceOutputModel(false)),
    refusal("invalid_argument", /no tensor output \("parts" is a sequence\)$/),
  );
});

Deno.test("signatureOf() refuses a model whose input is no tensor", () => {
  const model = fixtures.onnxModel({
    inputs: [{ name: "m", datatype: "FP32", shape: [1], kind: "map" }],
    outputs: [{ name: "y", datatype: "FP32", shape: [1] }],
    nodes: [],
  });
  assert.throws(() => signature(model), refusal("invalid_argument", /input "m" is a map/));
});

Deno.test("signatureOf() marks a tensor without any shape as unranked", () => {
  const model = fixtures.onnxModel({
    inputs: [],
    outputs: [{ name: "y", datatype: "FP32" }],
    nodes: [],
  });
  assert.deepEqual(signature(model).outputs, [
    { name: "y", datatype: "FP32", shape: [], unranked: true },
  ]);
});

Deno.test("isDynamicallyQuantised() is true when a scale is taken over the batch", () => {
  assert.equal(isDynamicallyQuantised(decodeOnnx(fixtures.quantisedModel(), "q.onnx")), true);
  assert.equal(isDynamicallyQuantised(decodeOnnx(fixtures.scaleModel(), "s.onnx")), false);
});
