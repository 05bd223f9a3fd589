import assert from "node:assert/strict";
import { parseConfigJson, parseConfigText } from "../../../models/triton_config/model_config.ts";
import { MODEL_CONFIG } from "../../../models/triton_config/model_config_schema.ts";
import { withDefaults } from "../../../models/triton_config/schema.ts";
import { refusal } from "../refusal.ts";

Deno.test("parseConfigText() reads a configuration as Triton's documentation writes them", () => {
  const { config, warning } = parseConfigText(
    `
    platform: "onnxruntime_onnx"
    max_batch_size: 8
    input [
      { name: "input0" data_type: TYPE_FP32 dims: [ 16 ] },
      { name: "input1" data_type: TYPE_STRING dims: [ -1, 2 ] }
    ]
    output { name: "output0" data_type: TYPE_FP32 dims: 16 label_filename: "labels.txt" }
    version_policy: { specific: { versions: [1, 3] } }
    dynamic_batching { max_queue_delay_microseconds: 100 default_priority_level: 2 }
    `,
    "m/config.pbtxt",
  );
  assert.deepEqual(config, {
    platform: "onnxruntime_onnx",
    max_batch_size: 8,
    input: [
      { name: "input0", data_type: "TYPE_FP32", dims: [16] },
      { name: "input1", data_type: "TYPE_STRING", dims: [-1, 2] },
    ],
    output: [
      { name: "output0", data_type: "TYPE_FP32", dims: [16], label_filename: "labels.txt" },
    ],
    version_policy: { specific: { versions: [1, 3] } },
    dynamic_batching: { max_queue_delay_microseconds: 100, default_priority_level: 2 },
  });
  assert.equal(warning, undefined);
});

Deno.test("parseConfigText() names in one warning what Triton knows and this does not do", () => {
  const { config, warning } = parseConfigText(
    `
    instance_group [ { count: 2 kind: KIND_CPU }, { count: 1 } ]
    parameters { key: "a" value: { string_value: "b" } }
    parameters { key: "c" value: { string_value: "d" } }
    input { name: "x" format: FORMAT_NHWC }
    input { name: "y" is_shape_tensor: false }
    dynamic_batching { preferred_batch_size: [4, 8] }
    cc_model_filenames { key: "7.0" value: "model7.onnx" }
    `,
    "config.pbtxt",
  );
  assert.equal(
    warning,
    'config.pbtxt: known to Triton, without effect here: "instance_group", "parameters", ' +
      '"input.format", "dynamic_batching.preferred_batch_size", "cc_model_filenames"',
  );
  assert.deepEqual(config.parameters, { a: { string_value: "b" }, c: { string_value: "d" } });
});

Deno.test("parseConfigText() refuses what nobody knows, saying what and where", () => {
  const refuses = (text: string, message: RegExp) =>
    assert.throws(
      () => parseConfigText(text, "config.pbtxt"),
      refusal("invalid_argument", message),
    );
  refuses('\n\nnam: "x"', /^config\.pbtxt:3:1: "nam" is no known field$/);
  refuses("input {\n dim: 3 }", /^config\.pbtxt:2:2: "input" has no field "dim"$/);
  refuses("name: 3", /:1:1: "name" is 3; expected a string in quotes$/);
  refuses('max_batch_size: "8"', /"max_batch_size" is "8"; expected an integer from -2147483648/);
  refuses("max_batch_size: 2147483648", /"max_batch_size" is 2147483648; expected an integer/);
  refuses("max_batch_size: 1.5", /"max_batch_size" is 1.5; expected an integer/);
  refuses("input { dims: [9007199254740993] }", /"input.dims" is 9007199254740993; expected/);
  refuses(
    "input { data_type: TYPE_FP33 }",
    /"input.data_type" is TYPE_FP33; expected one of TYPE_/,
  );
  refuses("input: 3", /"input" is 3; expected a message$/);
  refuses("name { }", /"name" is a message; expected a string in quotes$/);
  refuses('name: "a" name: "b"', /:1:11: "name" is set more than once$/);
  refuses(
    "version_policy { all { } latest { } }",
    /"version_policy.latest" and "all" exclude one another/,
  );
  refuses('parameters { name: "a" }', /"parameters" has no field "name"; its entries are key/);
  refuses(
    "response_cache { enable: yes }",
    /"response_cache.enable" is yes; expected true or false/,
  );
  refuses("input { ", /^config\.pbtxt:1:9: the text ends where "}" was expected$/);
});

Deno.test("parseConfigText() reads numbers in every base, and enums by number", () => {
  const { config } = parseConfigText(
    "max_batch_size: 0x10 input { data_type: 11 dims: [010, -1] }",
    "config.pbtxt",
  );
  assert.deepEqual(config, {
    max_batch_size: 16,
    input: [{ data_type: "TYPE_FP32", dims: [8, -1] }],
  });
});

Deno.test("parseConfigJson() reads both spellings of names, strings for 64 bits, and null", () => {
  const { config, warning } = parseConfigJson(
    JSON.stringify({
      maxBatchSize: 4,
      backend: null,
      input: [{ name: "x", data_type: "TYPE_FP32", dims: ["-1", 3] }],
      metric_tags: { team: "a", __proto__x: "b" },
      model_warmup: [],
      parameters: {},
    }),
    "config",
  );
  assert.deepEqual(config, {
    max_batch_size: 4,
    input: [{ name: "x", data_type: "TYPE_FP32", dims: [-1, 3] }],
    metric_tags: { team: "a", __proto__x: "b" },
    parameters: {},
  });
  assert.equal(warning, 'config: known to Triton, without effect here: "metric_tags"');
});

Deno.test("parseConfigJson() refuses with the same words, without a place", () => {
  const refuses = (text: string, message: RegExp) =>
    assert.throws(() => parseConfigJson(text, "config"), refusal("invalid_argument", message));
  refuses("{", /^config: it is no JSON/);
  refuses("[]", /^config: expected a JSON object$/);
  refuses("null", /^config: expected a JSON object$/);
  refuses('{"nam": 1}', /^config: "nam" is no known field$/);
  refuses('{"max_batch_size": true}', /"max_batch_size" is true; expected an integer/);
  refuses('{"name": "a", "name_": 1}', /"name_" is no known field/);
  refuses('{"input": [[{}]]}', /"input" has a list in its list/);
  refuses('{"input": [{"dims": [1e300]}]}', /"input.dims" is 1e\+300; expected an integer/);
  refuses('{"__proto__": {}}', /"__proto__" is no known field/);
  refuses(
    `{"input":${'{"a":'.repeat(20000)}1${"}".repeat(20000)}}`,
    /"input" has no field "a"|too deep/,
  );
});

Deno.test("parseConfigJson() reads back a complete configuration without warnings of its own", () => {
  const complete = withDefaults(MODEL_CONFIG, { name: "m", max_batch_size: 2 });
  const { config, warning } = parseConfigJson(JSON.stringify(complete), "config");
  assert.deepEqual(withDefaults(MODEL_CONFIG, config), complete);
  assert.equal(warning, undefined);
});
