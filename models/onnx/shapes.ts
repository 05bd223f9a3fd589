/**
 * Rules by which operators' outputs get their shapes. Every function throws a {@linkcode ShapeFault}
 * when the operands do not go together.
 *
 * @see https://github.com/onnx/onnx/blob/main/docs/Broadcasting.md
 * @module
 */
import { elementCount } from "../tensor.ts";

/** Shapes that do not fit each other, or an operator. */
export class ShapeFault extends Error {
  /** The error's name. */
  override readonly name = "ShapeFault";
}

/** The shape that both are stretched to, axes aligned at the end. */
export function broadcastShape(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const [left, right] = [dimFromEnd(a, rank - axis), dimFromEnd(b, rank - axis)];
    if (left === right || right === 1) return left;
    if (left === 1) return right;
    throw new ShapeFault(`shapes [${a}] and [${b}] cannot be broadcast`);
  });
}

function dimFromEnd(shape: readonly number[], fromEnd: number): number {
  return shape[shape.length - fromEnd] ?? 1;
}

/** Row-major strides in elements, by which `shape` is read as `as`: 0 where it repeats. */
export function broadcastStrides(shape: readonly number[], as: readonly number[]): number[] {
  const strides = new Array<number>(as.length).fill(0);
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (shape[axis] !== 1) strides[axis + as.length - shape.length] = stride;
    stride *= shape[axis];
  }
  return strides;
}

/** An axis counted from the end when negative. */
export function normalAxis(axis: number, rank: number): number {
  const normal = axis < 0 ? axis + rank : axis;
  if (Number.isInteger(normal) && normal >= 0 && normal < Math.max(rank, 1)) return normal;
  throw new ShapeFault(`axis ${axis} is not one of a tensor of rank ${rank}`);
}

/** Distinct axes in ascending order. */
export function normalAxes(axes: readonly number[], rank: number): number[] {
  const normal = axes.map((axis) => normalAxis(axis, rank)).sort((a, b) => a - b);
  const twice = normal.find((axis, i) => axis === normal[i - 1]);
  if (twice !== undefined) throw new ShapeFault(`axis ${twice} is named twice`);
  return normal;
}

/** The product of two stacks of matrices; a vector counts as a matrix of one row or column. */
export function productShape(a: readonly number[], b: readonly number[]): number[] {
  if (a.length === 0 || b.length === 0) {
    throw new ShapeFault(`shapes [${a}] and [${b}] are not both matrices`);
  }
  const left = a.length === 1 ? [1, ...a] : a;
  const right = b.length === 1 ? [...b, 1] : b;
  if (left.at(-1) !== right.at(-2)) {
    throw new ShapeFault(`matrices of shapes [${a}] and [${b}] have no product`);
  }
  const stack = broadcastShape(left.slice(0, -2), right.slice(0, -2));
  if (a.length > 1) stack.push(left.at(-2)!);
  if (b.length > 1) stack.push(right.at(-1)!);
  return stack;
}

/**
 * A shape with its -1 settled, and its zeros taken from the input.
 *
 * @param zeroIsSize Whether 0 is a size like any other.
 */
export function reshapedShape(
  input: readonly number[],
  target: readonly number[],
  zeroIsSize: boolean,
): number[] {
  const shape = target.map((dim, axis) => {
    if (dim !== 0 || zeroIsSize) return dim;
    if (axis < input.length) return input[axis];
    throw new ShapeFault(`shape [${target}] takes axis ${axis} of a tensor of shape [${input}]`);
  });
  const open = shape.indexOf(-1);
  const known = elementCount(shape.filter((dim) => dim !== -1));
  if (open >= 0 && known > 0) shape[open] = elementCount(input) / known;
  if (shape.every((dim) => Number.isInteger(dim) && dim >= 0)) {
    if (elementCount(shape) === elementCount(input)) return shape;
  }
  throw new ShapeFault(`a tensor of shape [${input}] cannot be given the shape [${target}]`);
}

/** Two axes: all before `axis` as one, and the rest. */
export function flattenedShape(shape: readonly number[], axis: number): number[] {
  const split = axis === shape.length ? axis : normalAxis(axis, shape.length);
  return [elementCount(shape.slice(0, split)), elementCount(shape.slice(split))];
}

/** Without the axes named, all of size 1; without all such axes when none is named. */
export function squeezedShape(shape: readonly number[], axes?: readonly number[]): number[] {
  if (axes === undefined || axes.length === 0) return shape.filter((dim) => dim !== 1);
  const dropped = normalAxes(axes, shape.length);
  const wide = dropped.find((axis) => shape[axis] !== 1);
  if (wide === undefined) return shape.filter((_, axis) => !dropped.includes(axis));
  throw new ShapeFault(`axis ${wide} of shape [${shape}] is not 1, so it cannot be left out`);
}

/** With axes of size 1 put in, where the result has them. */
export function unsqueezedShape(shape: readonly number[], axes: readonly number[]): number[] {
  const rank = shape.length + axes.length;
  const added = normalAxes(axes, rank);
  const kept = shape.values();
  return Array.from(
    { length: rank },
    (_, axis) => added.includes(axis) ? 1 : kept.next().value!,
  );
}

/** With the axes reduced to 1, or left out. */
export function reducedShape(
  shape: readonly number[],
  axes: readonly number[],
  keepsAxes: boolean,
): number[] {
  return shape.flatMap((dim, axis) => axes.includes(axis) ? (keepsAxes ? [1] : []) : [dim]);
}
