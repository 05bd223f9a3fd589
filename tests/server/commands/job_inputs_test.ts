import assert from "node:assert/strict";
import type { Datatype } from "../../../models/tensor.ts";
import { readInputs } from "../../../server/commands/job_inputs.ts";

function read(datatype: Datatype, shape: readonly number[], text: string) {
  return readInputs([`x=${text}`], "m", { inputs: [{ name: "x", datatype, shape }] })[0];
}

Deno.test("readInputs() gives values the datatype and shape that the model declares", () => {
  assert.deepEqual(read("FP32", [], "0.1"), {
    name: "x",
    datatype: "FP32",
    shape: [],
    data: [0.1],
  });
  assert.deepEqual(read("INT64", [2], "3,-4").data, [3, -4]);
  assert.deepEqual(read("BOOL", [2], "true,false").data, [true, false]);
  assert.deepEqual(read("BYTES", [2], "a=b,").data, ["a=b", ""]);
});

Deno.test("readInputs() lets the first free dimension take what there is", () => {
  assert.deepEqual(read("FP32", [-1], "1,2,3").shape, [3]);
  assert.deepEqual(read("FP32", [-1, 2], "1,2,3,4").shape, [2, 2]);
  assert.deepEqual(read("FP32", [2, -1, -1], "1,2,3,4,5").shape, [2, 3, 1]);
});

Deno.test("readInputs() refuses values that the datatype does not have", () => {
  const refused: readonly [Datatype, string, string][] = [
    ["FP32", "one", "a number"],
    ["FP32", "", "a number"],
    ["FP64", "Infinity", "a number"],
    ["INT32", "0.5", "a whole number"],
    ["UINT8", "9007199254740993", "a whole number"],
    ["BOOL", "1", "true or false"],
  ];
  for (const [datatype, text, expected] of refused) {
    assert.throws(() => read(datatype, [1], text), {
      name: "UsageError",
      message: `--input gives x the value "${text}"; expected ${expected}`,
    });
  }
});

Deno.test("readInputs() names what a model without inputs has", () => {
  assert.throws(() => readInputs(["x=1"], "m", { inputs: [] }), {
    message: '--input names "x"; m has no inputs',
  });
});
