import assert from "node:assert/strict";
import { repeated, trialsOf } from "../../../models/cpu/trial.ts";
import type { Tensor } from "../../../models/tensor.ts";
import { identityModel, int64, optionalInputModel, scalarInputModel } from "../../fixtures/onnx.ts";
import { descentModel, recurrentModel } from "../../fixtures/sequence_models.ts";
import { fp32Tensor, fp32Values, modelOf } from "../../conformance/device_models.ts";

Deno.test("trialsOf() puts each sample in the model's order", () => {
  const x = fp32Tensor("x", [1, 4], [1, 2, 3, 4]);
  const rate = fp32Tensor("rate", [], [5]);
  const model = modelOf("scalar", scalarInputModel(), { samples: [[rate, x], [x, rate]] });
  assert.deepEqual(trialsOf(model).map((trial) => trial.inputs), [[x, rate], [x, rate]]);
});

Deno.test("trialsOf() makes zeros where a model has no samples, without its optional inputs", () => {
  const [numbers] = trialsOf(modelOf("optional", optionalInputModel()));
  assert.deepEqual(numbers.inputs, [fp32Tensor("x", [1, 4], [0, 0, 0, 0])]);
  const strings = trialsOf(modelOf("strings", identityModel("BYTES", ["n", 2])));
  const empty = (n: number): Tensor => (
    { name: "x", datatype: "BYTES", shape: [n, 2], data: new Uint8Array(8 * n) }
  );
  assert.deepEqual(strings.map(({ inputs }) => inputs), [[empty(1)], [empty(8)]]);
});

Deno.test("repeated() joins a trial to itself along the batch axis alone", () => {
  const samples = [[fp32Tensor("x", [1, 4], [1, 2, 3, 4]), fp32Tensor("rate", [], [5])]];
  const model = modelOf("scalar", scalarInputModel(), { samples });
  const { inputs } = repeated(trialsOf(model)[0], 3, model);
  assert.deepEqual(inputs.map((input) => input.shape), [[3, 4], []]);
  assert.deepEqual(fp32Values(inputs[0]), [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]);
});

Deno.test("repeated() joins what sequences carry over along its own batch axis", () => {
  const index: Tensor = { name: "index", datatype: "INT64", shape: [1], data: int64([7]) };
  const memory = fp32Tensor("memory", [2, 1, 3], [1, 2, 3, 4, 5, 6]);
  const last = { ...index, name: "last" };
  const model = { ...recurrentModel(), samples: [[index, memory, last]] };
  const { inputs } = repeated(trialsOf(model)[0], 2, model);
  assert.deepEqual(inputs.map(({ shape }) => shape), [[2], [2, 2, 3], [2]]);
  assert.deepEqual(inputs[0].data, int64([7, 7]));
  assert.deepEqual(fp32Values(inputs[1]), [1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6]);
});

Deno.test("trialsOf() has what sequences carry over, left out or not", () => {
  const rate = fp32Tensor("rate", [], [1]);
  const w = fp32Tensor("w", [4], [0, 0, 0, 0]);
  const model = descentModel();
  assert.deepEqual(trialsOf({ ...model, samples: [[rate]] })[0].inputs, [rate, w]);
  assert.deepEqual(trialsOf(model)[0].inputs, [{ ...rate, data: new Uint8Array(4) }, w]);
});
