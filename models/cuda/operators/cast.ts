/**
 * Cast: of what is known beforehand to numbers of another type, and of anything to its own.
 *
 * @module
 */
import { datatypeOf, elementTypeName } from "../../onnx/element_types.ts";
import { isKnownDatatype, numbersOf, tensorOf } from "./numbers.ts";
import type { DeviceOperator, OperatorCall } from "./operator.ts";

/** What integers are below, and their negatives not. */
const BOUNDS = { INT32: 2 ** 31, INT64: 2 ** 63 };

/** The row of the table. */
export const cast: DeviceOperator = {
  infer(call) {
    const { datatype, shape } = call.input(0);
    if (target(call) === datatype) return { datatype, shape };
    const name = elementTypeName(call.number("to", 0));
    throw call.unsupported(`turns ${datatype} into ${name}, which the cuda device does not`);
  },
  evaluate(call) {
    const { tensor, datatype, shape } = call.input(0);
    const to = target(call);
    if (tensor === undefined || to === datatype) return tensor;
    if (to === undefined || !isKnownDatatype(to)) return undefined;
    const values = numbersOf(tensor);
    if (to !== "FP32") {
      const bound = BOUNDS[to];
      const outside = values.find((value) => !(Math.trunc(value) >= -bound && value < bound));
      if (outside !== undefined) {
        throw call.invalid(`turns ${outside} into ${to}, which has no such number`);
      }
    }
    return tensorOf(to, shape, values);
  },
  lower(call, output, lowering) {
    lowering.define(call.node.outputs[0], output, lowering.place(call.input(0)));
  },
};

function target(call: OperatorCall) {
  return datatypeOf(call.number("to", 0));
}
