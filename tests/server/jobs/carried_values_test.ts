import assert from "node:assert/strict";
import type { CarriedTensor } from "../../../models/model.ts";
import { carriedValues, firstNotFinite } from "../../../server/jobs/carried_values.ts";
import { fp32, int64 } from "../../fixtures/onnx.ts";
import { descentModel } from "../../fixtures/sequence_models.ts";
import { refused, valuesOf } from "./descent.ts";

const { file: { bytes }, sequence } = descentModel();
const [carried] = sequence!.carry;
const read = (changes: Partial<CarriedTensor>) =>
  carriedValues(bytes!, [{ ...carried, ...changes }], "descent/1");

Deno.test("carriedValues() reads the initialisers of the carried inputs", () => {
  const [w] = read({});
  assert.equal(w.name, "w");
  assert.deepEqual(valuesOf(w), [1, 2, 3, 4]);
});

Deno.test("carriedValues() refuses a file without an initialiser that could be carried", async () => {
  assert.deepEqual(await refused(() => read({ input: "v" })), [
    "invalid_argument",
    "descent/1: initialiser 'v' is missing; expected FP32 of shape [4], as the job carries it",
  ]);
  assert.deepEqual(await refused(() => read({ shape: [2, 2] })), [
    "invalid_argument",
    "descent/1: initialiser 'w' is FP32 of shape [4]; expected FP32 of shape [2,2], as the job carries it",
  ]);
  assert.equal((await refused(() => read({ datatype: "FP64" })))[0], "invalid_argument");
});

Deno.test("firstNotFinite() names a tensor with NaN or an infinity, and leaves integers alone", () => {
  const good = { name: "good", datatype: "FP32" as const, shape: [2], data: fp32([1, 3e38]) };
  const whole = { name: "whole", datatype: "INT64" as const, shape: [1], data: int64([-1]) };
  assert.equal(firstNotFinite([good, whole]), undefined);
  for (const value of [NaN, Infinity, -Infinity]) {
    assert.equal(
      firstNotFinite([good, whole, { ...good, name: "bad", data: fp32([1, value]) }]),
      "bad",
    );
  }
});
