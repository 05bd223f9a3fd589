/**
 * The JSON schemas of the OpenAPI description, and the words they are written in.
 *
 * @module
 */
import { DATATYPE_BYTES } from "../../models/tensor.ts";
import { JOB_STATES } from "../jobs/job.ts";
import { DEFAULT_MAX_TOKENS, LONGEST_STOP_BYTES, MOST_STOPS } from "./generate/request.ts";
import { LONGEST_NAME, MOST_ITERATIONS } from "./jobs_request.ts";

/** JSON as a value. */
export type Json = Readonly<Record<string, unknown>>;

/** A reference to one of the {@linkcode schemas}. */
export const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
/** An object with these properties. */
export const object = (properties: Json, required: readonly string[] = []): Json => ({
  type: "object",
  properties,
  ...(required.length > 0 ? { required } : {}),
});
/** An array of equals. */
const array = (items: Json): Json => ({ type: "array", items });
/** A string. */
export const text: Json = { type: "string" };
/** A whole number, 0 or more. */
export const integer: Json = { type: "integer", minimum: 0 };
/** True or false. */
export const flag: Json = { type: "boolean" };

const parameterValue: Json = { type: ["string", "number", "boolean"] };
const shape = array({ type: "integer" });
const duration = object({ count: integer, ns: integer }, ["count", "ns"]);
const durations = (...names: readonly string[]): Json =>
  object(Object.fromEntries(names.map((name) => [name, duration])), names);

const priority: Json = { ...integer, description: "1 is most urgent; 0 is none" };
const timeout: Json = { ...integer, description: "Microseconds; 0 is none" };
const tenant: Json = {
  ...text,
  description: "Whose request it is, for policies that share between tenants",
};

const stop: Json = { type: "string", minLength: 1, description: `${LONGEST_STOP_BYTES} bytes` };
const generateParameters: Json = {
  id: text,
  max_tokens: {
    type: "integer",
    minimum: 1,
    description:
      `${DEFAULT_MAX_TOKENS} when absent; with the prompt's at most what the cache holds`,
  },
  temperature: {
    type: "number",
    minimum: 0,
    description: "0 takes the likeliest token; when absent 1 with top_k or top_p, else 0",
  },
  top_k: { ...integer, description: "Draws from so many likeliest tokens; 0 is all" },
  top_p: {
    type: "number",
    exclusiveMinimum: 0,
    maximum: 1,
    description: "Draws from the fewest tokens with this probability together",
  },
  seed: { ...integer, maximum: 2 ** 32 - 1, description: "The same gives the same text" },
  stop: {
    oneOf: [stop, { ...array(stop), maxItems: MOST_STOPS }],
    description: "Strings that end the text and are no part of it",
  },
  stream: { ...flag, description: "As the path says" },
  priority,
  timeout,
  tenant,
};
const textHead: Json = { id: text, model_name: text, model_version: text, text_output: text };
const textEnding: Json = {
  finish_reason: { enum: ["stop", "length"] },
  usage: object({ prompt_tokens: integer, completion_tokens: integer }),
};

const number: Json = { type: "number" };
const seconds: Json = { type: "number", minimum: 0 };
const longName: Json = { type: "string", maxLength: LONGEST_NAME };
const count: Json = { type: "integer", minimum: 1, maximum: MOST_ITERATIONS };
const byName = (values: Json): Json => ({ type: "object", additionalProperties: values });

const jobInputs = array(object({
  name: text,
  shape,
  datatype: ref("Datatype"),
  data: { type: "array", description: "Flat or nested, row-major" },
}, ["name", "shape", "datatype", "data"]));

const job: Json = {
  id: text,
  name: text,
  model: text,
  version: { ...text, description: "Absent before it runs, where none was named" },
  state: { enum: JOB_STATES },
  error: { ...text, description: "Why it failed" },
  iterations: count,
  iterations_done: { ...integer, description: "Those before a resumption included" },
  priority,
  tenant: longName,
  checkpoint_every: integer,
  metrics: { ...byName(number), description: "Of the last iteration" },
  checkpoints: {
    ...array(object({ model: text, version: integer, iterations: integer })),
    description: "Those kept in the repository",
  },
  checkpoint_error: { ...text, description: "Why the last one is not there, or not served" },
  created_ms: { ...integer, description: "Milliseconds since the epoch" },
  ended_ms: { ...integer, description: "Of its last iteration, milliseconds since the epoch" },
  run_seconds: { ...seconds, description: "Time neither queued nor paused" },
  device_seconds: { ...seconds, description: "Device time charged" },
  remaining_seconds: {
    ...seconds,
    description: "At the speed so far; absent when it does not run",
  },
};
const jobFields = [
  "id",
  "model",
  "state",
  "iterations",
  "iterations_done",
  "metrics",
  "checkpoints",
];

