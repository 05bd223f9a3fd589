/**
 * The OpenAPI 3.1 description of every route. A test holds it against the routes themselves.
 *
 * @module
 */
import { DATATYPE_BYTES } from "../../models/tensor.ts";

/** JSON as a value. */
export type Json = Readonly<Record<string, unknown>>;

/** The document. */
export function openApiDocument(version: string): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluice",
      version,
      description:
        'Open Inference Protocol v2 with Triton\'s extensions. Every error is `{"error": "..."}` ' +
        "with a stable code, unknown routes and methods apart, in the header `sluice-error-code`.",
    },
    paths: { ...serverPaths, ...modelPaths(), ...repositoryPaths, ...ownPaths },
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        key: { type: "apiKey", in: "header", name: "x-admin-key" },
      },
    },
  };
}

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const object = (properties: Json, required: readonly string[] = []): Json => ({
  type: "object",
  properties,
  ...(required.length > 0 ? { required } : {}),
});
const array = (items: Json): Json => ({ type: "array", items });
const text: Json = { type: "string" };
const integer: Json = { type: "integer", minimum: 0 };
const flag: Json = { type: "boolean" };

const json = (schema: Json): Json => ({ "application/json": { schema } });
const error: Json = { description: "Refused", content: json(ref("Error")) };
const empty: Json = { description: "Yes" };

/** An operation whose 200 carries `schema`, or nothing. */
function operation(summary: string, schema?: Json, rest: Json = {}): Json {
  return {
    summary,
    responses: {
      200: schema === undefined ? empty : { description: "OK", content: json(schema) },
      default: error,
    },
    ...rest,
  };
}

/** An operation that changes something. */
function adminOperation(summary: string, schema: Json | undefined, body: Json): Json {
  return operation(summary, schema, {
    description:
      "Needs the admin key, or a call from this machine where the server was started without one.",
    security: [{ bearer: [] }, { key: [] }, {}],
    requestBody: { content: json(body) },
  });
}

const inPath = (name: string, schema: Json = text): Json => ({
  name,
  in: "path",
  required: true,
  schema,
});

const serverPaths: Json = {
  "/v2": { get: operation("Server metadata", ref("ServerMetadata")) },
  "/v2/health/live": { get: operation("Whether the server is alive") },
  "/v2/health/ready": { get: operation("Whether the server is ready for requests") },
  "/v2/models/stats": { get: operation("Statistics of all models", ref("Statistics")) },
};

function modelPaths(): Json {
  const paths: Record<string, Json> = {};
  for (const version of ["", "/versions/{version}"]) {
    const path = `/v2/models/{model}${version}`;
    const parameters = [
      inPath("model"),
      ...(version === "" ? [] : [inPath("version", { type: "string", pattern: "^[0-9]+$" })]),
    ];
    paths[path] = { parameters, get: operation("Model metadata", ref("ModelMetadata")) };
    paths[`${path}/ready`] = { parameters, get: operation("Whether the model is ready") };
    paths[`${path}/config`] = {
      parameters,
      get: operation("Triton's model configuration", { type: "object" }),
    };
    paths[`${path}/stats`] = {
      parameters,
      get: operation("Statistics of the model", ref("Statistics")),
    };
    paths[`${path}/infer`] = { parameters, post: inference };
  }
  return paths;
}

const inference: Json = {
  summary: "Inference",
  description: "A body of JSON; or JSON followed by binary tensors, its length in " +
    "`Inference-Header-Content-Length`; or, where that header is 0, one raw tensor. Bodies may be " +
    "gzip or deflate, and answers are where `Accept-Encoding` asks for it.",
  parameters: [{
    name: "Inference-Header-Content-Length",
    in: "header",
    schema: integer,
  }, {
    name: "Content-Encoding",
    in: "header",
    schema: { enum: ["gzip", "deflate", "identity"] },
  }],
  requestBody: {
    required: true,
    content: {
      ...json(ref("InferenceRequest")),
      "application/octet-stream": { schema: { type: "string", format: "binary" } },
    },
  },
  responses: {
    200: {
      description: "The outputs",
      headers: {
        "Server-Timing": {
          description: "queue and compute in milliseconds; batch, lane and policy as descriptions",
          schema: text,
        },
        "Inference-Header-Content-Length": {
          description: "Length of the leading JSON, where binary tensors follow",
          schema: integer,
        },
      },
      content: {
        ...json(ref("InferenceResponse")),
        "application/octet-stream": { schema: { type: "string", format: "binary" } },
      },
    },
    429: {
      ...error,
      description: "The model's queue is full",
      headers: { "Retry-After": { description: "Seconds", schema: integer } },
    },
    504: { ...error, description: "The request's time is up, or cannot be met" },
    default: error,
  },
};

const indexOperation = operation("Models of the repository", ref("RepositoryIndex"), {
  requestBody: { content: json(object({ ready: flag })) },
});

const unnamed = { summary: "Repositories have no names here", responses: { 501: error } };
const repository = inPath("repository");
const model = inPath("model");

const repositoryPaths: Json = {
  "/v2/repository/index": { post: indexOperation },
  "/v2/repository/{repository}/index": { parameters: [repository], post: indexOperation },
  "/v2/repository/models/{model}/load": {
    parameters: [model],
    post: adminOperation("Load or reload a model", undefined, ref("LoadRequest")),
  },
  "/v2/repository/models/{model}/unload": {
    parameters: [model],
    post: adminOperation(
      "Unload a model",
      undefined,
      object({ parameters: object({ unload_dependents: flag }) }),
    ),
  },
  "/v2/repository/{repository}/models/{model}/load": {
    parameters: [repository, model],
    post: unnamed,
  },
  "/v2/repository/{repository}/models/{model}/unload": {
    parameters: [repository, model],
    post: unnamed,
  },
};

const switchPolicy = adminOperation(
  "Switch the scheduling policy",
  ref("Policy"),
  object({ name: text }, ["name"]),
);

const plain = (summary: string, type: string): Json => ({
  summary,
  responses: { 200: { description: "OK", content: { [type]: { schema: text } } } },
});

const ownPaths: Json = {
  "/v2/policy": {
    get: operation("The scheduling policy", ref("Policy")),
    put: switchPolicy,
    post: switchPolicy,
  },
  "/metrics": { get: plain("Metrics in Prometheus' text format", "text/plain") },
  "/openapi.json": { get: operation("This document", { type: "object" }) },
  "/docs": { get: plain("This document as a page", "text/html") },
  "/docs/start.js": { get: plain("A file of the page", "text/javascript") },
  "/docs/swagger-ui.css": { get: plain("A file of the page", "text/css") },
  "/docs/swagger-ui-bundle.js": { get: plain("A file of the page", "text/javascript") },
};

const parameterValue: Json = { type: ["string", "number", "boolean"] };
const shape = array({ type: "integer" });
const duration = object({ count: integer, ns: integer }, ["count", "ns"]);
const durations = (...names: readonly string[]): Json =>
  object(Object.fromEntries(names.map((name) => [name, duration])), names);

const schemas: Json = {
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
        priority: { ...integer, description: "1 is most urgent; 0 is none" },
        timeout: { ...integer, description: "Microseconds; 0 is none" },
        binary_data_output: { ...flag, description: "Outputs as binary, where none are named" },
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
  Policy: object({ name: text, available: array(text), fault: text }, ["name", "available"]),
};
