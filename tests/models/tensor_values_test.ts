import assert from "node:assert/strict";
import { DATATYPE_BYTES, isDatatype } from "../../models/tensor.ts";
import { isNumeric, isReal, NUMERIC_DATATYPES, readNumbers } from "../../models/tensor_values.ts";

/** Two values of each datatype, little-endian. */
const VALUES = {
  UINT8: [[1, 255], [1, 255]],
  INT8: [[1, 255], [1, -1]],
  UINT16: [[1, 0, 0xff, 0xff], [1, 65535]],
  INT16: [[1, 0, 0xff, 0xff], [1, -1]],
  UINT32: [[1, 0, 0, 0, 255, 255, 255, 255], [1, 4294967295]],
  INT32: [[1, 0, 0, 0, 255, 255, 255, 255], [1, -1]],
  UINT64: [[1, 0, 0, 0, 0, 0, 0, 0, ...Array(8).fill(255)], [1n, 2n ** 64n - 1n]],
  INT64: [[1, 0, 0, 0, 0, 0, 0, 0, ...Array(8).fill(255)], [1n, -1n]],
  FP16: [[0, 0x3c, 0, 0xc0], [1, -2]],
  BF16: [[0x80, 0x3f, 0, 0xc0], [1, -2]],
  FP32: [[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0], [1, -2]],
  FP64: [[0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0], [1, -2]],
} as const;

for (const [datatype, [bytes, values]] of Object.entries(VALUES)) {
  Deno.test(`readNumbers() reads ${datatype} at any offset`, () => {
    assert.ok(isDatatype(datatype) && isNumeric(datatype));
    for (const offset of [0, 1]) {
      const data = Uint8Array.from([...Array(offset).fill(9), ...bytes]).subarray(offset);
      assert.deepEqual([...readNumbers(datatype, data)], values);
    }
  });
}

Deno.test("isNumeric() and isReal() tell the datatypes with an order, and those of real numbers", () => {
  const all = Object.keys(DATATYPE_BYTES).filter(isDatatype);
  assert.deepEqual(all.filter((datatype) => !isNumeric(datatype)), ["BOOL", "BYTES"]);
  assert.deepEqual(all.filter(isReal), ["FP16", "BF16", "FP32", "FP64"]);
  assert.deepEqual(NUMERIC_DATATYPES, all.filter(isNumeric));
});
