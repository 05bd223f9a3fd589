/**
 * Triton's raw binary request: the whole body is the data of the model's only input, and all outputs
 * come back as binary data. The shape is the model's; one free dimension is deduced from the size.
 *
 * @module
 */
import type { Model } from "../../../models/model.ts";
import { DATATYPE_BYTES } from "../../../models/tensor.ts";
import { frameElements } from "../../../models/bytes_elements.ts";
import { invalid } from "./fields.ts";
import { NO_PARAMETERS } from "./parameters.ts";
import type { DecodedRequest } from "./request.ts";

/**
 * The request that a raw body makes for `model`.
 *
 * @throws {SluiceError} `invalid_argument` when the model or the size does not allow one.
 */
export function decodeRaw(model: Model, body: Uint8Array<ArrayBuffer>): DecodedRequest {
  const { inputs } = model.signature;
  if (inputs.length !== 1) {
    throw invalid(
      `A raw request needs a model with 1 input, but '${model.name}' has ${inputs.length}`,
    );
  }
  const { name, datatype } = inputs[0];
  const shape = inputs[0].unranked ? [-1] : [...inputs[0].shape];
  if (model.maxBatchSize > 0) shape[0] = 1;
  const free = shape.indexOf(-1);
  if (free !== shape.lastIndexOf(-1)) {
    throw invalid(
      `A raw request allows one free dimension, but input '${name}' of model '${model.name}' ` +
        `has shape [${shape}]`,
    );
  }
  const size = DATATYPE_BYTES[datatype];
  const known = shape.reduce((product, dim) => dim === -1 ? product : product * dim, 1);
  let data = body;
  if (size === 0) {
    if (known !== 1) {
      throw invalid(
        `A raw request carries one element of BYTES, but input '${name}' has shape [${shape}]`,
      );
    }
    if (free >= 0) shape[free] = 1;
    data = frameElements([body]);
  } else {
    const elements = body.byteLength / size;
    const dim = free < 0 ? 1 : known === 0 ? 0 : elements / known;
    if (!Number.isInteger(dim) || known * dim !== elements) {
      throw invalid(
        `A raw request of ${body.byteLength} bytes does not fill input '${name}': ` +
          `${datatype} of shape [${shape}]`,
      );
    }
    if (free >= 0) shape[free] = dim;
  }
  return {
    id: "",
    inputs: [{ name, datatype, shape, data }],
    ...NO_PARAMETERS,
    binaryOutputs: true,
  };
}
