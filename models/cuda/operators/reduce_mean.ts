/**
 * ReduceMean.
 *
 * @module
 */
import { normalAxes, reducedShape } from "../../onnx/shapes.ts";
import { launchAlong } from "./along_axis.ts";
import type { DeviceOperator, OperatorCall } from "./operator.ts";

/** The row of the table. */
export const reduceMean: DeviceOperator = {
  settings: [1],
  infer(call) {
    const { datatype, shape } = call.real(0);
    return {
      datatype,
      shape: reducedShape(shape, axesOf(call), call.number("keepdims", 1) !== 0),
    };
  },
  lower(call, output, lowering) {
    const x = call.real(0);
    const runs = neighbours(axesOf(call)).reverse();
    if (runs.length === 0) {
      lowering.define(call.node.outputs[0], output, lowering.place(x));
      return;
    }
    // Means of means of equally many are means: one run of neighbouring axes after the other.
    let { shape } = x, from = lowering.place(x);
    for (const [i, [first, end]] of runs.entries()) {
      const axes = Array.from({ length: end - first }, (_, axis) => first + axis);
      const reduced = reducedShape(shape, axes, true);
      const isLast = i === runs.length - 1;
      const to = isLast
        ? lowering.output(call, output)
        : lowering.allocate({ datatype: "FP32", shape: reduced });
      launchAlong("reduce_mean_f32", lowering, [from, to], shape, [first, end]);
      [shape, from] = [reduced, to];
    }
  },
};

/** An attribute at first, an input since version 18; none: all axes, unless that means to do nothing. */
function axesOf(call: OperatorCall): number[] {
  const { shape } = call.real(0);
  const axes = call.setting(1) ?? call.numbers("axes") ?? [];
  if (axes.length > 0) return normalAxes(axes, shape.length);
  return call.number("noop_with_empty_axes", 0) !== 0 ? [] : Array.from(shape.keys());
}

/** Ascending axes as ranges without gaps. */
function neighbours(axes: readonly number[]): [first: number, end: number][] {
  const ranges: [number, number][] = [];
  for (const axis of axes) {
    const last = ranges.at(-1);
    if (last?.[1] === axis) last[1]++;
    else ranges.push([axis, axis + 1]);
  }
  return ranges;
}
