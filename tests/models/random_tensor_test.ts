import assert from "node:assert/strict";
import { randomTensor } from "../../models/random_tensor.ts";
import { byteLength, type Datatype, DATATYPE_BYTES } from "../../models/tensor.ts";

/** Gives the numbers by turns. */
function cycling(...numbers: number[]): () => number {
  let i = 0;
  return () => numbers[i++ % numbers.length];
}

Deno.test("randomTensor() fills a tensor of every datatype", () => {
  for (const datatype of Object.keys(DATATYPE_BYTES) as Datatype[]) {
    const { name, shape, data } = randomTensor(
      { name: "x", datatype, shape: [2, 3] },
      cycling(0.1, 0.9),
    );
    assert.deepEqual([name, shape], ["x", [2, 3]]);
    assert.equal(data.length, datatype === "BYTES" ? 6 * 8 : byteLength(datatype, [2, 3]));
    assert.ok(new Set(data).size > 1, datatype);
  }
});

Deno.test("randomTensor() gives reals in [-1, 1) and integers from 0 to 7", () => {
  const spec = (datatype: Datatype) => ({ name: "x", datatype, shape: [3] });
  const numbers = () => cycling(0, 0.5, 0.999);
  const view = (datatype: Datatype) =>
    new DataView(randomTensor(spec(datatype), numbers()).data.buffer);
  assert.deepEqual([0, 4, 8].map((at) => view("FP32").getFloat32(at, true)), [
    -1,
    0,
    Math.fround(0.998),
  ]);
  assert.deepEqual([0, 2].map((at) => view("FP16").getFloat16(at, true)), [-1, 0]);
  assert.deepEqual([0, 2].map((at) => view("BF16").getUint16(at, true)), [0xbf80, 0]);
  assert.deepEqual([0, 8, 16].map((at) => view("INT64").getBigInt64(at, true)), [0n, 4n, 7n]);
  assert.deepEqual([...randomTensor(spec("BOOL"), numbers()).data], [0, 1, 1]);
});
