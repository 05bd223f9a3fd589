/**
 * Cases of models/cuda/kernels/gemm.cu.
 *
 * @module
 */
import { assertClose } from "../compare.ts";
import { f32, i32, i64, input, type KernelArgument, NULL, output } from "../gpu.ts";
import { uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";
import { product } from "../references/gemm.ts";

/** Values of the flags' activation bits, and what they stand for. */
const ACTIVATIONS: readonly ((x: number) => number)[] = [
  (x) => x,
  (x) => Math.max(x, 0),
  (x) => 1 / (1 + Math.exp(-x)),
  Math.tanh,
];

interface Shape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transposedA?: boolean;
  readonly transposedB?: boolean;
  readonly activation?: number;
  readonly alpha?: number;
  readonly beta?: number;
  /** Elements of the bias to the next row, and to the next column. */
  readonly bias?: readonly [number, number];
  readonly batch?: number;
  /** Whether all matrices of the batch share b. */
  readonly sharedB?: boolean;
  /** Elements that the operands lie behind an aligned address. */
  readonly shift?: number;
}

const SHAPES: readonly Shape[] = [
  { m: 64, n: 64, k: 16 },
  { m: 1, n: 1, k: 1 },
  { m: 65, n: 67, k: 33 },
  { m: 70, n: 132, k: 100, bias: [0, 1] },
  { m: 70, n: 132, k: 100, transposedA: true, bias: [1, 0], activation: 1 },
  { m: 68, n: 36, k: 52, transposedB: true, bias: [0, 0], activation: 2, alpha: 0.5, beta: 2 },
  { m: 68, n: 68, k: 47, transposedA: true, transposedB: true, activation: 3 },
  { m: 33, n: 40, k: 24, bias: [40, 1], alpha: -1, beta: -0.25, shift: 1 },
  { m: 40, n: 33, k: 24, transposedA: true, shift: 3 },
  { m: 20, n: 90, k: 0, bias: [0, 1], activation: 2 },
  { m: 20, n: 24, k: 40, batch: 3 },
  { m: 20, n: 24, k: 40, batch: 3, sharedB: true, transposedB: true },
];

const FEW_ROWS: readonly Shape[] = [
  { m: 1, n: 1, k: 1 },
  { m: 1, n: 10, k: 300, transposedB: true, bias: [0, 1] },
  { m: 8, n: 70, k: 129, bias: [0, 1], activation: 1 },
  { m: 5, n: 33, k: 128, transposedA: true, activation: 3, alpha: 0.5 },
  { m: 8, n: 130, k: 260, transposedA: true, transposedB: true, bias: [1, 0], activation: 2 },
  { m: 3, n: 32, k: 0, bias: [32, 1], beta: 3 },
  { m: 4, n: 40, k: 50, batch: 2, sharedB: true },
];

/** Both kernels on every shape. */
export const gemmCases: readonly KernelCase[] = [
  ...SHAPES.map((shape) =>
    gemmCase("gemm_f32", shape, [Math.ceil(shape.n / 64), Math.ceil(shape.m / 64)], 256)
  ),
  ...FEW_ROWS.map((shape) =>
    gemmCase("gemm_f32_few_rows", shape, [Math.ceil(shape.n / 32), 1], 128)
  ),
  // One block, which has to go on to the columns that others would have taken.
  gemmCase("gemm_f32_few_rows", { m: 2, n: 100, k: 40, bias: [0, 1] }, [1, 1], 128),
  gemmCase("gemm_f32_few_rows", { m: 2, n: 100, k: 140, transposedB: true }, [2, 1], 128),
];

function gemmCase(kernel: string, shape: Shape, grid: number[], block: number): KernelCase {
  const { m, n, k, transposedA, transposedB, activation = 0, alpha = 1, beta = 1 } = shape;
  const { batch = 1, shift = 0, bias } = shape;
  const given = Object.entries(shape).map(([name, value]) => `${name} ${value}`).join(", ");
  return {
    name: `${kernel}, grid ${grid}: ${given}`,
    module: "gemm",
    async run(gpu, ptx) {
      const a = uniform(shift + batch * m * k, 1);
      const b = uniform(shift + (shape.sharedB ? 1 : batch) * k * n, 2);
      const strideB = shape.sharedB ? 0 : k * n;
      const biases = bias && uniform(1 + bias[0] * (m - 1) + bias[1] * (n - 1), 3);
      const c = output(new Float32Array(batch * m * n));
      const flags = (transposedA ? 1 : 0) | (transposedB ? 2 : 0) | activation << 8;
      const operand = (data: Float32Array<ArrayBuffer>): KernelArgument => input(data).from(shift);
      await gpu.run(ptx, [{
        kernel,
        grid: [...grid, batch],
        block: [block],
        arguments: [
          k === 0 ? NULL : operand(a),
          k === 0 ? NULL : operand(b),
          biases ? input(biases) : NULL,
          c,
          ...[m, n, k, flags].map(i32),
          f32(alpha),
          f32(beta),
          ...(bias ?? [0, 0]).map(i32),
          ...[m * k, strideB, m * n].map(i64),
        ],
      }]);

      for (let index = 0; index < batch; index++) {
        const expected = product(
          { data: a, transposed: transposedA, offset: shift + index * m * k },
          { data: b, transposed: transposedB, offset: shift + index * strideB },
          m,
          n,
          k,
        ).map((sum, at) => {
          const [row, column] = [Math.floor(at / n), at % n];
          const added = bias && biases ? beta * biases[row * bias[0] + column * bias[1]] : 0;
          return ACTIVATIONS[activation](alpha * sum + added);
        });
        assertClose(
          c.data.subarray(index * m * n, (index + 1) * m * n),
          expected,
          { relative: 1e-6, ofLargest: 1e-6 },
          `c of matrix ${index}`,
        );
      }
    },
  };
}
