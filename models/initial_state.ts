/**
 * What the state of a sequence consists of, and the values that it may start from.
 *
 * @module
 */
import { SluiceError } from "./errors.ts";
import type { CarriedTensor, Model } from "./model.ts";
import { byteLength, elementCount, type Tensor } from "./tensor.ts";

/** Bytes of everything that one sequence carries over; 0 for a model without a sequence rule. */
export function carriedBytes({ sequence }: Model): number {
  let bytes = 0;
  for (const { datatype, shape } of sequence?.carry ?? []) bytes += byteLength(datatype, shape);
  return bytes;
}

/** Elements of everything that one sequence carries over. */
export function carriedElements({ sequence }: Model): number {
  let elements = 0;
  for (const { shape } of sequence?.carry ?? []) elements += elementCount(shape);
  return elements;
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
    if (carried === undefined) throw notCarried(model, tensor.name);
    if (state.has(tensor.name)) throw invalid(`Initial value "${tensor.name}" is given twice`);
    checkFits(carried, tensor);
    state.set(tensor.name, tensor);
  }
  return state;
}

function checkFits(carried: CarriedTensor, { name, datatype, shape, data }: Tensor): void {
  const expected = `${carried.datatype} of shape [${carried.shape}]`;
  if (datatype !== carried.datatype || String(shape) !== String(carried.shape)) {
    throw invalid(
      `Initial value "${name}" is ${datatype} of shape [${shape}]; expected ${expected}`,
    );
  }
  const bytes = byteLength(datatype, shape);
  if (data.length !== bytes) {
    throw invalid(
      `Initial value "${name}" has ${data.length} bytes; expected ${bytes} for ${expected}`,
    );
  }
}

function notCarried({ name, version, sequence }: Model, given: string): SluiceError {
  const inputs = (sequence?.carry ?? []).map(({ input }) => `"${input}"`).join(", ");
  return invalid(
    `Initial value "${given}" is no input that model "${name}" version ${version} carries over; ` +
      `expected ${inputs}`,
  );
}

function invalid(message: string): SluiceError {
  return new SluiceError("invalid_argument", message);
}
