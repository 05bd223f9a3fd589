/**
 * An inference request's body as named tensors: JSON, JSON followed by binary tensors, or nothing
 * but one raw tensor. Pure, and free of models: it also runs in a Worker.
 *
 * Format: KServe's Open Inference Protocol v2 with Triton's binary tensor data, parameters and
 * schedule policy extensions.
 *
 * @module
 */
import { SluiceError } from "../../../models/errors.ts";
import {
  type Datatype,
  DATATYPE_BYTES,
  elementCount,
  isDatatype,
  type Tensor,
} from "../../../models/tensor.ts";
import { describe } from "../describe.ts";
import type { Fields } from "../json_body.ts";
import { countElements } from "./bytes_elements.ts";
import { needsExactJson, parseExactJson } from "./exact_json.ts";
import { jsonToBytes } from "./json_to_bytes.ts";

/** An entry of a request's `outputs`. */
export interface RequestedOutput {
  /** The output's name. */
  readonly name: string;
  /** Whether its data shall follow the JSON. */
  readonly binary: boolean;
  /** Elements of the classification asked for; 0 when none is. */
  readonly classes: number;
}

/** What a request asks, in the gateway's own terms. */
export interface DecodedRequest {
  /** Empty when the client sent none. */
  readonly id: string;
  /** In the order they were sent. */
  readonly inputs: readonly Tensor[];
  /** Undefined when the client named none: then all are wanted. */
  readonly outputs?: readonly RequestedOutput[];
  /** Whether outputs go out as binary data where the client named none. */
  readonly binaryOutputs: boolean;
  /** 1 is most urgent; 0 when none was given. */
  readonly priority: number;
  /** Microseconds; 0 when none was given. */
  readonly timeoutMicros: number;
}

const decoder = new TextDecoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Decodes a body whose first `jsonBytes` bytes are JSON and whose rest are binary tensors, which
 * become views.
 *
 * @throws {SluiceError} `invalid_argument`, or `unsupported` for shared memory and sequences.
 */
export function decodeRequest(body: Uint8Array<ArrayBuffer>, jsonBytes: number): DecodedRequest {
  const text = decodeText(jsonBytes === body.byteLength ? body : body.subarray(0, jsonBytes));
  const exact = needsExactJson(text);
  const request = parse(text, exact);
  const parameters = fields(request.parameters, "The request's 'parameters'");
  if (parameters !== undefined) checkParameters(parameters);
  const binaryOutputs = flag(parameters, "binary_data_output", "The request");
  const inputs = decodeInputs(request.inputs, body, jsonBytes, exact);
  return {
    id: optionalText(request.id, "'id'") ?? "",
    inputs,
    outputs: decodeOutputs(request.outputs),
    binaryOutputs,
    priority: whole(parameters, "priority", "The request"),
    timeoutMicros: whole(parameters, "timeout", "The request"),
  };
}

function invalid(message: string): SluiceError {
  return new SluiceError("invalid_argument", message);
}

/** A strict decoder takes up to ten times longer, so it is asked only where the other replaced. */
function decodeText(bytes: Uint8Array<ArrayBuffer>): string {
  const text = decoder.decode(bytes);
  if (!text.includes("\uFFFD")) return text;
  try {
    return strictDecoder.decode(bytes);
  } catch {
    throw invalid("The request's JSON is not valid UTF-8");
  }
}

function parse(text: string, exact: boolean): Fields {
  let value: unknown;
  try {
    value = exact ? parseExactJson(text) : JSON.parse(text);
  } catch (fault) {
    if (text === "") throw invalid("The request has no body, expected a JSON object");
    throw invalid(`The request is not valid JSON: ${(fault as Error).message}`);
  }
  return fields(value, "The request") ?? {};
}

function fields(value: unknown, what: string): Fields | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(`${what} is ${describe(value)}, expected an object`);
  }
  return value as Fields;
}

function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(`${what} is ${describe(value)}, expected an array`);
  return value;
}

function optionalText(value: unknown, what: string): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw invalid(`${what} is ${describe(value)}, expected a string`);
}

function flag(parameters: Fields | undefined, name: string, owner: string): boolean {
  const value = parameters?.[name];
  if (value === undefined) return false;
  if (typeof value === "boolean") return value;
  throw invalid(`${owner} has ${describe(value)} as parameter '${name}', expected true or false`);
}

/** A parameter that is a whole number of at least 0; 0 when absent. */
function whole(parameters: Fields | undefined, name: string, owner: string): number {
  const value = parameters?.[name];
  if (value === undefined) return 0;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw invalid(
    `${owner} has ${describe(value)} as parameter '${name}', expected a whole number, 0 or more`,
  );
}

/** Elements whose bytes can still be counted exactly. */
const MAX_ELEMENTS = Number.MAX_SAFE_INTEGER / 8;

const SEQUENCE = ["sequence_id", "sequence_start", "sequence_end"];

function checkParameters(parameters: Fields): void {
  for (const name of Object.keys(parameters)) {
    const value = parameters[name];
    if (typeof value === "object") {
      throw invalid(
        `Parameter '${name}' is ${describe(value)}, expected a string, a number or a boolean`,
      );
    }
    if (name.startsWith("triton_")) {
      throw invalid(`Parameter '${name}' begins with 'triton_', which is reserved`);
    }
    if (SEQUENCE.includes(name) && value !== 0 && value !== "" && value !== false) {
      throw new SluiceError(
        "unsupported",
        `Parameter '${name}' asks for a sequence, which no model here keeps state for`,
      );
    }
  }
}

