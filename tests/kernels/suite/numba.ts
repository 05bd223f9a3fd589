/**
 * Cases of what numba-cuda has compiled, see generators/numba_kernels.py.
 *
 * @module
 */
import { assertClose, assertSame } from "../compare.ts";
import { type Buffer, i64, input, type KernelArgument, NULL, output, updated } from "../gpu.ts";
import { integers, uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";
import { collatzSteps, erf } from "../references/special_functions.ts";

/** Calls, libdevice in fp64 and fp32, shared and local memory, atomics, a module with debug data. */
export const numbaCases: readonly KernelCase[] = [
  {
    name: "steps of 100 by numba",
    module: "numba_steps",
    async run(gpu, ptx) {
      const x = integers(100, 1, 10_000).map((value) => value + 1);
      const wide = BigInt64Array.from(x, BigInt);
      const out = output(new Int32Array(100));
      await gpu.run(ptx, [{
        kernel: "steps",
        grid: [2],
        block: [64],
        arguments: [...array(input(new Uint8Array(wide.buffer)), [100], 8), ...array(out, [100])],
      }]);
      assertSame(out.data, x.map(collatzSteps), "out");
    },
  },
  functionsCase("functions", (count) => new Float64Array(count), 1e-13),
  functionsCase("functions_f32", (count) => new Float32Array(count), 2e-6),
  ...["block_sums", "block_sums_debug"].map((kernel): KernelCase => ({
    name: `${kernel} of 300 by numba`,
    module: `numba_${kernel}`,
    async run(gpu, ptx) {
      const x = Float64Array.from(uniform(300, 1));
      const out = output(new Float64Array(3));
      await gpu.run(ptx, [{
        kernel,
        grid: [3],
        block: [128],
        arguments: [...array(input(x), [300]), ...array(out, [3])],
      }]);
      const expected = [0, 128, 256].map((begin) =>
        x.subarray(begin, begin + 128).reduce((sum, value) => sum + value)
      );
      assertClose(out.data, expected, { ofLargest: 1e-14 }, "out");
    },
  })),
  {
    name: "histogram of 500 by numba",
    module: "numba_histogram",
    async run(gpu, ptx) {
      const x = integers(500, 1, 2001).map((value) => value - 1000);
      const counts = updated(new Int32Array(10));
      const extremes = updated(Int32Array.of(-(2 ** 31), 2 ** 31 - 1));
      await gpu.run(ptx, [{
        kernel: "histogram",
        grid: [4],
        block: [128],
        arguments: [...array(input(x), [500]), ...array(counts, [10]), ...array(extremes, [2])],
      }]);
      const expected = new Int32Array(10);
      x.forEach((value) => expected[(value % 10 + 10) % 10]++); // Python's remainder
      assertSame(counts.data, expected, "counts");
      assertSame(extremes.data, [Math.max(...x), Math.min(...x)], "extremes");
    },
  },
  {
    name: "smallest_three of 20 rows by numba",
    module: "numba_smallest_three",
    async run(gpu, ptx) {
      const x = integers(20 * 17, 1, 1000);
      const out = output(new Int32Array(20 * 3));
      await gpu.run(ptx, [{
        kernel: "smallest_three",
        grid: [1],
        block: [32],
        arguments: [...array(input(x), [20, 17]), ...array(out, [20, 3])],
      }]);
      const expected = Array.from(
        { length: 20 },
        (_, row) => Array.from(x.subarray(row * 17, row * 17 + 17).toSorted().subarray(0, 3)),
      ).flat();
      assertSame(out.data, expected, "out");
    },
  },
];

function functionsCase(
  kernel: string,
  make: (count: number) => Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>,
  relative: number,
): KernelCase {
  return {
    name: `${kernel} of 100 by numba`,
    module: `numba_${kernel}`,
    async run(gpu, ptx) {
      const x = make(100);
      x.set(uniform(100, 1, 3));
      const out = output(make(800));
      await gpu.run(ptx, [{
        kernel,
        grid: [2],
        block: [64],
        arguments: [...array(input(x), [100]), ...array(out, [100, 8])],
      }]);
      const expected = Array.from(x).flatMap((value) => [
        Math.sin(value),
        Math.exp(value),
        Math.log(Math.abs(value) + 1),
        Math.abs(value) ** 1.5,
        Math.tanh(value),
        erf(value),
        Math.atan2(value, 2),
        value % 0.75,
      ]);
      assertClose(out.data, expected, { relative, ofLargest: relative / 100 }, "out");
    },
  };
}

/**
 * A dense array as numba passes it: two objects of Python's, number and size of the elements, the
 * data, its shape and its strides in bytes.
 */
function array(
  buffer: Buffer,
  shape: readonly number[],
  itemBytes = buffer.data.BYTES_PER_ELEMENT,
): KernelArgument[] {
  const sizes = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, itemBytes));
  const count = shape.reduce((a, b) => a * b);
  return [NULL, NULL, i64(count), i64(itemBytes), buffer, ...shape.map(i64), ...sizes.map(i64)];
}
