import assert from "node:assert/strict";
import { type JsonTensor, tensorFromJson, tensorToJson } from "../../models/tensor_json.ts";
import type { Tensor } from "../../models/tensor.ts";

Deno.test("tensorFromJson() reads values of every datatype that has a JSON form", () => {
  const cases: [
    datatype: JsonTensor["datatype"],
    data: JsonTensor["data"] & object,
    bytes: number[],
  ][] = [
    ["BOOL", [true, false], [1, 0]],
    ["UINT8", [255], [255]],
    ["UINT16", [258], [2, 1]],
    ["UINT32", [1], [1, 0, 0, 0]],
    ["UINT64", ["18446744073709551615"], Array(8).fill(255)],
    ["INT8", [-1], [255]],
    ["INT16", [-2], [254, 255]],
    ["INT32", [-1], Array(4).fill(255)],
    ["INT64", ["9007199254740993"], [1, 0, 0, 0, 0, 0, 32, 0]],
    ["FP32", [1, "-Infinity"], [0, 0, 128, 63, 0, 0, 128, 255]],
    ["FP64", [1], [0, 0, 0, 0, 0, 0, 240, 63]],
    ["BYTES", ["é"], [2, 0, 0, 0, 0xc3, 0xa9]],
  ];
  for (const [datatype, data, bytes] of cases) {
    const tensor = tensorFromJson({ name: "x", datatype, shape: [data.length], data });
    assert.deepEqual([...tensor.data], bytes, datatype);
  }
});

Deno.test("tensorFromJson() reads back what tensorToJson() writes", () => {
  const tensor: Tensor = {
    name: "x",
    datatype: "FP16",
    shape: [2],
    data: Uint8Array.of(0, 60, 1, 255),
  };
  assert.deepEqual(tensorFromJson(tensorToJson(tensor)), tensor);
});

Deno.test("tensorFromJson() refuses values and sizes that do not fit", () => {
  const refuses = (json: Omit<JsonTensor, "name" | "shape">, message: RegExp) =>
    assert.throws(
      () => tensorFromJson({ name: "x", shape: [1], ...json }),
      { name: "RangeError", message },
    );
  refuses({ datatype: "INT8", data: [128] }, /128 is not in INT8/);
  refuses({ datatype: "UINT64", data: [-1] }, /-1 is not in UINT64/);
  refuses({ datatype: "INT32", data: [1.5] }, /1.5 is no integer/);
  refuses({ datatype: "BOOL", data: [1] }, /1 is neither true nor false/);
  refuses({ datatype: "FP32", data: ["1"] }, /1 is no number/);
  refuses({ datatype: "BYTES", data: [1] }, /1 is no string/);
  refuses({ datatype: "FP16", data: [1] }, /FP16 values have no JSON form; use base64/);
  refuses({ datatype: "FP32", data: [1, 2] }, /has 8 bytes; its datatype and shape need 4/);
  refuses({ datatype: "BYTES", data: ["a", "b"] }, /has 2 elements; its shape has 1/);
  refuses({ datatype: "BYTES", base64: "BQAAAGE=" }, /has a string that breaks off/);
  refuses({ datatype: "FP32" }, /either data or base64/);
  refuses({ datatype: "FP32", data: [1], base64: "AAAAAA==" }, /either data or base64/);
});
