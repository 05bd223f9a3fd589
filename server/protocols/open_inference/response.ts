/**
 * An inference response's body: JSON, or JSON followed by binary tensors in one allocation. Pure, and
 * free of models: it also runs in a Worker.
 *
 * @module
 */
import type { Tensor } from "../../../models/tensor.ts";
import { type Classification, classify } from "./classification.ts";
import { bytesToJson } from "./bytes_to_json.ts";
import { allocate } from "./slab.ts";

/** An output on its way out. */
export interface EncodedOutput {
  /** The tensor's name as JSON. */
  readonly quotedName: string;
  /** Its name, datatype, shape and data. */
  readonly tensor: Tensor;
  /** Whether its data follow the JSON. */
  readonly binary: boolean;
  /** Puts the largest values with their labels in the place of all. */
  readonly classification?: Classification;
}

/** A body and how much of it is JSON. */
export interface ResponseBody {
  /** Text where it is JSON alone. */
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Length of the leading JSON where binary tensors follow; 0 where none do. */
  readonly jsonBytes: number;
}

const encoder = new TextEncoder();

/**
 * Writes a response.
 *
 * @param head What stands before the outputs: `{"model_name":...,"outputs":[`.
 * @throws {SluiceError} `invalid_argument` for values that JSON cannot carry.
 */
export function encodeResponse(head: string, given: readonly EncodedOutput[]): ResponseBody {
  const outputs = given.some(isClassified) ? given.map(classified) : given;
  let json = head;
  let blobBytes = 0;
  for (let i = 0; i < outputs.length; i++) {
    const { quotedName, tensor, binary } = outputs[i];
    if (i > 0) json += ",";
    json += '{"name":' + quotedName + ',"datatype":"' + tensor.datatype +
      '","shape":[' + tensor.shape.join(",");
    if (binary) {
      blobBytes += tensor.data.byteLength;
      json += '],"parameters":{"binary_data_size":' + tensor.data.byteLength + "}}";
    } else {
      json += '],"data":' + bytesToJson(tensor) + "}";
    }
  }
  json += "]}";
  if (blobBytes === 0) return { body: json, jsonBytes: 0 };

  // As many bytes as characters, unless a name or a text is not ASCII.
  let body = allocate(json.length + blobBytes);
  let jsonBytes = encoder.encodeInto(json, body).written;
  if (jsonBytes !== json.length) {
    const encoded = encoder.encode(json);
    jsonBytes = encoded.byteLength;
    body = allocate(jsonBytes + blobBytes);
    body.set(encoded);
  }
  let at = jsonBytes;
  for (const { tensor, binary } of outputs) {
    if (!binary) continue;
    body.set(tensor.data, at);
    at += tensor.data.byteLength;
  }
  return { body, jsonBytes };
}

function isClassified({ classification }: EncodedOutput): boolean {
  return classification !== undefined;
}

function classified(output: EncodedOutput): EncodedOutput {
  const { tensor, classification } = output;
  return classification === undefined
    ? output
    : { ...output, tensor: classify(tensor, classification) };
}