/** All of them, by name. */
export const schemas: Json = {
  Error: object({ error: text }, ["error"]),
  ServerMetadata: object({ name: text, version: text, extensions: array(text) }, [
    "name",
    "version",
    "extensions",
  ]),
  Datatype: { enum: Object.keys(DATATYPE_BYTES) },
  TensorMetadata: object({ name: text, datatype: ref("Datatype"), shape }, [
    "name",
    "datatype",
    "shape",
  ]),
  ModelMetadata: object({
    name: text,
    versions: array(text),
    platform: text,
    inputs: array(ref("TensorMetadata")),
    outputs: array(ref("TensorMetadata")),
  }, ["name", "versions", "platform", "inputs", "outputs"]),
  InferenceRequest: object({
    id: text,
    parameters: {
      type: "object",
      properties: {
        priority,
        timeout,
        tenant,
        binary_data_output: { ...flag, description: "Outputs as binary, where none are named" },
        sequence_id: {
          type: ["integer", "string"],
          description: 'A sequence that the client drives; 0 and "" are none',
        },
        sequence_start: { ...flag, description: "The sequence's first request" },
        sequence_end: { ...flag, description: "The sequence's last request" },
      },
      additionalProperties: parameterValue,
    },
    inputs: array(object({
      name: text,
      shape,
      datatype: ref("Datatype"),
      parameters: object({ binary_data_size: integer }),
      data: { type: "array", description: "Flat or nested, row-major" },
    }, ["name", "shape", "datatype"])),
    outputs: array(object({
      name: text,
      parameters: object({
        binary_data: flag,
        classification: { ...integer, description: "So many largest values, with their labels" },
      }),
    }, ["name"])),
  }, ["inputs"]),
  InferenceResponse: object({
    id: text,
    model_name: text,
    model_version: text,
    outputs: array(object({
      name: text,
      datatype: ref("Datatype"),
      shape,
      parameters: object({ binary_data_size: integer }),
      data: { type: "array", description: "Flat, row-major" },
    }, ["name", "datatype", "shape"])),
  }, ["model_name", "model_version", "outputs"]),
  GenerateRequest: {
    ...object({
      text_input: text,
      parameters: { ...object(generateParameters), additionalProperties: false },
      ...generateParameters,
    }, ["text_input"]),
    additionalProperties: false,
  },
  GenerateResponse: object({ ...textHead, ...textEnding }, [
    "model_name",
    "model_version",
    "text_output",
    "finish_reason",
    "usage",
  ]),
  GenerateEvent: {
    oneOf: [
      object({ ...textHead, done: flag, ...textEnding }, [
        "model_name",
        "model_version",
        "text_output",
        "done",
      ]),
      object({ error: text, code: text }, ["error", "code"]),
    ],
  },
  JobRequest: {
    ...object({
      model: text,
      version: text,
      name: longName,
      iterations: count,
      inputs: jobInputs,
      priority,
      tenant: longName,
      checkpoint_every: {
        ...integer,
        maximum: MOST_ITERATIONS,
        description:
          "Iterations; 0 is no checkpoint at all; when absent, one when it pauses or ends",
      },
      resume_from: {
        ...text,
        description: "model/version of a checkpoint, or model for the newest",
      },
    }, ["model", "iterations"]),
    additionalProperties: false,
  },
  Job: object(job, jobFields),
  JobWithCurves: object({
    ...job,
    curves: {
      ...object({ iterations: array(integer), values: byName(array(number)) }),
      description: "Metrics of some iterations, evenly spaced, with the first and the last",
    },
  }, [...jobFields, "curves"]),
  Statistics: object({
    model_stats: array(object({
      name: text,
      version: text,
      last_inference: { ...integer, description: "Milliseconds since the epoch" },
      inference_count: { ...integer, description: "Rows" },
      execution_count: { ...integer, description: "Iterations" },
      inference_stats: durations(
        "success",
        "fail",
        "queue",
        "compute_input",
        "compute_infer",
        "compute_output",
        "cache_hit",
        "cache_miss",
      ),
      response_stats: { type: "object" },
      batch_stats: array(object({
        batch_size: integer,
        compute_input: duration,
        compute_infer: duration,
        compute_output: duration,
      })),
      memory_usage: array(object({ type: text, id: integer, byte_size: integer })),
    })),
    device_memory: {
      ...array(object({ model: text, type: text, byte_size: integer }, ["type", "byte_size"])),
      description: "All that the device holds; only where every model is asked for",
    },
  }, ["model_stats"]),
  RepositoryIndex: array(object({
    name: text,
    version: text,
    state: { enum: ["READY", "UNAVAILABLE", "LOADING", "UNLOADING"] },
    reason: text,
  }, ["name"])),
  LoadRequest: object({
    parameters: {
      type: "object",
      properties: { config: { ...text, description: "A model configuration as JSON text" } },
      patternProperties: {
        "^file:": { type: "string", contentEncoding: "base64" },
      },
      additionalProperties: false,
    },
  }),
  Policy: object({ name: text, available: array(text), failed: text, fault: text }, [
    "name",
    "available",
  ]),
};
