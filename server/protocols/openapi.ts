/**
 * The OpenAPI 3.1 description of every route. A test holds it against the routes themselves.
 *
 * @module
 */
import { VERSION } from "../version.ts";
import { flag, integer, type Json, object, ref, schemas, text } from "./openapi_schemas.ts";

/** The document. */
export function openApiDocument(): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluice",
      version: VERSION,
      description:
        'Open Inference Protocol v2 with Triton\'s extensions. Every error is `{"error": "..."}` ' +
        "with a stable code in the header `sluice-error-code`.",
    },
    paths: { ...serverPaths, ...modelPaths(), ...repositoryPaths, ...jobPaths, ...ownPaths },
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        key: { type: "apiKey", in: "header", name: "x-admin-key" },
      },
    },
  };
}

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
function adminOperation(summary: string, schema: Json | undefined, body?: Json): Json {
  return operation(summary, schema, {
    description:
      "Needs the admin key, or a call from this machine where the server was started without one.",
    security: [{ bearer: [] }, { key: [] }, {}],
    ...(body === undefined ? {} : { requestBody: { content: json(body) } }),
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
    paths[`${path}/generate`] = {
      parameters,
      post: generation("Generate text", json(ref("GenerateResponse"))),
    };
    paths[`${path}/generate_stream`] = {
      parameters,
      post: generation("Generate text, piece by piece", {
        "text/event-stream": { schema: ref("GenerateEvent") },
      }),
    };
  }
  return paths;
}

const busy: Json = {
  ...error,
  description: "The model's queue is full, or the memory for sequences",
  headers: { "Retry-After": { description: "Seconds", schema: integer } },
};
const late: Json = { ...error, description: "The request's time is up, or cannot be met" };

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
    429: busy,
    504: late,
    default: error,
  },
};

function generation(summary: string, content: Json): Json {
  return {
    summary,
    description:
      "Parameters stand beside `text_input` or in `parameters`. A stream ends with the event that is " +
      "`done`; one that fails after its first piece ends with an event that has `error`.",
    requestBody: { required: true, content: json(ref("GenerateRequest")) },
    responses: {
      200: {
        description: "The text",
        headers: {
          "Server-Timing": {
            description:
              "queue, first_token and compute in milliseconds; iterations and policy as " +
              "descriptions. Of a stream up to its first piece",
            schema: text,
          },
        },
        content,
      },
      429: busy,
      504: late,
      default: error,
    },
  };
}

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

const job = { parameters: [inPath("job")] };
const shownJob = ref("JobWithCurves");

const jobPaths: Json = {
  "/v2/jobs": {
    get: operation(
      "All jobs, oldest first",
      object({ jobs: { type: "array", items: ref("Job") } }),
    ),
    post: {
      ...adminOperation("Submit a job", undefined, ref("JobRequest")),
      responses: {
        201: { description: "Taken", content: json(shownJob) },
        429: { ...busy, description: "Too many jobs are open" },
        default: error,
      },
    },
  },
  "/v2/jobs/{job}": {
    ...job,
    get: operation("A job with the curves of its metrics", shownJob),
    delete: adminOperation("Cancel a job; one that is over stays as it is", shownJob),
  },
  "/v2/jobs/{job}/pause": {
    ...job,
    post: adminOperation("Pause a job after its iteration, with a checkpoint", shownJob),
  },
  "/v2/jobs/{job}/resume": {
    ...job,
    post: adminOperation("Go on with a paused job", shownJob),
  },
};

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
