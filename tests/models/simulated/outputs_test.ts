import assert from "node:assert/strict";
import fc from "fast-check";
import type { Step } from "../../../models/device.ts";
import { SluiceError } from "../../../models/errors.ts";
import { computeOutputs, outputShapes } from "../../../models/simulated/outputs.ts";
import {
  byteLength,
  type Datatype,
  DATATYPE_BYTES,
  elementCount,
  type TensorSpec,
} from "../../../models/tensor.ts";
import { modelOf, signatureOf } from "./fixtures.ts";

const DATATYPES = Object.keys(DATATYPE_BYTES) as Datatype[];

/** A BYTES piece: every element with its length in front. */
function bytesPiece(elements: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const piece = new Uint8Array(elements.reduce((sum, element) => sum + 4 + element.length, 0));
  const view = new DataView(piece.buffer);
  let offset = 0;
  for (const element of elements) {
    view.setUint32(offset, element.length, true);
    piece.set(element, offset + 4);
    offset += 4 + element.length;
  }
  return piece;
}

/** Elements of a BYTES tensor, and that nothing is left over. */
function readBytes(data: Uint8Array<ArrayBuffer>): Uint8Array[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const elements: Uint8Array[] = [];
  let offset = 0;
  while (offset < data.length) {
    const length = view.getUint32(offset, true);
    elements.push(data.slice(offset + 4, offset + 4 + length));
    offset += 4 + length;
  }
  assert.equal(offset, data.length);
  return elements;
}

const row = (input: Datatype, width: number): fc.Arbitrary<Uint8Array<ArrayBuffer>> =>
  input === "BYTES"
    ? fc.array(fc.uint8Array({ maxLength: 9 }), { minLength: width, maxLength: width })
      .map(bytesPiece)
    : fc.uint8Array({
      minLength: byteLength(input, [width]),
      maxLength: byteLength(input, [width]),
    }).map((bytes) => new Uint8Array(bytes));

for (const datatype of DATATYPES) {
  Deno.test(`computeOutputs() answers every row of ${datatype} as if it were alone`, () => {
    const spec = (name: string, of: Datatype, width: number): TensorSpec => ({
      name,
      datatype: of,
      shape: [-1, width],
    });
    fc.assert(
      fc.property(
        fc.record({ width: fc.integer({ min: 1, max: 4 }), rows: fc.integer({ min: 1, max: 5 }) })
          .chain(({ width, rows }) =>
            fc.record({
              width: fc.constant(width),
              pieces: fc.array(row(datatype, width), { minLength: rows, maxLength: rows }),
            })
          ),
        ({ width, pieces }) => {
          const outputs = DATATYPES.map((of) => spec(`as_${of}`, of, 3));
          const model = modelOf("m", [spec("x", datatype, width)], [
            spec("same", datatype, width),
            ...outputs,
          ]);
          const step = (rows: readonly Uint8Array<ArrayBuffer>[]): Step => ({
            signature: signatureOf([{ name: "x", datatype, shape: [rows.length, width] }]),
            rows: rows.length,
            inputs: [rows],
          });
          const together = computeOutputs(model, step(pieces));
          const alone = pieces.map((piece) => computeOutputs(model, step([piece])));
          together.forEach((tensor, index) => {
            const joined = alone.map((outputs) => outputs[index].data);
            assert.deepEqual(tensor.shape[0], pieces.length);
            assert.deepEqual([...tensor.data], joined.flatMap((data) => [...data]), tensor.name);
            if (tensor.datatype !== "BYTES") {
              assert.equal(tensor.data.length, byteLength(tensor.datatype, tensor.shape));
            } else {
              assert.equal(readBytes(tensor.data).length, elementCount(tensor.shape));
            }
          });
          assert.deepEqual(together[0].data, new Uint8Array(pieces.flatMap((piece) => [...piece])));
        },
      ),
      { numRuns: 25, seed: 1 },
    );
  });
}

