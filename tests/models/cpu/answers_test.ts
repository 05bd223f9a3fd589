import assert from "node:assert/strict";
import { openCpuDevice } from "../../../models/cpu/mod.ts";
import type { Tensor } from "../../../models/tensor.ts";
import { relativeDifference } from "../../../models/tensor_difference.ts";
import {
  branchModel,
  gatherModel,
  int64,
  mlpModel,
  quantisedModel,
  seededValues,
  slowModel,
} from "../../fixtures/onnx.ts";
import { fp32Tensor, modelOf, outputsOf, stepOf } from "../../conformance/device_models.ts";
import { nodeApiAnswers } from "./node_api.ts";

function x(shape: number[], seed: number): Tensor[] {
  const count = shape.reduce((product, dim) => product * dim, 1);
  return [fp32Tensor("x", shape, seededValues(seed, count))];
}

async function starter(file: string): Promise<Uint8Array<ArrayBuffer>> {
  return await Deno.readFile(new URL(`../../../models/starter/${file}`, import.meta.url));
}

function named(name: string, [tensor]: Tensor[]): Tensor[] {
  return [{ ...tensor, name }];
}

const CASES: [string, () => Promise<Uint8Array<ArrayBuffer>>, Tensor[][]][] = [
  ["a dense net", () => Promise.resolve(mlpModel()), [x([1, 784], 1), x([7, 784], 2)]],
  ["a chain of products", () => Promise.resolve(slowModel(4, 64)), [x([3, 64], 3)]],
  ["branches", () => Promise.resolve(branchModel()), [x([4], 4), x([4], 5), x([4], 6)]],
  ["dynamic quantisation", () => Promise.resolve(quantisedModel()), [x([2, 4], 7)]],
  [
    "look-ups",
    () => Promise.resolve(gatherModel()),
    [[{ name: "index", datatype: "INT64", shape: [3], data: int64([0, -1, 5]) }]],
  ],
  [
    "a convolutional net",
    () => starter("digits_cnn.onnx"),
    [named("pixels", x([1, 1, 8, 8], 8)), named("pixels", x([5, 1, 8, 8], 9))],
  ],
  [
    "a tree ensemble",
    () => starter("wine.onnx"),
    [named("features", x([1, 13], 10)), named("features", x([6, 13], 11))],
  ],
];

for (const [what, read, requests] of CASES) {
  Deno.test(`start() answers ${what} as onnxruntime-node does`, async () => {
    const bytes = await read();
    const expected = await nodeApiAnswers(bytes, requests);
    await using device = openCpuDevice({ threads: 2 });
    await using staged = await device.stage(modelOf("model", bytes));
    await using executable = await staged.upload();
    const lane = device.openLane(0);
    // By turns, so that each signature's binding is used again after another's.
    for (const expectedMicros of [Infinity, 1, Infinity]) {
      for (const [i, request] of requests.entries()) {
        const outputs = await outputsOf(executable, lane, stepOf(request), expectedMicros);
        assert.equal(outputs.length, expected[i].length);
        for (const [k, { name, datatype, shape, data }] of outputs.entries()) {
          const { data: values, ...declared } = expected[i][k];
          assert.deepEqual({ name, datatype, shape }, declared);
          const difference = relativeDifference(datatype, data, values);
          assert.ok(difference <= 1e-6, `${name} differs by ${difference}`);
        }
      }
    }
  });
}
