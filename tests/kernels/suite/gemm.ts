/**
 * Cases of sgemm.cu and mma_gemm.cu.
 *
 * @module
 */
import { assertClose } from "../compare.ts";
import { type Elements, i32, input, output } from "../gpu.ts";
import { bfloats, halves, uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";
import { product } from "../references/gemm.ts";

/** m, n and k. */
type Size = readonly [number, number, number];

/** What a kernel gets, and the numbers that it stands for. */
interface Operand {
  readonly bits: Elements;
  readonly values: ArrayLike<number>;
}

/** All products on all sizes. */
export const gemmCases: readonly KernelCase[] = [
  ...productCases("sgemm", "sgemm", ([m, n]) => [[n / 64, m / 64], [16, 16]], float, [
    [1, 1, 1],
    [64, 64, 16],
    [67, 130, 33],
    [128, 64, 100],
  ]),
  ...productCases("sgemm", "sgemm_naive", ([m, n]) => [[n / 32, m / 4], [32, 4]], float, [
    [1, 1, 1],
    [37, 70, 29],
  ]),
  ...["f16", "bf16"].flatMap((type) =>
    productCases(
      "mma_gemm",
      `mma_gemm_${type}`,
      ([m, n]) => [[n / 64, m / 64], [128]],
      type === "f16" ? half : bfloats,
      [
        [1, 1, 1],
        [64, 64, 32],
        [72, 136, 104],
        [65, 67, 33],
        [16, 8, 16],
      ],
    )
  ),
];

function float(count: number, seed: number): Operand {
  const values = uniform(count, seed);
  return { bits: values, values };
}

function half(count: number, seed: number): Operand {
  const values = halves(count, seed);
  return { bits: values, values };
}

function productCases(
  module: string,
  kernel: string,
  launch: (size: Size) => readonly [grid: number[], block: number[]],
  operand: (count: number, seed: number) => Operand,
  sizes: readonly Size[],
): KernelCase[] {
  return sizes.map((size) => ({
    name: `${kernel} of ${size.join(" x ")}`,
    module,
    async run(gpu, ptx) {
      const [m, n, k] = size;
      const [grid, block] = launch(size);
      const a = operand(m * k, 1), b = operand(k * n, 2);
      const c = output(new Float32Array(m * n));
      await gpu.run(ptx, [{
        kernel,
        grid: grid.map(Math.ceil),
        block,
        arguments: [input(a.bits), input(b.bits), c, ...size.map(i32)],
      }]);
      const expected = product({ data: a.values }, { data: b.values }, m, n, k);
      // Products of 16-bit numbers are exact in fp32: only the sums round.
      assertClose(c.data, expected, { relative: 1e-6, ofLargest: 1e-6 }, "c");
    },
  }));
}
