/**
 * Which outputs a request gets, and in which encoding.
 *
 * @module
 */
import { SluiceError } from "../../../models/errors.ts";
import type { CarriedTensor, Model } from "../../../models/model.ts";
import { hasJsonForm, noJsonForm } from "./bytes_to_json.ts";
import { checkClassification } from "./classification.ts";
import type { DecodedRequest, RequestedOutput } from "./request.ts";

/**
 * For every output of the model, in its order, what was asked of it; undefined where it was not
 * asked for. A request that names no outputs wants all of them in one encoding: just that flag.
 */
export type OutputChoice = boolean | readonly (RequestedOutput | undefined)[];

/**
 * Checks a request's outputs against the model. An output named twice is given once, as the last
 * entry says. A request of a sequence gets none of those that carry over to the next.
 *
 * @throws {SluiceError} `invalid_argument` for an unknown output or one that its encoding cannot carry.
 */
export function chooseOutputs(model: Model, request: DecodedRequest): OutputChoice {
  const { outputs } = model.signature;
  const carry = request.sequence === undefined ? [] : model.sequence?.carry ?? [];
  if (request.outputs === undefined) {
    if (!request.binaryOutputs) {
      for (let i = 0; i < outputs.length; i++) {
        const { name, datatype } = outputs[i];
        if (hasJsonForm(datatype) || carry.some(({ output }) => output === name)) continue;
        throw noJsonForm(name, datatype);
      }
    }
    return request.binaryOutputs;
  }
  const choice: (RequestedOutput | undefined)[] = outputs.map(() => undefined);
  for (const wanted of request.outputs) {
    const at = outputs.findIndex((output) => output.name === wanted.name);
    if (at < 0) throw unknownOutput(model, wanted.name);
    const carried = carry.find(({ output }) => output === wanted.name);
    if (carried !== undefined) throw carriedOutput(model, carried);
    const { datatype } = outputs[at];
    if (wanted.classes > 0) checkClassification(wanted.name, datatype);
    else if (!wanted.binary && !hasJsonForm(datatype)) throw noJsonForm(wanted.name, datatype);
    choice[at] = wanted;
  }
  return choice;
}

function carriedOutput(model: Model, { input, output }: CarriedTensor): SluiceError {
  return new SluiceError(
    "invalid_argument",
    `Output '${output}' of model '${model.name}' stays on the device, as input '${input}' of the ` +
      "sequence's next request: leave it out",
  );
}

function unknownOutput(model: Model, name: string): SluiceError {
  const { outputs, notServed } = model.signature;
  const expected = `expected one of ${outputs.map((output) => `'${output.name}'`).join(", ")}`;
  return new SluiceError(
    "invalid_argument",
    notServed.includes(name)
      ? `Output '${name}' of model '${model.name}' is no tensor and is not served, ${expected}`
      : `Unexpected output '${name}' for model '${model.name}', ${expected}`,
  );
}
