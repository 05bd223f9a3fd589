/**
 * What the state of a sequence consists of, and the values that it may start from.
 *
 * @module
 */
import { SluiceError } from "./errors.ts";
import type { CarriedTensor, Model } from "./model.ts";
import { byteLength, type Tensor } from "./tensor.ts";

/** Bytes of everything that one sequence carries over; 0 for a model without a sequence rule. */
export function carriedBytes({ sequence }: Model): number {
  let bytes = 0;
  for (const { datatype, shape } of sequence?.carry ?? []) bytes += byteLength(datatype, shape);
  return bytes;
}

/**
 * Values for carried inputs, by name.
 *
 * @param tensors For any of the carried inputs of the model.
 * @throws {SluiceError} `invalid_argument` for one that is not carried, is there twice, or has
 *   another datatype or shape than one sequence has.
 */
export function initialState(model: Model, tensors: readonly Tensor[]): Map<string, Tensor> {
  const carry = model.sequence?.carry ?? [];
  const state = new Map<string, Tensor>();
  for (const tensor of tensors) {
    const carried = carry.find(({ input }) => input === tensor.name);
    const fault = carried === undefined
      ? `is not carried over; expected ${carry.map(({ input }) => `"${input}"`).join(", ")}`
      : state.has(tensor.name)
      ? "is given twice; expected one"
      : misfit(carried, tensor);
    if (fault !== undefined) {
      throw new SluiceError(
        "invalid_argument",
        `Model "${model.name}" version ${model.version}: initial value "${tensor.name}" ${fault}`,
      );
    }
    state.set(tensor.name, tensor);
  }
  return state;
}

function misfit(carried: CarriedTensor, { datatype, shape, data }: Tensor): string | undefined {
  const expected = `${carried.datatype} of shape [${carried.shape}]`;
  if (datatype !== carried.datatype || String(shape) !== String(carried.shape)) {
    return `is ${datatype} of shape [${shape}]; expected ${expected}`;
  }
  const bytes = byteLength(datatype, shape);
  if (data.length === bytes) return undefined;
  return `has ${data.length} bytes; expected ${bytes} for ${expected}`;
}
