import assert from "node:assert/strict";
import { batchingRule } from "../../../models/repository/batching.ts";
import { DEFAULT_MAX_BATCH } from "../../../models/manifest.ts";
import type { ModelSignature } from "../../../models/model.ts";
import { decodeOnnx } from "../../../models/onnx/decode.ts";
import { signatureOf } from "../../../models/onnx/signature.ts";
import * as fixtures from "../../fixtures/onnx.ts";

function signature(bytes: Uint8Array<ArrayBuffer>): ModelSignature {
  return signatureOf(decodeOnnx(bytes, "m.onnx"), "m.onnx");
}

const SCALE = signature(fixtures.scaleModel());
const facts = { signature: SCALE, isDynamicallyQuantised: false };

Deno.test("batchingRule() follows the configuration: joined with dynamic_batching alone", () => {
  const joined = batchingRule({
    ...facts,
    config: { max_batch_size: 8, dynamic_batching: { max_queue_delay_microseconds: 50 } },
  });
  assert.deepEqual(joined, {
    maxRows: 8,
    join: true,
    reason: "Its configuration has dynamic_batching with max_batch_size 8",
    batchedInputs: [true],
    maxDelayMicros: 50,
    probe: false,
  });
  const separate = batchingRule({ ...facts, config: { max_batch_size: 8 } });
  assert.deepEqual([separate.join, separate.maxRows, separate.probe], [false, 8, false]);
  assert.match(separate.reason, /no dynamic_batching/);
  const none = batchingRule({ ...facts, config: { max_batch_size: 0, dynamic_batching: {} } });
  assert.deepEqual([none.join, none.maxRows, none.probe], [false, 1, false]);
});

Deno.test("batchingRule() asks for a probe where the shapes leave it open", () => {
  for (const config of [undefined, {}, { name: "m" }]) {
    const rule = batchingRule({ ...facts, config });
    assert.deepEqual([rule.join, rule.probe, rule.maxRows], [false, true, DEFAULT_MAX_BATCH]);
  }
  assert.equal(batchingRule({ ...facts, maxBatch: 5 }).maxRows, 5);
});

Deno.test("batchingRule() keeps to what a probe found", () => {
  const probe = { join: true, reason: "Equal", batchedInputs: [true] };
  assert.deepEqual(batchingRule({ ...facts, probe, maxBatch: 4 }), {
    ...probe,
    maxRows: 4,
    maxDelayMicros: 0,
    probe: false,
  });
  const different = batchingRule({ ...facts, probe: { ...probe, join: false, reason: "Differ" } });
  assert.deepEqual([different.join, different.reason, different.batchedInputs], [
    false,
    "Differ",
    [false],
  ]);
  const ofAnotherFile = batchingRule({
    ...facts,
    probe: { ...probe, batchedInputs: [true, true] },
  });
  assert.equal(ofAnotherFile.probe, true);
});

Deno.test("batchingRule() never joins what is dynamically quantised", () => {
  const quantised = { ...facts, isDynamicallyQuantised: true };
  const probe = { join: true, reason: "Equal", batchedInputs: [true] };
  for (
    const more of [{}, { probe }, { config: { max_batch_size: 8, dynamic_batching: {} } }]
  ) {
    const rule = batchingRule({ ...quantised, ...more });
    assert.deepEqual([rule.join, rule.probe], [false, false]);
    assert.match(rule.reason, /quantises by the range of the whole batch/);
  }
});

Deno.test("batchingRule() says which shape stands in the way", () => {
  const reasonOf = (bytes: Uint8Array<ArrayBuffer>) => {
    const rule = batchingRule({ signature: signature(bytes), isDynamicallyQuantised: false });
    assert.deepEqual([rule.join, rule.probe, rule.maxRows], [false, false, 1]);
    return rule.reason;
  };
  assert.match(reasonOf(fixtures.scaleModel(2, [1, 4])), /^No input leads with a free dimension$/);
  assert.match(reasonOf(fixtures.constantModel()), /^No input leads/);
  const mixed = fixtures.onnxModel({
    inputs: [
      { name: "a", datatype: "FP32", shape: ["n", 2] },
      { name: "b", datatype: "FP32", shape: ["time", 2] },
    ],
    outputs: [{ name: "y", datatype: "FP32", shape: ["n", 2] }],
    nodes: [],
  });
  assert.match(reasonOf(mixed), /"a" and "b" have different free dimensions \(n, time\)/);
  const reduced = fixtures.onnxModel({
    inputs: [{ name: "a", datatype: "FP32", shape: ["n", 2] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [2] }],
    nodes: [],
  });
  assert.match(
    reasonOf(reduced),
    /^Output "y" does not lead with a free dimension \(shape \[2\]\)$/,
  );
  assert.match(
    batchingRule({ ...facts, maxBatch: 1 }).reason,
    /^Its manifest limits it to one row$/,
  );
});

Deno.test("batchingRule() lets a probe decide about scalars and about unnamed dimensions", () => {
  for (const bytes of [fixtures.scalarInputModel(), fixtures.sequenceAxisModel()]) {
    const rule = batchingRule({ signature: signature(bytes), isDynamicallyQuantised: false });
    assert.equal(rule.probe, true);
  }
});
