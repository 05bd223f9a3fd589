import assert from "node:assert/strict";
import type { ModelSignature } from "../../../models/model.ts";
import { parseConfigText } from "../../../models/triton_config/model_config.ts";
import { completeConfig, reconcile } from "../../../models/triton_config/reconcile.ts";
import { refusal } from "../refusal.ts";

const SIGNATURE: ModelSignature = {
  inputs: [
    { name: "a", datatype: "FP32", shape: [-1, -1, 3], dimNames: ["n", "m", undefined] },
    { name: "b", datatype: "BYTES", shape: [-1, 1], optional: true },
  ],
  outputs: [
    { name: "y", datatype: "FP32", shape: [-1, 4] },
    { name: "z", datatype: "INT64", shape: [], unranked: true },
  ],
  notServed: [],
};

function reconciled(text: string, signature = SIGNATURE) {
  return reconcile(parseConfigText(text, "config.pbtxt").config, signature, "config.pbtxt");
}

Deno.test("reconcile() leaves a signature alone that the configuration says nothing of", () => {
  assert.deepEqual(reconciled(""), SIGNATURE);
});

Deno.test("reconcile() fixes the dimensions that the configuration fixes", () => {
  const { inputs, outputs } = reconciled(`
    max_batch_size: 8
    input { name: "a" data_type: TYPE_FP32 dims: [5, 3] }
    output { name: "z" dims: [2] }
    output { name: "y" data_type: TYPE_FP32 }
  `);
  assert.deepEqual(inputs.map(({ shape }) => shape), [[-1, 5, 3], [-1, 1]]);
  assert.deepEqual(outputs.map(({ name, shape }) => [name, shape]), [["y", [-1, 4]], ["z", [
    -1,
    2,
  ]]]);
});

Deno.test("reconcile() leaves out the outputs that the configuration does not list", () => {
  const { outputs } = reconciled('output { name: "z" }');
  assert.deepEqual(outputs.map(({ name }) => name), ["z"]);
});

Deno.test("reconcile() holds a reshape's shape against the file", () => {
  const scalar = { ...SIGNATURE, inputs: [{ name: "a", datatype: "FP32" as const, shape: [-1] }] };
  const text = 'max_batch_size: 4 input { name: "a" dims: [1] reshape { shape: [] } }';
  const flat = { ...scalar, outputs: [{ ...SIGNATURE.outputs[1] }] };
  assert.deepEqual(reconciled(text, flat).inputs[0].shape, [-1]);
});

Deno.test("reconcile() refuses contradictions, naming both sides", () => {
  const refuses = (text: string, message: RegExp, signature = SIGNATURE) =>
    assert.throws(() => reconciled(text, signature), refusal("invalid_argument", message));
  refuses("max_batch_size: -1", /"max_batch_size" is -1; expected 0 or more$/);
  refuses('input { name: "c" }', /"input" lists "c"; the model has "a", "b"$/);
  refuses('input { name: "b" }', /"input" does not list "a", which the model needs$/);
  refuses('output { name: "y" } output { name: "y" }', /"output" lists "y" twice$/);
  refuses(
    'input { name: "a" data_type: TYPE_INT8 }',
    /input "a" has data_type TYPE_INT8; the model has TYPE_FP32$/,
  );
  refuses('input { name: "a" dims: [1, 2, 4] }', /input "a" has dims \[1,2,4\]; .* \[-1,-1,3\]$/);
  refuses('input { name: "a" dims: [1, 2] }', /input "a" has dims \[1,2\]; the model has/);
  refuses('input { name: "a" dims: [1, 2, -1] }', /input "a" has dims \[1,2,-1\]; the model has/);
  refuses('input { name: "a" dims: [0, 2, 3] }', /dims \[0,2,3\]; expected 1 or more, or -1$/);
  refuses(
    'max_batch_size: 2 input { name: "a" dims: [2, 4] }',
    /has dims \[2,4\]; the model has \[-1,3\] after the batch$/,
  );
  refuses(
    "max_batch_size: 2",
    /every tensor must lead .*; output "s" has shape \[4\]. Set it to 0$/,
    {
      ...SIGNATURE,
      outputs: [{ name: "s", datatype: "FP32", shape: [4] }],
    },
  );
});

Deno.test("completeConfig() answers every field, as Triton's config route does", () => {
  const { config } = parseConfigText(
    `max_batch_size: 8 output { name: "y" label_filename: "l.txt" } dynamic_batching { }`,
    "config.pbtxt",
  );
  const signature = reconcile(config, SIGNATURE, "config.pbtxt");
  assert.deepEqual(completeConfig(config, "m", "model.onnx", signature), {
    name: "m",
    platform: "onnxruntime_onnx",
    backend: "onnxruntime",
    runtime: "",
    version_policy: { latest: { num_versions: 1 } },
    max_batch_size: 8,
    input: [
      {
        name: "a",
        data_type: "TYPE_FP32",
        format: "FORMAT_NONE",
        dims: [-1, 3],
        is_shape_tensor: false,
        allow_ragged_batch: false,
        optional: false,
        is_non_linear_format_io: false,
      },
      {
        name: "b",
        data_type: "TYPE_STRING",
        format: "FORMAT_NONE",
        dims: [1],
        is_shape_tensor: false,
        allow_ragged_batch: false,
        optional: true,
        is_non_linear_format_io: false,
      },
    ],
    output: [{
      name: "y",
      data_type: "TYPE_FP32",
      dims: [4],
      label_filename: "l.txt",
      is_shape_tensor: false,
      is_non_linear_format_io: false,
    }],
    batch_input: [],
    batch_output: [],
    optimization: {
      priority: "PRIORITY_DEFAULT",
      input_pinned_memory: { enable: true },
      output_pinned_memory: { enable: true },
      gather_kernel_buffer_threshold: 0,
      eager_batching: false,
    },
    dynamic_batching: {
      preferred_batch_size: [8],
      max_queue_delay_microseconds: 0,
      preserve_ordering: false,
      priority_levels: 0,
      default_priority_level: 0,
      priority_queue_policy: {},
    },
    instance_group: [{
      name: "m",
      kind: "KIND_CPU",
      count: 1,
      gpus: [],
      secondary_devices: [],
      profile: [],
      passive: false,
      host_policy: "",
    }],
    default_model_filename: "model.onnx",
    cc_model_filenames: {},
    metric_tags: {},
    parameters: {},
    model_warmup: [],
  });
});
