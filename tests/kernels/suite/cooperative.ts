/**
 * Cases of cooperative.cu.
 *
 * @module
 */
import { assertSame } from "../compare.ts";
import { i32, input, output, updated } from "../gpu.ts";
import { integers } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";

/** Groups of all blocks, of parts of a warp, and of the lanes that came along. */
export const cooperativeCases: readonly KernelCase[] = [
  {
    name: "grid_rounds, 6 rounds of 300 by 4 blocks",
    module: "cooperative",
    async run(gpu, ptx) {
      const x = integers(300, 1, 100);
      const a = output(new Int32Array(300)), b = output(new Int32Array(300));
      await gpu.run(ptx, [{
        kernel: "grid_rounds",
        grid: [4],
        block: [64],
        cooperative: true,
        arguments: [input(x), a, b, i32(300), i32(6)],
      }]);
      let expected = Array.from(x);
      for (let round = 0; round < 6; round++) {
        expected = expected.map((value, i) =>
          (expected[i - 1] ?? 0) + value + (expected[i + 1] ?? 0)
        );
      }
      assertSame(a.data, expected, "a");
    },
  },
  {
    name: "tiles of 192 by 2 blocks",
    module: "cooperative",
    async run(gpu, ptx) {
      const x = integers(192, 1, 100);
      const sums = output(new Int32Array(192)), ranks = output(new Int32Array(192));
      await gpu.run(ptx, [{
        kernel: "tiles",
        grid: [2],
        block: [96],
        arguments: [input(x), sums, ranks],
      }]);
      const tileOf = (at: number) => x.subarray(at - at % 8, at - at % 8 + 8);
      assertSame(
        sums.data,
        x.map((_, at) => tileOf(at).reduce((sum, value) => sum + value)),
        "sums",
      );
      assertSame(
        ranks.data,
        x.map((value, at) =>
          tileOf(at).subarray(0, at % 8).filter((other) => other % 2 === value % 2).length
        ),
        "ranks",
      );
    },
  },
  {
    name: "aggregated, odd numbers of 500",
    module: "cooperative",
    async run(gpu, ptx) {
      const x = integers(500, 1, 10_000);
      const odd = x.filter((value) => value % 2 === 1);
      const kept = output(new Int32Array(odd.length)), number = updated(new Int32Array(1));
      await gpu.run(ptx, [{
        kernel: "aggregated",
        grid: [4],
        block: [128],
        arguments: [input(x), kept, number, i32(500)],
      }]);
      assertSame(number.data, [odd.length], "number");
      assertSame(Int32Array.from(kept.data).sort(), odd.sort(), "kept");
    },
  },
  {
    name: "reduced, 3 blocks of 96",
    module: "cooperative",
    async run(gpu, ptx) {
      const x = integers(288, 1, 10_000);
      const out = output(new Int32Array(6));
      await gpu.run(ptx, [{
        kernel: "reduced",
        grid: [3],
        block: [96],
        arguments: [input(x), out],
      }]);
      const expected = [0, 96, 192].flatMap((begin) => {
        const block = x.subarray(begin, begin + 96);
        return [block.reduce((sum, value) => sum + value), Math.max(...block)];
      });
      assertSame(out.data, expected, "out");
    },
  },
];
