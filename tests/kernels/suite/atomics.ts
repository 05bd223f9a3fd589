/**
 * Cases of atomics.cu and scan.cu.
 *
 * @module
 */
import { assertClose, assertSame } from "../compare.ts";
import { i32, input, output, updated } from "../gpu.ts";
import { integers, uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";

/** Counting, adding up, extremes, a lock, and prefix sums. */
export const atomicCases: readonly KernelCase[] = [
  ...[[1, 1, 64], [5000, 3, 128], [777, 2, 96]].map(([count, grid, block]): KernelCase => ({
    name: `histogram of ${count} by ${grid} blocks of ${block}`,
    module: "atomics",
    async run(gpu, ptx) {
      const x = integers(count, 1, 1000);
      const counts = updated(new Int32Array(64));
      await gpu.run(ptx, [{
        kernel: "histogram",
        grid: [grid],
        block: [block],
        arguments: [input(x), counts, i32(count)],
      }]);
      const expected = new Int32Array(64);
      x.forEach((value) => expected[value % 64]++);
      assertSame(counts.data, expected, "counts");
    },
  })),
  ...[[1, 1], [3000, 5], [1000, 7]].map(([count, grid]): KernelCase => ({
    name: `ticketed_sum of ${count} by ${grid} blocks, twice`,
    module: "atomics",
    async run(gpu, ptx) {
      const x = uniform(count, 1);
      const partial = output(new Float32Array(grid)), out = output(new Float64Array(1));
      const ticket = updated(new Uint32Array(1));
      const launch = {
        kernel: "ticketed_sum",
        grid: [grid],
        block: [256],
        arguments: [input(x), partial, ticket, out, i32(count)],
      };
      await gpu.run(ptx, [launch, launch]);
      assertSame(ticket.data, [0], "ticket");
      const expected = x.reduce((sum, value) => sum + value, 0);
      assertClose(out.data, [expected], { relative: 1e-4 }, "out");
    },
  })),
  {
    name: "extremes of 1000",
    module: "atomics",
    async run(gpu, ptx) {
      // Whole numbers: their sum does not depend on the order.
      const x = Float32Array.from(integers(1000, 1, 2001), (value) => value - 1000);
      const out = updated(Float32Array.of(Infinity, -Infinity, 0, 0));
      await gpu.run(ptx, [{
        kernel: "extremes",
        grid: [3],
        block: [100],
        arguments: [input(x), out, i32(x.length)],
      }]);
      const sum = x.reduce((sum, value) => sum + value, 0);
      assertSame(out.data, [Math.min(...x), Math.max(...x), sum, x.length], "out");
    },
  },
  {
    name: "locked, 4 blocks of 8 rounds",
    module: "atomics",
    async run(gpu, ptx) {
      const lock = updated(new Uint32Array(1)), counter = updated(new Uint32Array(1));
      await gpu.run(ptx, [{
        kernel: "locked",
        grid: [4],
        block: [32],
        arguments: [lock, counter, i32(8)],
      }]);
      assertSame(counter.data, [32], "counter");
    },
  },
  ...[1, 512, 700, 40_000].map((count): KernelCase => ({
    name: `scan of ${count}`,
    module: "scan",
    async run(gpu, ptx) {
      const x = integers(count, count, 1000);
      const out = output(new Int32Array(count));
      const blocks = Math.ceil(count / 512);
      await gpu.run(ptx, [{
        kernel: "scan",
        grid: [blocks],
        block: [128],
        arguments: [
          input(x),
          out,
          updated(new Uint32Array(1)),
          updated(new Uint32Array(2 * blocks)),
          i32(count),
        ],
      }]);
      let sum = 0;
      assertSame(out.data, x.map((value) => sum += value), "out");
    },
  })),
];
