/**
 * Cases of models/cuda/kernels/reduce.cu and softmax.cu.
 *
 * @module
 */
import { assertClose, type Tolerance } from "../compare.ts";
import { i32, input, output } from "../gpu.ts";
import { uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";
import { mean, type RowShape, softmax } from "../references/rows.ts";

const SHAPES: readonly RowShape[] = [
  { outer: 3, axis: 1000, inner: 1 },
  { outer: 2, axis: 128, inner: 1 },
  { outer: 4, axis: 10, inner: 1 },
  { outer: 1, axis: 1, inner: 1 },
  { outer: 3, axis: 33, inner: 70 },
  { outer: 2, axis: 4, inner: 32 },
  { outer: 2, axis: 3, inner: 2 },
];

/** Both kernels on every shape; on grids of the least and of one block for each row. */
export const rowCases: readonly KernelCase[] = [
  ...SHAPES.flatMap((shape) => [meanCase(shape), softmaxCase(shape)]),
  // Fewer blocks than rows, as when there are more rows than a grid may be high.
  ...SHAPES.slice(0, 5).flatMap((shape) => [meanCase(shape, 2), softmaxCase(shape, 2)]),
  meanCase({ outer: 2, axis: 0, inner: 3 }),
  softmaxCase({ outer: 2, axis: 0, inner: 3 }),
  {
    name: "softmax_f32 of numbers whose exponentials overflow or vanish, infinities and NaN",
    module: "softmax",
    async run(gpu, ptx) {
      const rows = [
        [3e38, 1e38, -3e38],
        [-1000, -1001, -1002],
        [-Infinity, 0, 1],
        [-Infinity, -Infinity, -Infinity],
        [NaN, 1, 2],
        [1, Infinity, 2],
      ];
      const x = Float32Array.from(rows.flat());
      await runRows(gpu, ptx, "softmax_f32", x, { outer: rows.length, axis: 3, inner: 1 }, 6);
    },
  },
];

function meanCase(shape: RowShape, gridY = shape.outer): KernelCase {
  return rowCase("reduce_mean_f32", "reduce", shape, gridY);
}

function softmaxCase(shape: RowShape, gridY = shape.outer): KernelCase {
  return rowCase("softmax_f32", "softmax", shape, gridY);
}

function rowCase(kernel: Kernel, module: string, shape: RowShape, gridY: number): KernelCase {
  const { outer, axis, inner } = shape;
  return {
    name: `${kernel} of [${outer}, ${axis}, ${inner}], ${gridY} blocks high`,
    module,
    run: (gpu, ptx) =>
      runRows(gpu, ptx, kernel, uniform(outer * axis * inner, axis, 5), shape, gridY),
  };
}

type Kernel = keyof typeof KERNELS;

const KERNELS = {
  reduce_mean_f32: { reference: mean, tolerance: { ofLargest: 2e-6 } },
  softmax_f32: { reference: softmax, tolerance: { relative: 5e-6 } },
} satisfies Record<string, { reference: typeof mean; tolerance: Tolerance }>;

async function runRows(
  gpu: Parameters<KernelCase["run"]>[0],
  ptx: string,
  kernel: Kernel,
  x: Float32Array<ArrayBuffer>,
  shape: RowShape,
  gridY: number,
): Promise<void> {
  const { outer, axis, inner } = shape;
  const { reference, tolerance } = KERNELS[kernel];
  const expected = reference(x, shape);
  const out = output(new Float32Array(expected.length));
  await gpu.run(ptx, [{
    kernel,
    // One column of blocks more than there is work for.
    grid: [Math.ceil(inner / 32) + 1, gridY],
    block: [128],
    arguments: [input(x), out, ...[outer, axis, inner].map(i32)],
  }]);
  assertClose(out.data, expected, tolerance, kernel);
}
