/**
 * Softmax.
 *
 * @module
 */
import { normalAxis } from "../../onnx/shapes.ts";
import { launchAlong } from "./along_axis.ts";
import type { DeviceOperator } from "./operator.ts";

/** Before this version everything from the axis on counted as one axis. */
const FIRST_ALONG_ONE_AXIS = 13;

/** The row of the table. */
export const softmax: DeviceOperator = {
  infer: (call) => call.real(0),
  lower(call, output, lowering) {
    const x = call.real(0);
    const { shape } = x;
    const along = call.opset >= FIRST_ALONG_ONE_AXIS;
    const first = normalAxis(call.number("axis", along ? -1 : 1), shape.length);
    const end = along ? first + 1 : shape.length;
    const places = [lowering.place(x), lowering.output(call, output)] as const;
    launchAlong("softmax_f32", lowering, places, shape, [first, end]);
  },
};
