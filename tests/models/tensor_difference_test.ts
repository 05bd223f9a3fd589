import assert from "node:assert/strict";
import { relativeDifference } from "../../models/tensor_difference.ts";

const fp32 = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer);
const bits16 = (...values: number[]) => new Uint8Array(Uint16Array.from(values).buffer);

Deno.test("relativeDifference() compares with the largest value", () => {
  assert.equal(relativeDifference("FP32", fp32(1, -8), fp32(1, -8)), 0);
  assert.equal(relativeDifference("FP32", fp32(1, -8), fp32(2, -8)), 1 / 8);
  assert.equal(relativeDifference("FP32", fp32(0), fp32(4)), 1);
  assert.equal(relativeDifference("FP32", fp32(), fp32()), 0);
});

Deno.test("relativeDifference() reads FP16, BF16 and FP64, at any offset", () => {
  assert.equal(relativeDifference("FP16", bits16(0x3c00), bits16(0x4000)), 0.5);
  assert.equal(relativeDifference("BF16", bits16(0x3f80), bits16(0x4000)), 0.5);
  const fp64 = (value: number) => new Uint8Array(Float64Array.of(value).buffer);
  assert.equal(relativeDifference("FP64", fp64(3), fp64(4)), 0.25);
  const shifted = new Uint8Array(5);
  shifted.set(fp32(2), 1);
  assert.equal(relativeDifference("FP32", shifted.subarray(1), fp32(4)), 0.5);
});

Deno.test("relativeDifference() takes NaN as equal to NaN, and other infinities as different", () => {
  assert.equal(relativeDifference("FP32", fp32(NaN, Infinity, 1), fp32(NaN, Infinity, 1)), 0);
  assert.equal(relativeDifference("FP32", fp32(NaN), fp32(1)), Infinity);
  assert.equal(relativeDifference("FP32", fp32(Infinity), fp32(-Infinity)), Infinity);
});

Deno.test("relativeDifference() allows nothing else to differ, nor lengths", () => {
  assert.equal(relativeDifference("INT8", Uint8Array.of(1, 2), Uint8Array.of(1, 2)), 0);
  assert.equal(relativeDifference("INT8", Uint8Array.of(1, 2), Uint8Array.of(1, 3)), Infinity);
  assert.equal(relativeDifference("FP32", fp32(1), fp32(1, 2)), Infinity);
});
