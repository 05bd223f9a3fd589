/**
 * What a plain server needs of the Open Inference Protocol v2: FP32 tensors as JSON numbers or in
 * the binary extension, each request run at once by onnxruntime-node. It runs in Deno and, with its
 * types stripped, in Node.
 *
 * @module
 */
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { InferenceSession, Tensor } from "onnxruntime-node";

/** A request's JSON part, as far as a plain server reads it. */
export interface InferJson {
  /** Comes back with the answer. */
  readonly id?: string;
  /** Defaults for all outputs. */
  readonly parameters?: { readonly binary_data_output?: boolean };
  /** The tensors; the data of those with a size follow in binary. */
  readonly inputs: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape: readonly number[];
    readonly parameters?: { readonly binary_data_size?: number };
    readonly data?: readonly number[];
  }[];
  /** Outputs asked for; all are sent in the form that the first asks for. */
  readonly outputs?: readonly {
    readonly name: string;
    readonly parameters?: { readonly binary_data?: boolean };
  }[];
}

/** A decoded request: tensors by name, and how the answer is wanted. */
export interface InferRequest {
  /** Comes back with the answer. */
  readonly id?: string;
  /** By name, as onnxruntime-node takes them. */
  readonly inputs: Record<string, Tensor>;
  /** Whether the outputs are wanted in binary. */
  readonly binary: boolean;
}

/** An encoded answer: a JSON value, or binary with the length of its JSON part. */
export type InferAnswer =
  | { readonly json: unknown }
  | { readonly body: Uint8Array<ArrayBuffer>; readonly headerLength: number };

/** A request that is wrong; both servers answer it with 400. */
export class BadRequest extends Error {}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Decodes a body of the binary extension whose JSON part is `headerLength` bytes long. */
export function decodeBinary(body: Uint8Array<ArrayBuffer>, headerLength: number): InferRequest {
  if (!(headerLength >= 0 && headerLength <= body.length)) {
    throw new BadRequest(`Expected a header length within the body's ${body.length} bytes`);
  }
  return decode(
    JSON.parse(decoder.decode(body.subarray(0, headerLength))),
    body.subarray(headerLength),
  );
}

/** Decodes a parsed request; `raw` holds the tensors that it sends in binary. */
export function decode(request: InferJson, raw = new Uint8Array(0)): InferRequest {
  if (!Array.isArray(request?.inputs)) throw new BadRequest('Expected an "inputs" array');
  const inputs: Record<string, Tensor> = {};
  let offset = 0;
  for (const { name, datatype, shape, parameters, data } of request.inputs) {
    if (datatype !== "FP32") throw new BadRequest(`Input ${name} is ${datatype}, expected FP32`);
    const size = parameters?.binary_data_size;
    let values: Float32Array<ArrayBuffer>;
    if (size === undefined) {
      values = Float32Array.from(data ?? []);
    } else {
      if (offset + size > raw.length) {
        throw new BadRequest(`The data of input ${name} is cut short`);
      }
      values = floats(raw.subarray(offset, offset += size));
    }
    inputs[name] = new Tensor("float32", values, shape);
  }
  const wanted = request.outputs?.[0];
  const binary = wanted
    ? wanted.parameters?.binary_data === true
    : request.parameters?.binary_data_output === true;
  return { id: request.id, inputs, binary };
}

/** A view when the bytes are aligned, otherwise a copy. */
function floats(bytes: Uint8Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
  return new Float32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4);
}

/** Encodes the answer in the form that the request asked for. */
export function encode(
  model: string,
  request: InferRequest,
  results: InferenceSession.OnnxValueMapType,
): InferAnswer {
  const tensors = Object.entries(results).map(([name, value]) => {
    const { data, dims } = value as Tensor;
    return { name, shape: dims, data: data as Float32Array };
  });
  const head = { id: request.id, model_name: model, model_version: "1" };
  if (!request.binary) {
    const outputs = tensors.map(({ name, shape, data }) => (
      { name, datatype: "FP32", shape, data: Array.from(data) }
    ));
    return { json: { ...head, outputs } };
  }
  const outputs = tensors.map(({ name, shape, data }) => (
    { name, datatype: "FP32", shape, parameters: { binary_data_size: data.byteLength } }
  ));
  const json = encoder.encode(JSON.stringify({ ...head, outputs }));
  const bytes = tensors.reduce((sum, { data }) => sum + data.byteLength, json.length);
  const body = new Uint8Array(bytes);
  body.set(json);
  let offset = json.length;
  for (const { data } of tensors) {
    body.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), offset);
    offset += data.byteLength;
  }
  return { body, headerLength: json.length };
}

/** What the server takes besides JSON, for clients that ask first. */
export const SERVER_METADATA = { extensions: ["binary_tensor_data"] };

/** A model's inputs, as the protocol describes them. */
export function modelMetadata(name: string, { inputMetadata }: InferenceSession): unknown {
  const inputs = inputMetadata.map((input) => ({
    name: input.name,
    datatype: "FP32",
    shape: input.isTensor ? input.shape.map((dim) => typeof dim === "number" ? dim : -1) : [],
  }));
  return { name, versions: ["1"], inputs };
}

/** The command line of a plain server, `--port N --repository DIR`, with the models opened. */
export async function open(): Promise<{ port: number; models: Map<string, InferenceSession> }> {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: {
      port: { type: "string", default: "0" },
      repository: { type: "string", default: "." },
    },
  });
  const models = new Map<string, InferenceSession>();
  for (const name of readdirSync(values.repository).sort()) {
    if (name.startsWith(".")) continue; // what the gateway keeps there
    const file = join(values.repository, name, "1", "model.onnx");
    models.set(name, await InferenceSession.create(file, sessionOptions));
  }
  return { port: Number(values.port), models };
}

/** Every core works on a run; spinning would burn the client's share of them between runs. */
const sessionOptions: InferenceSession.SessionOptions = {
  intraOpNumThreads: availableParallelism(),
  interOpNumThreads: 1,
  extra: { session: { intra_op: { allow_spinning: "0" } } },
};
