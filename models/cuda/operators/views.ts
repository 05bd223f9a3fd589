/**
 * Operators that give the same values another shape, or none at all: nothing is run for them.
 *
 * @module
 */
import {
  flattenedShape,
  reshapedShape,
  squeezedShape,
  unsqueezedShape,
} from "../../onnx/shapes.ts";
import type { DeviceOperator, OperatorCall } from "./operator.ts";

/** y = x. */
export const identity: DeviceOperator = view((call) => call.input(0).shape);
/** Another shape of as many elements. */
export const reshape: DeviceOperator = view((call) => {
  const target = call.setting(1);
  if (target === undefined) throw call.invalid("has no shape to give");
  return reshapedShape(call.input(0).shape, target, call.number("allowzero", 0) !== 0);
}, [1]);
/** A matrix. */
export const flatten: DeviceOperator = view((call) =>
  flattenedShape(call.input(0).shape, call.number("axis", 1))
);
/** Fewer axes of size 1. */
export const squeeze: DeviceOperator = view(
  (call) => squeezedShape(call.input(0).shape, call.setting(1) ?? call.numbers("axes")),
  [1],
);
/** More axes of size 1. */
export const unsqueeze: DeviceOperator = view((call) => {
  const axes = call.setting(1) ?? call.numbers("axes");
  if (axes === undefined) throw call.invalid("has no axes to put in");
  return unsqueezedShape(call.input(0).shape, axes);
}, [1]);

function view(
  shapeOf: (call: OperatorCall) => readonly number[],
  settings?: readonly number[],
): DeviceOperator {
  return {
    settings,
    infer: (call) => ({ datatype: call.input(0).datatype, shape: shapeOf(call) }),
    evaluate(call) {
      const [tensor] = call.known() ?? [];
      return tensor && { ...tensor, shape: shapeOf(call) };
    },
    lower(call, output, lowering) {
      const place = lowering.place(call.input(0));
      lowering.define(call.node.outputs[0], output, place);
    },
  };
}
