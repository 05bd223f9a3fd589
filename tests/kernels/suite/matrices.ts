/**
 * Cases of matrices.cu.
 *
 * @module
 */
import { assertClose } from "../compare.ts";
import { type Elements, input, output } from "../gpu.ts";
import { bfloats, halves, integers, uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";
import { product } from "../references/gemm.ts";
import { saturate } from "../references/rounding.ts";

/** Every type of operand and sum; fragments whose layout only the hardware knows. */
export const matrixCases: readonly KernelCase[] = [
  matrixCase("wmma_f16", [16, 16, 16], halves, new Float32Array(256), {
    transposed: true,
    added: uniform(256, 3),
  }),
  matrixCase("wmma_bf16", [16, 16, 16], bfloats, new Float32Array(256)),
  // Halves are exact as tf32.
  matrixCase(
    "wmma_tf32",
    [16, 16, 8],
    (n, seed) => Float32Array.from(halves(n, seed)),
    new Float32Array(256),
  ),
  matrixCase("wmma_s8", [32, 8, 16], bytes, new Int32Array(256)),
  matrixCase("wmma_s8_bounded", [32, 8, 16], bytes, new Int32Array(256), {
    added: integers(256, 3, 2).map((above) => above === 1 ? 2 ** 31 - 1 : -(2 ** 31)),
  }),
  matrixCase(
    "wmma_f64",
    [8, 8, 4],
    (n, seed) => Float64Array.from(uniform(n, seed)),
    new Float64Array(64),
  ),
  matrixCase("mma_s8", [16, 8, 32], bytes, new Int32Array(128), { transposed: true }),
  // Small whole numbers: their sums are exact as halves, in whatever order.
  matrixCase(
    "half_sums",
    [16, 16, 16],
    (n, seed) => Float16Array.from(integers(n, seed, 7), (value) => value - 3),
    new Float16Array(256),
  ),
];

/** What the kernel gets, and the numbers that it stands for where that is something else. */
type Operand = Elements | { readonly bits: Elements; readonly values: ArrayLike<number> };

function bytes(count: number, seed: number): Operand {
  const values = Int8Array.from(integers(count, seed, 256), (value) => value - 128);
  return { bits: new Uint8Array(values.buffer), values };
}

function matrixCase(
  kernel: string,
  size: readonly [m: number, n: number, k: number],
  operand: (count: number, seed: number) => Operand,
  result: Elements,
  { transposed = false, added }: {
    transposed?: boolean;
    added?: Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>;
  } = {},
): KernelCase {
  return {
    name: `${kernel} of ${size.join(" x ")}`,
    module: "matrices",
    async run(gpu, ptx) {
      const [m, n, k] = size;
      const a = operand(m * k, 1), b = operand(k * n, 2);
      const out = output(result.slice());
      await gpu.run(ptx, [{
        kernel,
        grid: [1],
        block: [32],
        arguments: [
          ...[a, b].map((each) => input("bits" in each ? each.bits : each)),
          ...(added ? [input(added)] : []),
          out,
        ],
      }]);
      const valuesOf = (each: Operand) => "bits" in each ? each.values : each;
      const expected = product({ data: valuesOf(a) }, { data: valuesOf(b), transposed }, m, n, k)
        .map((sum, at) => sum + (added?.[at] ?? 0));
      if (added instanceof Int32Array) {
        expected.forEach((sum, at) => expected[at] = saturate(sum, -(2 ** 31), 2 ** 31 - 1));
      }
      const ofLargest = result instanceof Int32Array ? 0 : 1e-6;
      assertClose(out.data, expected, { ofLargest }, "out");
    },
  };
}
