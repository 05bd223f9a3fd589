/**
 * Operators on what is known before an iteration starts: constants, and arithmetic on shapes. The
 * device never sees them.
 *
 * @module
 */
import { broadcastShape, normalAxis, ShapeFault } from "../../onnx/shapes.ts";
import type { Tensor } from "../../tensor.ts";
import {
  broadcastNumbers,
  isKnownDatatype,
  type KnownDatatype,
  numbersOf,
  tensorOf,
} from "./numbers.ts";
import type { KnownOperator, OperatorCall } from "./operator.ts";

/** A value of the file. */
export const constant: KnownOperator = known((call) => {
  const tensor = call.tensor("value");
  if (tensor !== undefined) return tensor;
  const { attributes } = call.node;
  if (attributes.has("value_float")) return tensorOf("FP32", [], [call.number("value_float", 0)]);
  if (attributes.has("value_int")) return tensorOf("INT64", [], [call.number("value_int", 0)]);
  const floats = call.numbers("value_floats");
  if (floats !== undefined) return tensorOf("FP32", [floats.length], floats);
  const integers = call.numbers("value_ints");
  if (integers !== undefined) return tensorOf("INT64", [integers.length], integers);
  throw call.unsupported("holds no dense tensor of numbers");
});

/** The same value everywhere. */
export const constantOfShape: KnownOperator = known((call) => {
  const shape = call.setting(0)!;
  const value = call.tensor("value") ?? tensorOf("FP32", [1], [0]);
  return tensorOf(
    knownDatatype(call, value),
    shape,
    broadcastNumbers({ ...value, shape: [] }, shape),
  );
});

/** The shape of a value; its own values need not be known. */
export const shape: KnownOperator = {
  settings: [0],
  evaluate(call) {
    const dims = call.input(0).shape;
    const part = dims.slice(call.number("start", 0), call.number("end", dims.length));
    return tensorOf("INT64", [part.length], part);
  },
};

/** Elements of a vector by their places. */
export const gather: KnownOperator = known((call) => {
  const values = vector(call, 0);
  const places = call.input(1).tensor!;
  const picked = numbersOf(places).map((place) => values[normalAxis(place, values.length)]);
  return tensorOf(knownDatatype(call, call.input(0)), places.shape, picked);
});

/** Vectors one behind the other. */
export const concat: KnownOperator = known((call) => {
  const values = Array.from({ length: call.inputCount }, (_, i) => vector(call, i)).flat();
  return tensorOf(knownDatatype(call, call.input(0)), [values.length], values);
});

/** A part of a vector. */
export const slice: KnownOperator = known((call) => {
  const values = vector(call, 0);
  const [start] = call.setting(1) ?? call.numbers("starts") ?? [0];
  const [end] = call.setting(2) ?? call.numbers("ends") ?? [values.length];
  const [step] = call.setting(4) ?? [1];
  if (step !== 1) throw call.unsupported(`goes by steps of ${step}; the cuda device does by 1`);
  const part = values.slice(start, end);
  return tensorOf(knownDatatype(call, call.input(0)), [part.length], part);
});

/** A value repeated along some axes. */
export const expand: KnownOperator = known((call) => {
  const tensor = call.input(0).tensor!;
  const shape = broadcastShape(tensor.shape, call.setting(1)!);
  return tensorOf(knownDatatype(call, tensor), shape, broadcastNumbers(tensor, shape));
});

/** A row whose output is computed when all inputs are known. */
function known(compute: (call: OperatorCall) => Tensor): KnownOperator {
  return {
    evaluate: (call) => call.known() && compute(call),
  };
}

function knownDatatype(
  call: OperatorCall,
  { datatype }: Pick<Tensor, "datatype">,
): KnownDatatype {
  if (isKnownDatatype(datatype)) return datatype;
  throw call.unsupported(`is on ${datatype}; the cuda device does it on FP32, INT32 and INT64`);
}

function vector(call: OperatorCall, index: number): number[] {
  const { tensor, shape } = call.input(index);
  if (shape.length === 1) return numbersOf(tensor!);
  throw new ShapeFault(`input ${index} has the shape [${shape}]; the cuda device takes a vector`);
}
