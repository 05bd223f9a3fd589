/**
 * Cases of norms.cu.
 *
 * @module
 */
import { assertClose } from "../compare.ts";
import { f32, i32, input, output } from "../gpu.ts";
import { uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";
import { layerNorm, softmax } from "../references/rows.ts";

/** Softmax by warps, and layer normalisation by blocks of several sizes. */
export const normCases: readonly KernelCase[] = [
  ...[[1, 1], [5, 1000], [8, 1024], [3, 31]].map(([rows, columns]): KernelCase => ({
    name: `softmax_rows of ${rows} x ${columns}`,
    module: "norms",
    async run(gpu, ptx) {
      const x = uniform(rows * columns, columns, 10);
      const out = output(new Float32Array(x.length));
      await gpu.run(ptx, [{
        kernel: "softmax_rows",
        grid: [Math.ceil(rows / 4)],
        block: [128],
        arguments: [input(x), out, i32(rows), i32(columns)],
      }]);
      const expected = softmax(x, { outer: rows, axis: columns, inner: 1 });
      assertClose(out.data, expected, { relative: 1e-5 }, "out");
    },
  })),
  ...[[2, 1000, 128], [3, 77, 32], [1, 2000, 1024], [2, 1, 64]].map((
    [rows, columns, block],
  ): KernelCase => ({
    name: `layer_norm of ${rows} x ${columns} by blocks of ${block}`,
    module: "norms",
    async run(gpu, ptx) {
      const x = uniform(rows * columns, columns, 4);
      const scale = uniform(columns, 1), shift = uniform(columns, 2);
      const out = output(new Float32Array(x.length));
      await gpu.run(ptx, [{
        kernel: "layer_norm",
        grid: [rows],
        block: [block],
        arguments: [input(x), input(scale), input(shift), out, i32(columns), f32(1e-5)],
      }]);
      const expected = layerNorm(x, scale, shift, columns, 1e-5);
      assertClose(out.data, expected, { ofLargest: 2e-6 }, "out");
    },
  })),
];
