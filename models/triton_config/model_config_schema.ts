/**
 * Triton's model configuration: every field that its `model_config.proto` has. Those marked `noted`
 * are known and have no effect here.
 *
 * @see https://github.com/triton-inference-server/common/blob/main/protobuf/model_config.proto
 * @module
 */
import {
  choice,
  enumeration,
  type Fields,
  map,
  message,
  noted,
  repeated,
  scalar,
} from "./schema.ts";

const dataType = enumeration(
  "TYPE_INVALID",
  "TYPE_BOOL",
  "TYPE_UINT8",
  "TYPE_UINT16",
  "TYPE_UINT32",
  "TYPE_UINT64",
  "TYPE_INT8",
  "TYPE_INT16",
  "TYPE_INT32",
  "TYPE_INT64",
  "TYPE_FP16",
  "TYPE_FP32",
  "TYPE_FP64",
  "TYPE_STRING",
  "TYPE_BF16",
);

const text = scalar("string");
const flag = scalar("bool");
const int32 = scalar("int32");
const uint32 = scalar("uint32");
const int64 = scalar("int64");
const uint64 = scalar("uint64");
const texts = map(text);
const dims = repeated(int64);

const tensorReshape = message({ shape: repeated(int64) });

const input = message({
  name: text,
  data_type: dataType,
  format: noted(enumeration("FORMAT_NONE", "FORMAT_NHWC", "FORMAT_NCHW")),
  dims,
  reshape: noted(tensorReshape),
  is_shape_tensor: noted(flag),
  allow_ragged_batch: noted(flag),
  optional: noted(flag),
  is_non_linear_format_io: noted(flag),
});

const output = message({
  name: text,
  data_type: dataType,
  dims,
  reshape: noted(tensorReshape),
  label_filename: text,
  is_shape_tensor: noted(flag),
  is_non_linear_format_io: noted(flag),
});

const batchInput = message({
  kind: enumeration(
    "BATCH_ELEMENT_COUNT",
    "BATCH_ACCUMULATED_ELEMENT_COUNT",
    "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO",
    "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE",
    "BATCH_ITEM_SHAPE",
    "BATCH_ITEM_SHAPE_FLATTEN",
  ),
  target_name: repeated(text),
  data_type: dataType,
  source_input: repeated(text),
});

const batchOutput = message({
  target_name: repeated(text),
  kind: enumeration("BATCH_SCATTER_WITH_INPUT_SHAPE"),
  source_input: repeated(text),
});

const versionPolicy = message({
  latest: choice("policy_choice", message({ num_versions: uint32 })),
  all: choice("policy_choice", message({})),
  specific: choice("policy_choice", message({ versions: repeated(int64) })),
});

const shapes = map(message({ dim: repeated(int64) }));
const pinnedMemory = message({ enable: flag });
const accelerators = repeated(message({ name: text, parameters: texts }));

const optimization = message({
  graph: message({ level: int32 }),
  priority: enumeration("PRIORITY_DEFAULT", "PRIORITY_MAX", "PRIORITY_MIN"),
  cuda: message({
    graphs: flag,
    busy_wait_events: flag,
    graph_spec: repeated(message({
      batch_size: int32,
      input: shapes,
      graph_lower_bound: message({ batch_size: int32, input: shapes }),
    })),
    output_copy_stream: flag,
  }),
  execution_accelerators: message({
    gpu_execution_accelerator: accelerators,
    cpu_execution_accelerator: accelerators,
  }),
  input_pinned_memory: pinnedMemory,
  output_pinned_memory: pinnedMemory,
  gather_kernel_buffer_threshold: uint32,
  eager_batching: flag,
});

const queuePolicy = message({
  timeout_action: enumeration("REJECT", "DELAY"),
  default_timeout_microseconds: uint64,
  allow_timeout_override: flag,
  max_queue_size: uint32,
});

const dynamicBatching = message({
  preferred_batch_size: noted(repeated(int32)),
  max_queue_delay_microseconds: uint64,
  preserve_ordering: noted(flag),
  priority_levels: uint64,
  default_priority_level: uint64,
  default_queue_policy: noted(queuePolicy),
  priority_queue_policy: noted(map(queuePolicy)),
});

