/**
 * Cases of what OpenAI Triton has compiled, see generators/triton_kernels.py.
 *
 * @module
 */
import { assertClose, assertSame } from "../compare.ts";
import { i32, input, type KernelArgument, type KernelLaunch, NULL, output } from "../gpu.ts";
import { halves, integers, uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";
import launches from "../ptx/triton.json" with { type: "json" };
import { product } from "../references/gemm.ts";
import { softmax } from "../references/rows.ts";

/** Triton's targets: it compiles a kernel for each on its own. */
const TARGETS = [80, 90] as const;

/** Addition, softmax, a matrix product and a prefix sum. */
export const tritonCases: readonly (KernelCase & { readonly target: number })[] = TARGETS.flatMap(
  (target) => [
    ...[1, 1500].map((count) => ({
      name: `vector_add of ${count} by Triton`,
      module: "triton_vector_add",
      target,
      async run(gpu, ptx) {
        const x = uniform(count, 1), y = uniform(count, 2);
        const out = output(new Float32Array(count));
        const grid = [Math.ceil(count / 512)];
        await gpu.run(ptx, [
          launch("vector_add", target, grid, [input(x), input(y), out, i32(count)]),
        ]);
        assertSame(out.data, x.map((value, i) => value + y[i]), "out");
      },
    } satisfies KernelCase & { target: number })),
    ...[[1, 1], [3, 1000]].map(([rows, columns]) => ({
      name: `softmax of ${rows} x ${columns} by Triton`,
      module: "triton_softmax",
      target,
      async run(gpu, ptx) {
        const x = uniform(rows * columns, 1, 10);
        const out = output(new Float32Array(x.length));
        await gpu.run(ptx, [launch("softmax", target, [rows], [input(x), out, i32(columns)])]);
        const expected = softmax(x, { outer: rows, axis: columns, inner: 1 });
        assertClose(out.data, expected, { relative: 1e-5 }, "out");
      },
    } satisfies KernelCase & { target: number })),
    ...[[32, 32, 32], [40, 48, 80], [5, 16, 16]].map((size) => ({
      name: `matmul of ${size.join(" x ")} by Triton`,
      module: "triton_matmul",
      target,
      async run(gpu, ptx) {
        const [m, n, k] = size;
        const a = halves(m * k, 1), b = halves(k * n, 2);
        const c = output(new Float32Array(m * n));
        const grid = [Math.ceil(m / 32), Math.ceil(n / 32)];
        await gpu.run(ptx, [
          launch("matmul", target, grid, [input(a), input(b), c, ...size.map(i32)]),
        ]);
        const expected = product({ data: a }, { data: b }, m, n, k);
        assertClose(c.data, expected, { relative: 1e-6, ofLargest: 1e-6 }, "c");
      },
    } satisfies KernelCase & { target: number })),
    {
      name: "prefix_sum of 200 by Triton",
      module: "triton_prefix_sum",
      target,
      async run(gpu, ptx) {
        const x = integers(200, 1, 1000);
        const out = output(new Int32Array(200));
        await gpu.run(ptx, [launch("prefix_sum", target, [1], [input(x), out, i32(200)])]);
        let sum = 0;
        assertSame(out.data, x.map((value) => sum += value), "out");
      },
    } satisfies KernelCase & { target: number },
  ],
);

/** With the two buffers that Triton appends for its own use, which these kernels do without. */
function launch(
  kernel: string,
  target: typeof TARGETS[number],
  grid: readonly number[],
  given: readonly KernelArgument[],
): KernelLaunch {
  const { threads, sharedBytes } =
    launches[`triton_${kernel}.sm_${target}` as keyof typeof launches];
  return { kernel, grid, block: [threads], sharedBytes, arguments: [...given, NULL, NULL] };
}
