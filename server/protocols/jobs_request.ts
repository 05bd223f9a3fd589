/**
 * The body of a request for a job.
 *
 * @module
 */
import type { Tensor } from "../../models/tensor.ts";
import type { Engine } from "../engine/api.ts";
import type { JobRequest, ResumePoint } from "../jobs/job_request.ts";
import { describe } from "./describe.ts";
import { type Fields, parseFields } from "./json_body.ts";
import { invalid, string, wholeNumber } from "./open_inference/fields.ts";
import { decodeRequest } from "./open_inference/request.ts";

const FIELDS: readonly string[] = [
  "model",
  "version",
  "name",
  "iterations",
  "inputs",
  "priority",
  "tenant",
  "checkpoint_every",
  "resume_from",
];

/** Iterations of a job, and from one of its checkpoints to the next. */
export const MOST_ITERATIONS = 1e9;
/** Characters of a job's name, and of its tenant's. */
export const LONGEST_NAME = 200;

/**
 * Decodes a body.
 *
 * @param engine Knows the model, and so the names of its inputs.
 * @throws {SluiceError} `invalid_argument`, also for a field that is not known; `not_found` and
 *   `not_ready` for its model.
 */
export function decodeJobRequest(
  body: Uint8Array<ArrayBuffer>,
  engine: Engine,
): { readonly request: JobRequest; readonly resumeFrom?: ResumePoint } {
  const fields = parseFields(body);
  const unknown = Object.keys(fields).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) {
    const expected = FIELDS.map((name) => `'${name}'`).join(", ");
    throw invalid(`Field '${unknown}' of the job is not known, expected some of ${expected}`);
  }
  const { name = "", priority = 0, checkpoint_every, tenant, resume_from } = fields;
  const target = { model: string(fields.model, "'model'"), version: decodeVersion(fields.version) };
  return {
    request: {
      ...target,
      name: decodeName(name, "'name'"),
      iterations: decodeCount(fields.iterations, "'iterations'", 1),
      inputs: fields.inputs === undefined ? [] : decodeInputs(body, engine, target),
      priority: wholeNumber(priority, "'priority'"),
      tenant: tenant === undefined ? undefined : decodeName(tenant, "'tenant'"),
      checkpointEvery: checkpoint_every === undefined
        ? undefined
        : decodeCount(checkpoint_every, "'checkpoint_every'", 0),
    },
    resumeFrom: resume_from === undefined ? undefined : decodeResumePoint(resume_from),
  };
}

/**
 * The values are read as those of an inference are: integers of 64 bits stay exact. They are copied,
 * since a job lives long and small values share their memory with those of other requests.
 */
function decodeInputs(
  body: Uint8Array<ArrayBuffer>,
  engine: Engine,
  { model, version }: Pick<JobRequest, "model" | "version">,
): readonly Tensor[] {
  const names = engine.find(model, version).model.signature.inputs.map(({ name }) => name);
  const { inputs } = decodeRequest(body, body.byteLength, { model, names });
  return inputs.map((input) => ({ ...input, data: input.data.slice() }));
}

function decodeVersion(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const version = typeof value === "number" ? String(value) : value;
  if (typeof version === "string" && /^[1-9][0-9]{0,14}$/.test(version)) return version;
  throw invalid(`'version' is ${describe(value)}, expected a whole number, 1 or more`);
}

function decodeCount(value: unknown, what: string, least: number): number {
  const isWhole = typeof value === "number" && Number.isInteger(value);
  if (isWhole && value >= least && value <= MOST_ITERATIONS) return value;
  const expected = `a whole number from ${least} to ${MOST_ITERATIONS}`;
  throw invalid(`${what} is ${describe(value)}, expected ${expected}`);
}

function decodeName(value: unknown, what: string): string {
  const name = string(value, what);
  if (name.length <= LONGEST_NAME) return name;
  throw invalid(`${what} has ${name.length} characters, expected at most ${LONGEST_NAME}`);
}

function decodeResumePoint(value: Fields[string]): ResumePoint {
  const point = string(value, "'resume_from'");
  const [, model, version] = /^([^/]+)(?:\/([1-9][0-9]{0,14}))?$/.exec(point) ?? [];
  if (model !== undefined) return { model, version: version ? Number(version) : undefined };
  throw invalid(
    `'resume_from' is ${
      describe(point)
    }, expected a model and a version such as 'digits_trained/7', ` +
      "or a model for its newest version",
  );
}