function refuseSharedMemory(parameters: Fields, owner: string): void {
  if (parameters.shared_memory_region === undefined) return;
  throw new SluiceError(
    "unsupported",
    `${owner} names a shared memory region, which is not served`,
  );
}

function decodeInputs(
  value: unknown,
  body: Uint8Array<ArrayBuffer>,
  jsonBytes: number,
  exact: boolean,
): readonly Tensor[] {
  const entries = list(value, "The request's 'inputs'");
  const inputs: Tensor[] = [];
  let at = jsonBytes;
  for (let i = 0; i < entries.length; i++) {
    const entry = fields(entries[i], `Entry ${i} of 'inputs'`)!;
    const name = optionalText(entry.name, `The name of entry ${i} of 'inputs'`);
    if (name === undefined) throw invalid(`Entry ${i} of 'inputs' has no 'name'`);
    const datatype = entry.datatype;
    if (typeof datatype !== "string" || !isDatatype(datatype)) {
      throw invalid(
        `Input '${name}' has ${describe(datatype)} as 'datatype', ` +
          `expected one of ${Object.keys(DATATYPE_BYTES).join(", ")}`,
      );
    }
    const shape = shapeOf(name, entry.shape);
    const parameters = fields(entry.parameters, `The 'parameters' of input '${name}'`);
    if (parameters !== undefined) refuseSharedMemory(parameters, `Input '${name}'`);
    const size = parameters?.binary_data_size;
    let data: Uint8Array<ArrayBuffer>;
    if (size === undefined) {
      if (entry.data === undefined) {
        throw invalid(`Input '${name}' has neither 'data' nor the parameter 'binary_data_size'`);
      }
      data = jsonToBytes({ name, datatype, shape }, entry.data, exact);
    } else {
      if (entry.data !== undefined) {
        throw invalid(
          `Input '${name}' has both 'data' and the parameter 'binary_data_size', expected one`,
        );
      }
      data = binaryData(name, size, body, at);
      at += data.byteLength;
      checkSize(name, datatype, shape, data);
    }
    inputs.push({ name, datatype, shape, data });
  }
  if (at !== body.byteLength) {
    throw invalid(
      `The body has ${body.byteLength - jsonBytes} bytes after its JSON, ` +
        `expected ${at - jsonBytes}, the sum of 'binary_data_size' over the inputs`,
    );
  }
  return inputs;
}

/** A shape as it must be: whole dimensions of at least 0 whose product is a number of elements. */
function shapeOf(name: string, value: unknown): readonly number[] {
  const shape = list(value, `The 'shape' of input '${name}'`);
  for (let i = 0; i < shape.length; i++) {
    const dim = shape[i];
    if (!Number.isSafeInteger(dim) || (dim as number) < 0) {
      throw invalid(
        `Input '${name}' has ${describe(dim)} as dimension ${i} of 'shape', ` +
          "expected a whole number, 0 or more",
      );
    }
  }
  const dims = shape as readonly number[];
  if (!(elementCount(dims) <= MAX_ELEMENTS)) {
    throw invalid(`Input '${name}' has shape [${dims}], whose number of elements overflows`);
  }
  return dims;
}

function binaryData(
  name: string,
  size: unknown,
  body: Uint8Array<ArrayBuffer>,
  at: number,
): Uint8Array<ArrayBuffer> {
  if (!Number.isSafeInteger(size) || (size as number) < 0) {
    throw invalid(
      `Input '${name}' has ${describe(size)} as parameter 'binary_data_size', ` +
        "expected a whole number, 0 or more",
    );
  }
  const end = at + (size as number);
  if (end > body.byteLength) {
    throw invalid(
      `Input '${name}' declares ${size} bytes of binary data, ` +
        `but ${body.byteLength - at} are left in the body`,
    );
  }
  return body.subarray(at, end);
}

/** Whether binary data is as long as its datatype and shape say. */
function checkSize(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  data: Uint8Array<ArrayBuffer>,
): void {
  const count = elementCount(shape);
  const size = DATATYPE_BYTES[datatype];
  if (size !== 0) {
    if (data.byteLength === count * size) return;
    throw invalid(
      `Input '${name}' has ${data.byteLength} bytes of binary data, ` +
        `expected ${count * size} for ${datatype} of shape [${shape}]`,
    );
  }
  const given = countElements(data);
  if (given === count) return;
  throw invalid(
    given === undefined
      ? `Input '${name}' has BYTES whose element lengths do not add up to its ` +
        `${data.byteLength} bytes of binary data`
      : `Input '${name}' has ${given} elements of BYTES, expected ${count} for shape [${shape}]`,
  );
}

function decodeOutputs(value: unknown): readonly RequestedOutput[] | undefined {
  if (value === undefined) return undefined;
  const entries = list(value, "The request's 'outputs'");
  if (entries.length === 0) return undefined;
  return entries.map((item, i) => {
    const entry = fields(item, `Entry ${i} of 'outputs'`)!;
    const name = optionalText(entry.name, `The name of entry ${i} of 'outputs'`);
    if (name === undefined) throw invalid(`Entry ${i} of 'outputs' has no 'name'`);
    const owner = `Output '${name}'`;
    const parameters = fields(entry.parameters, `The 'parameters' of output '${name}'`);
    if (parameters !== undefined) refuseSharedMemory(parameters, owner);
    return {
      name,
      binary: flag(parameters, "binary_data", owner),
      classes: whole(parameters, "classification", owner),
    };
  });
}
