/**
 * Launches that work along one axis of a tensor, seen as [outer, axis, inner].
 *
 * @module
 */
import { elementCount } from "../../tensor.ts";
import { MOST_BLOCKS } from "../kernels.ts";
import type { Lowering, Place } from "../lowering.ts";

/** Neighbours along inner that one block takes. */
const LANES = 32;

/**
 * Launches a kernel along the axes from `first` to just before `end`, which count as one.
 *
 * @param shape Of `x`.
 */
export function launchAlong(
  kernel: "reduce_mean_f32" | "softmax_f32",
  lowering: Lowering,
  [x, out]: readonly [x: Place, out: Place],
  shape: readonly number[],
  [first, end]: readonly [first: number, end: number],
): void {
  const [outer, axis, inner] = [
    shape.slice(0, first),
    shape.slice(first, end),
    shape.slice(end),
  ].map(elementCount);
  const grid = [Math.ceil(inner / LANES), Math.min(outer, MOST_BLOCKS), 1] as const;
  lowering.launch(kernel, grid, x, out, outer, axis, inner);
}