Deno.test("computeOutputs() gives different rows different answers, and finite floats", () => {
  const model = modelOf("m", [{ name: "x", datatype: "INT64", shape: [-1, 1] }], [
    { name: "score", datatype: "FP32", shape: [-1, 4] },
    { name: "label", datatype: "BYTES", shape: [-1] },
    { name: "flag", datatype: "BOOL", shape: [-1, 8] },
  ]);
  const pieces = Array.from(
    { length: 20 },
    (_, index) => new Uint8Array(new BigInt64Array([BigInt(index)]).buffer),
  );
  const [score, label, flag] = computeOutputs(model, {
    signature: signatureOf([{ name: "x", datatype: "INT64", shape: [20, 1] }]),
    rows: 20,
    inputs: [pieces],
  });
  const floats = new Float32Array(score.data.buffer);
  assert.equal(new Set(floats).size, 80);
  assert.ok(floats.every((value) => value >= 1 && value < 2));
  const texts = readBytes(label.data).map((element) => new TextDecoder().decode(element));
  assert.equal(new Set(texts).size, 20);
  assert.ok(texts.every((text) => /^[0-9a-f]{8}$/.test(text)));
  assert.ok(flag.data.every((value) => value <= 1));
});

Deno.test("outputShapes() takes named dimensions from the inputs and the batch from the rows", () => {
  const model = modelOf("m", [
    { name: "image", datatype: "FP32", shape: [-1, 3, -1, -1], dimNames: ["n", , "h", "w"] },
  ], [
    { name: "mask", datatype: "FP32", shape: [-1, 1, -1, -1], dimNames: ["n", , "h", "w"] },
    { name: "boxes", datatype: "FP32", shape: [-1, -1, 4], dimNames: ["rows", "boxes", undefined] },
    { name: "total", datatype: "INT64", shape: [] },
  ]);
  const signature = signatureOf([{ name: "image", datatype: "FP32", shape: [2, 3, 32, 48] }]);
  const shapes = outputShapes(model, signature, 2).map(({ shape }) => shape);
  assert.deepEqual(shapes, [[2, 1, 32, 48], [2, 1, 4], []]);
});

Deno.test("computeOutputs() serves a model without a batch, and empty tensors", () => {
  const model = modelOf(
    "m",
    [
      { name: "x", datatype: "FP32", shape: [-1] },
      { name: "rate", datatype: "INT64", shape: [] },
    ],
    [{ name: "y", datatype: "FP64", shape: [-1, 2] }],
    false,
  );
  const outputs = computeOutputs(model, {
    signature: signatureOf([
      { name: "x", datatype: "FP32", shape: [0] },
      { name: "rate", datatype: "INT64", shape: [] },
    ]),
    rows: 1,
    inputs: [[], [new Uint8Array(8)]],
  });
  assert.deepEqual(outputs[0].shape, [1, 2]);
  assert.equal(outputs[0].data.length, 16);
});

Deno.test("computeOutputs() refuses pieces that do not add up to the signature", () => {
  const model = modelOf("m", [{ name: "x", datatype: "FP32", shape: [-1, 2] }], []);
  const signature = signatureOf([{ name: "x", datatype: "FP32", shape: [1, 2] }]);
  const failure = (message: RegExp) => (error: unknown) =>
    error instanceof SluiceError && error.code === "execution_failed" &&
    message.test(error.message);
  assert.throws(
    () => computeOutputs(model, { signature, rows: 1, inputs: [[new Uint8Array(7)]] }),
    failure(/'x' has 7 bytes; FP32 of \[1,2\] takes 8/),
  );
  assert.throws(
    () => computeOutputs(model, { signature, rows: 1, inputs: [] }),
    failure(/0 inputs/),
  );
  const text = modelOf("m", [{ name: "t", datatype: "BYTES", shape: [-1, 1] }], [
    { name: "y", datatype: "FP32", shape: [-1] },
  ]);
  const short = {
    signature: signatureOf([{ name: "t", datatype: "BYTES", shape: [1, 1] }]),
    rows: 1,
    inputs: [[new Uint8Array([9, 0, 0, 0, 65])]],
  };
  assert.throws(() => computeOutputs(text, short), failure(/'t' ends before its 1 elements do/));
});
