import assert from "node:assert/strict";
import { openCpuDevice } from "../../models/cpu/mod.ts";
import type { Executable, Lane } from "../../models/device.ts";
import type { BatchingProbe } from "../../models/manifest.ts";
import type { Model } from "../../models/model.ts";
import { probeJoining } from "../../models/probe.ts";
import { seededRandom } from "../../models/random.ts";
import {
  addModel,
  gatherModel,
  identityModel,
  int64,
  mlpModel,
  onnxModel,
  optionalInputModel,
  quantisedModel,
  scalarInputModel,
  sequenceAxisModel,
  softmaxModel,
} from "../fixtures/onnx.ts";
import { fp32Tensor, modelOf } from "../conformance/device_models.ts";

async function probe(
  bytes: Uint8Array<ArrayBuffer>,
  settings: Partial<Model> = {},
): Promise<BatchingProbe> {
  await using device = openCpuDevice({ threads: 1 });
  const model = modelOf("model", bytes, settings);
  await using staged = await device.stage(model);
  await using executable = await staged.upload();
  return await probeJoining(model, executable, device.openLane(0), seededRandom(1));
}

for (
  const [what, bytes] of [
    ["a dense net", mlpModel(1, [4, 16, 3])],
    ["two batched inputs", addModel()],
    ["row-wise softmax", softmaxModel()],
    ["look-ups", gatherModel()],
    ["strings", identityModel("BYTES", ["batch", 2])],
    ["half precision", identityModel("BF16", ["batch", 2])],
    ["unnamed axes", identityModel("FP32", ["", ""])],
  ] as const
) {
  Deno.test(`probeJoining() allows ${what}`, async () => {
    const { join, reason, batchedInputs } = await probe(bytes);
    assert.ok(join, reason);
    assert.match(reason, /^Joined along axis 0/);
    assert.ok(batchedInputs.every(Boolean));
  });
}

Deno.test("probeJoining() shares inputs without the batch axis, and says so", async () => {
  const { join, reason, batchedInputs } = await probe(scalarInputModel());
  assert.ok(join);
  assert.deepEqual(batchedInputs, [true, false]);
  assert.match(reason, /only requests with the same "rate" are joined/);
});

Deno.test("probeJoining() leaves optional inputs out", async () => {
  const { join, batchedInputs } = await probe(optionalInputModel());
  assert.deepEqual([join, batchedInputs], [true, [true, false]]);
});

Deno.test("probeJoining() refuses time on the first axis", async () => {
  const { join, reason } = await probe(sequenceAxisModel());
  assert.equal(join, false);
  assert.match(reason, /other answers .*: output "y" differs by [\d.]+ % of its largest value/);
});

Deno.test("probeJoining() refuses a scale that is taken over the batch", async () => {
  const { join, reason } = await probe(quantisedModel());
  assert.equal(join, false);
  assert.match(reason, /other answers/);
});

Deno.test("probeJoining() refuses integers that differ at all", async () => {
  const bytes = onnxModel({
    inputs: [{ name: "x", datatype: "INT64", shape: ["n", 2] }],
    outputs: [{ name: "y", datatype: "INT64", shape: ["n", 2] }],
    initializers: [{ name: "axis", datatype: "INT64", shape: [], raw: int64([0]) }],
    nodes: [{ op: "CumSum", inputs: ["x", "axis"], outputs: ["y"] }],
  });
  const { join, reason } = await probe(bytes);
  assert.equal(join, false);
  assert.match(reason, /output "y" differs in values that must be equal/);
});

Deno.test("probeJoining() refuses outputs whose first axis is not the batch, whatever they declare", async () => {
  const bytes = onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: ["n", 3] }],
    outputs: [{ name: "y", datatype: "INT64", shape: ["found", "axes"] }],
    nodes: [
      { op: "NonZero", inputs: ["x"], outputs: ["positions"] },
      { op: "Transpose", inputs: ["positions"], outputs: ["y"] },
    ],
  });
  const { join, reason } = await probe(bytes);
  assert.equal(join, false);
  assert.match(reason, /output "y"/i);
});

Deno.test("probeJoining() falls back on samples where random inputs fail", async () => {
  // Only multiples of 100 are in the table: random small integers are not.
  const bytes = onnxModel({
    inputs: [{ name: "x", datatype: "INT64", shape: ["n"] }],
    outputs: [{ name: "y", datatype: "FP32", shape: ["n"] }],
    initializers: [
      { name: "table", datatype: "FP32", shape: [2], raw: fp32Tensor("", [2], [7, 8]).data },
      { name: "offset", datatype: "INT64", shape: [], raw: int64([1000]) },
    ],
    nodes: [
      { op: "Sub", inputs: ["x", "offset"], outputs: ["index"] },
      { op: "Gather", inputs: ["table", "index"], outputs: ["y"] },
    ],
  });
  const without = await probe(bytes);
  assert.equal(without.join, false);
  assert.match(without.reason, /^No two trial requests could be run alone and together: .*idx=/);
  const sample = { name: "x", datatype: "INT64" as const, shape: [1], data: int64([1001]) };
  const withSample = await probe(bytes, { samples: [[sample]] });
  assert.ok(withSample.join, withSample.reason);
});

Deno.test("probeJoining() gives what it was lent back, and waits for its lane", async () => {
  const model = modelOf("mlp", mlpModel(1, [4, 16, 3]));
  let lent = 0, runs = 0;
  const counting = (executable: Executable): Executable => ({
    openSequence: (initial) => executable.openSequence(initial),
    prepare: (signature, lane) => executable.prepare(signature, lane),
    start: (lane: Lane, step, expected, done) =>
      executable.start(lane, step, expected, (result) => {
        lent++;
        runs++;
        done({
          ...result,
          deviceMicros: result.deviceMicros,
          outputs: result.outputs,
          release: () => {
            lent--;
            result.release();
          },
        });
      }),
    [Symbol.asyncDispose]: () => executable[Symbol.asyncDispose](),
  });
  await using device = openCpuDevice({ threads: 1 });
  await using staged = await device.stage(model);
  await using executable = await staged.upload();
  await probeJoining(model, counting(executable), device.openLane(0), seededRandom(1));
  assert.deepEqual([lent, runs], [0, 3]);
});
