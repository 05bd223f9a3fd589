/**
 * An inference request's body as named tensors: JSON, JSON followed by binary tensors, or nothing
 * but one raw tensor. Pure, and free of models: it also runs in a Worker.
 *
 * Format: KServe's Open Inference Protocol v2 with Triton's binary tensor data extension.
 *
 * @module
 */
import { messageOf, SluiceError } from "../../../models/errors.ts";
import { DATATYPE_BYTES, elementCount, isDatatype, type Tensor } from "../../../models/tensor.ts";
import { describe } from "../describe.ts";
import type { Fields } from "../json_body.ts";
import { binaryData } from "./binary_data.ts";
import { checkElementCount, checkElementsWithNul } from "./bytes_limits.ts";
import { needsExactJson, parseExactJson } from "./exact_json.ts";
import { array, boolean, invalid, object, string, wholeNumber } from "./fields.ts";
import { jsonToBytes } from "./json_to_bytes.ts";
import { decodeParameters, type Parameters } from "./parameters.ts";

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
export interface DecodedRequest extends Parameters {
  /** Empty when the client sent none. */
  readonly id: string;
  /** In the order they were sent. */
  readonly inputs: readonly Tensor[];
  /** Undefined when the client named none: then all are wanted. */
  readonly outputs?: readonly RequestedOutput[];
}

/** The inputs that a request may name. */
export interface KnownInputs {
  /** Whose they are. */
  readonly model: string;
  /** In the model's order. */
  readonly names: readonly string[];
}

const decoder = new TextDecoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Decodes a body whose first `jsonBytes` bytes are JSON and whose rest are binary tensors, which
 * become views.
 *
 * @throws {SluiceError} `invalid_argument`, or `unsupported` for shared memory.
 */
export function decodeRequest(
  body: Uint8Array<ArrayBuffer>,
  jsonBytes: number,
  known: KnownInputs,
): DecodedRequest {
  const hint = jsonBytes === body.byteLength ? NO_LENGTH : "";
  const text = decodeText(hint === "" ? body.subarray(0, jsonBytes) : body, hint);
  const exact = needsExactJson(text);
  const { id, parameters, inputs, outputs } = parse(text, exact, hint);
  return {
    id: id === undefined ? "" : string(id, "The request's 'id'"),
    inputs: decodeInputs(inputs, body, jsonBytes, exact, known),
    outputs: outputs === undefined ? undefined : decodeOutputs(outputs),
    ...decodeParameters(parameters),
  };
}

/** What is missing where binary tensors are taken for JSON. */
const NO_LENGTH = "; where binary tensors follow the JSON, the header " +
  "Inference-Header-Content-Length gives its length";

/** A strict decoder takes up to ten times longer, so it is asked only where the other replaced. */
function decodeText(bytes: Uint8Array<ArrayBuffer>, hint: string): string {
  const text = decoder.decode(bytes);
  if (!text.includes("\uFFFD")) return text;
  try {
    return strictDecoder.decode(bytes);
  } catch {
    throw invalid(`The request's JSON is not valid UTF-8${hint}`);
  }
}

function parse(text: string, exact: boolean, hint: string): Fields {
  let value: unknown;
  try {
    value = exact ? parseExactJson(text) : JSON.parse(text);
  } catch (fault) {
    if (text === "") throw invalid("The request has no body, expected a JSON object");
    const hasBinary = text.includes('"binary_data_size"');
    throw invalid(`The request is not valid JSON: ${messageOf(fault)}${hasBinary ? hint : ""}`);
  }
  return object(value, "The request");
}

function decodeInputs(
  value: unknown,
  body: Uint8Array<ArrayBuffer>,
  jsonBytes: number,
  exact: boolean,
  known: KnownInputs,
): readonly Tensor[] {
  const entries = array(value, "The request's 'inputs'");
  const inputs: Tensor[] = [];
  let at = jsonBytes;
  let strings = 0;
  for (let i = 0; i < entries.length; i++) {
    const entry = object(entries[i], "Entry %s of 'inputs'", i);
    const name = string(entry.name, "The 'name' of entry %s of 'inputs'", i);
    if (!known.names.includes(name)) throw unknownInput(name, known);
    const { datatype } = entry;
    if (typeof datatype !== "string" || !isDatatype(datatype)) {
      throw invalid(
        `The 'datatype' of input '${name}' is ${describe(datatype)}, ` +
          `expected one of ${Object.keys(DATATYPE_BYTES).join(", ")}`,
      );
    }
    const shape = decodeShape(name, entry.shape);
    if (datatype === "BYTES") checkElementCount(name, strings += elementCount(shape));
    const size = binarySize(name, entry.parameters);
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
      data = binaryData({ name, datatype, shape }, size, body, at);
      at += data.byteLength;
    }
    inputs.push({ name, datatype, shape, data });
  }
  checkElementsWithNul(inputs, strings);
  if (at !== body.byteLength) {
    throw invalid(
      `The body has ${body.byteLength - jsonBytes} bytes after its JSON, ` +
        `expected ${at - jsonBytes}, the sum of 'binary_data_size' over the inputs`,
    );
  }
  return inputs;
}

/** Said before anything else of an input: the rest is beside the point. */
function unknownInput(name: string, { model, names }: KnownInputs): SluiceError {
  const expected = names.map((name) => `'${name}'`).join(", ");
  return invalid(`unexpected inference input '${name}' for model '${model}'; it has ${expected}`);
}

/** Elements whose bytes can still be counted exactly. */
const MAX_ELEMENTS = Number.MAX_SAFE_INTEGER / 8;

/** A shape as it must be: whole dimensions of at least 0 whose product is a number of elements. */
function decodeShape(name: string, value: unknown): readonly number[] {
  const dims = array(value, "The 'shape' of input '%s'", name);
  const shape: number[] = [];
  for (let i = 0; i < dims.length; i++) {
    shape.push(wholeNumber(dims[i], "A dimension in the 'shape' of input '%s'", name));
  }
  if (!(elementCount(shape) <= MAX_ELEMENTS)) {
    throw invalid(`Input '${name}' has shape [${shape}], whose number of elements overflows`);
  }
  return shape;
}

function binarySize(name: string, value: unknown): unknown {
  if (value === undefined) return undefined;
  const parameters = object(value, "The 'parameters' of input '%s'", name);
  refuseSharedMemory(parameters);
  return parameters.binary_data_size;
}

function decodeOutputs(value: unknown): readonly RequestedOutput[] | undefined {
  const entries = array(value, "The request's 'outputs'");
  const outputs: RequestedOutput[] = [];
  for (let i = 0; i < entries.length; i++) {
    const entry = object(entries[i], "Entry %s of 'outputs'", i);
    const name = string(entry.name, "The 'name' of entry %s of 'outputs'", i);
    let binary = false;
    let classes = 0;
    if (entry.parameters !== undefined) {
      const parameters = object(entry.parameters, "The 'parameters' of output '%s'", name);
      refuseSharedMemory(parameters);
      const { binary_data = false, classification = 0 } = parameters;
      binary = boolean(binary_data, "Parameter 'binary_data' of output '%s'", name);
      classes = wholeNumber(classification, "Parameter 'classification' of output '%s'", name);
    }
    outputs.push({ name, binary, classes });
  }
  return outputs.length === 0 ? undefined : outputs;
}

function refuseSharedMemory(parameters: Fields): void {
  if (parameters.shared_memory_region === undefined) return;
  throw new SluiceError("unsupported", "Shared memory regions are not served: send the data");
}
