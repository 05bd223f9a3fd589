/**
 * Cast: of what is known beforehand to numbers of another type, and of anything to its own.
 *
 * @module
 */
import { datatypeOf, elementTypeName } from "../../onnx/element_types.ts";
import { isKnownDatatype, numbersOf, tensorOf } from "./numbers.ts";
import type { DeviceOperator, OperatorCall } from "./operator.ts";

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
    return to !== undefined && isKnownDatatype(to)
      ? tensorOf(to, shape, numbersOf(tensor))
      : undefined;
  },
  lower(call, output, lowering) {
    lowering.define(call.node.outputs[0], output, lowering.place(call.input(0)));
  },
};

function target(call: OperatorCall) {
  return datatypeOf(call.number("to", 0));
}
