/**
 * Request bodies of the Open Inference Protocol, made before the run so that making them takes no
 * time from it.
 *
 * @module
 */
import { messageOf, SluiceError } from "../../models/errors.ts";
import type { Random } from "../../models/random.ts";
import { randomTensor } from "../../models/random_tensor.ts";
import { DATATYPE_BYTES, elementCount, isDatatype, type Tensor } from "../../models/tensor.ts";
import { type JsonTensor, type JsonValue, tensorFromJson } from "../../models/tensor_json.ts";
import { bytesToJson } from "../../server/protocols/open_inference/bytes_to_json.ts";
import type { ModelLoad } from "./scenario.ts";

/** A model's input as the server's metadata gives it. */
export interface InputMetadata {
  /** The tensor. */
  readonly name: string;
  /** Of the protocol. */
  readonly datatype: string;
  /** -1 where any size goes. */
  readonly shape: readonly number[];
}

/** A request, ready to be sent. */
export interface Payload {
  /** All that it needs. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, with tensors behind it in the binary form. */
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Of one random tensor; several are kept, and a slip of `free` must not take the machine's memory. */
const MOST_BYTES = 2 ** 28;

/**
 * Random values for all inputs of a model.
 *
 * @throws {SluiceError} `invalid_argument` when `shapes` names no input or does not fit one.
 */
export function randomInputs(
  { name: model, free, shapes }: ModelLoad,
  inputs: readonly InputMetadata[],
  random: Random,
): Tensor[] {
  const fault = (message: string) =>
    new SluiceError("invalid_argument", `Model "${model}": ${message}`);
  for (const name of Object.keys(shapes)) {
    if (!inputs.some((input) => input.name === name)) {
      throw fault(
        `shapes names "${name}"; expected one of ${inputs.map((input) => input.name).join(", ")}`,
      );
    }
  }
  if (inputs.length === 0) {
    throw fault("the server's metadata has no inputs; give requests in a file, as inputs");
  }
  return inputs.map(({ name, datatype, shape: declared }) => {
    if (!isDatatype(datatype)) throw fault(`input "${name}" has the unknown datatype ${datatype}`);
    // A leading free dimension is the batch, and a request is one row of it.
    const shape = shapes[name] ??
      declared.map((dim, axis) => dim >= 0 ? dim : axis === 0 ? 1 : free);
    const fits = shape.length === declared.length &&
      declared.every((dim, axis) => dim < 0 || dim === shape[axis]);
    if (!fits) throw fault(`shapes.${name} is [${shape}]; the server's model has [${declared}]`);
    const bytes = elementCount(shape) * (DATATYPE_BYTES[datatype] || 1);
    if (bytes > MOST_BYTES) {
      throw fault(
        `input "${name}" as [${shape}] has ${bytes} bytes; expected ${MOST_BYTES} or less`,
      );
    }
    return randomTensor({ name, datatype, shape }, random);
  });
}

/**
 * Inputs from a file: a request body of the protocol, or an array of them.
 *
 * @throws {SluiceError} `invalid_argument`, naming the tensor and what is wrong with it.
 */
export function fileInputs(json: unknown, path: string): Tensor[][] {
  const requests = Array.isArray(json) ? json : [json];
  return requests.map((request, index) => {
    const inputs: unknown = Object(request).inputs;
    if (!Array.isArray(inputs) || inputs.length === 0) {
      throw new SluiceError(
        "invalid_argument",
        `${path}: request ${index} has no inputs; expected {"inputs": [{"name", ...}]}`,
      );
    }
    return inputs.map((input: JsonTensor, place) => {
      try {
        if (!isDatatype(input.datatype)) throw new RangeError(`has datatype ${input.datatype}`);
        return tensorFromJson(input.data ? { ...input, data: flat(input.data) } : input);
      } catch (cause) {
        throw new SluiceError(
          "invalid_argument",
          `${path}: request ${index}, input ${input?.name ?? place} ${messageOf(cause)}`,
          { cause },
        );
      }
    });
  });
}

/** The protocol allows nested rows. */
function flat(data: unknown): JsonValue[] {
  return Array.isArray(data) ? data.flatMap(flat) : [data as JsonValue];
}

/** A request's place in a sequence. */
export interface SequenceStep {
  /** Unique. */
  readonly id: string;
  /** It is the first. */
  readonly start: boolean;
  /** It is the last. */
  readonly end: boolean;
}

/** Makes a request. The binary form is smaller and exact; servers without it get JSON. */
export function encodeRequest(
  inputs: readonly Tensor[],
  load: Pick<ModelLoad, "priority" | "deadlineMs" | "tenant">,
  binary: boolean,
  step?: SequenceStep,
): Payload {
  const parameters = {
    ...callerParameters(load),
    ...(step && { sequence_id: step.id, sequence_start: step.start, sequence_end: step.end }),
    ...(binary ? { binary_data_output: true } : {}),
  };
  const described = inputs.map(({ name, datatype, shape, data }) => {
    const tensor = { name, datatype, shape };
    return binary ? { ...tensor, parameters: { binary_data_size: data.length } } : tensor;
  });
  if (!binary) {
    const tensors = described.map((tensor, index) =>
      `${JSON.stringify(tensor).slice(0, -1)},"data":${bytesToJson(inputs[index])}}`
    );
    const text = `{"inputs":[${tensors}],"parameters":${JSON.stringify(parameters)}}`;
    return { headers: { "content-type": "application/json" }, body: encode(text) };
  }
  const header = encode(JSON.stringify({ inputs: described, parameters }));
  const parts = [header, ...inputs.map(({ data }) => data)];
  const body = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    body.set(part, at);
    at += part.length;
  }
  const headers = {
    "content-type": "application/octet-stream",
    "inference-header-content-length": String(header.length),
  };
  return { headers, body };
}

/** The parameters that say whose a request is, and how urgent. */
export function callerParameters(
  { priority, deadlineMs, tenant }: Pick<ModelLoad, "priority" | "deadlineMs" | "tenant">,
) {
  const timeout = deadlineMs === undefined ? undefined : Math.round(deadlineMs * 1000);
  return { priority, timeout, tenant };
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