const sequenceBatching = message({
  direct: choice(
    "strategy_choice",
    message({
      max_queue_delay_microseconds: uint64,
      minimum_slot_utilization: noted(scalar("float")),
    }),
  ),
  oldest: choice(
    "strategy_choice",
    message({
      max_candidate_sequences: noted(int32),
      preferred_batch_size: noted(repeated(int32)),
      max_queue_delay_microseconds: uint64,
      preserve_ordering: noted(flag),
    }),
  ),
  max_sequence_idle_microseconds: uint64,
  control_input: repeated(message({
    name: text,
    control: repeated(message({
      kind: enumeration(
        "CONTROL_SEQUENCE_START",
        "CONTROL_SEQUENCE_READY",
        "CONTROL_SEQUENCE_END",
        "CONTROL_SEQUENCE_CORRID",
      ),
      int32_false_true: repeated(int32),
      fp32_false_true: repeated(scalar("float")),
      bool_false_true: repeated(flag),
      data_type: dataType,
    })),
  })),
  state: repeated(message({
    input_name: text,
    output_name: text,
    data_type: dataType,
    dims,
    initial_state: repeated(message({
      data_type: dataType,
      dims,
      zero_data: choice("state_data", flag),
      data_file: choice("state_data", text),
      name: text,
    })),
    use_same_buffer_for_input_output: noted(flag),
    use_growable_memory: noted(flag),
  })),
  iterative_sequence: flag,
});

const ensembleScheduling = message({
  step: repeated(message({
    model_name: text,
    model_version: int64,
    input_map: texts,
    output_map: texts,
    model_namespace: text,
  })),
  max_inflight_responses: uint32,
});

const instanceGroup = message({
  name: text,
  kind: enumeration("KIND_AUTO", "KIND_GPU", "KIND_CPU", "KIND_MODEL"),
  count: int32,
  rate_limiter: message({
    resources: repeated(message({ name: text, global: flag, count: uint32 })),
    priority: uint32,
  }),
  gpus: repeated(int32),
  secondary_devices: repeated(message({ kind: enumeration("KIND_NVDLA"), device_id: int64 })),
  profile: repeated(text),
  passive: flag,
  host_policy: text,
});

const modelWarmup = message({
  name: text,
  batch_size: uint32,
  inputs: map(message({
    data_type: dataType,
    dims,
    zero_data: choice("input_data_type", flag),
    random_data: choice("input_data_type", flag),
    input_data_file: choice("input_data_type", text),
  })),
  count: uint32,
});

const modelMetrics = message({
  metric_control: repeated(message({
    metric_identifier: message({ family: text }),
    histogram_options: choice("metric_options", message({ buckets: repeated(scalar("double")) })),
  })),
});

/** Fields of `ModelConfig`. */
export const MODEL_CONFIG = {
  name: text,
  platform: text,
  backend: text,
  runtime: noted(text),
  version_policy: versionPolicy,
  max_batch_size: int32,
  input: repeated(input),
  output: repeated(output),
  batch_input: noted(repeated(batchInput)),
  batch_output: noted(repeated(batchOutput)),
  optimization: noted(optimization),
  dynamic_batching: choice("scheduling_choice", dynamicBatching),
  sequence_batching: choice("scheduling_choice", sequenceBatching),
  ensemble_scheduling: noted(choice("scheduling_choice", ensembleScheduling)),
  instance_group: noted(repeated(instanceGroup)),
  default_model_filename: text,
  cc_model_filenames: noted(texts),
  metric_tags: noted(texts),
  parameters: noted(map(message({ string_value: text }))),
  model_warmup: noted(repeated(modelWarmup)),
  model_operations: noted(message({ op_library_filename: repeated(text) })),
  model_transaction_policy: noted(message({ decoupled: flag })),
  model_repository_agents: noted(
    message({ agents: repeated(message({ name: text, parameters: texts })) }),
  ),
  response_cache: noted(message({ enable: flag })),
  model_metrics: noted(modelMetrics),
} satisfies Fields;
