/**
 * Cases of warps.cu.
 *
 * @module
 */
import { assertSame } from "../compare.ts";
import { type Elements, i32, input, type KernelArgument, output } from "../gpu.ts";
import { integers, uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";

const LANES = Array.from({ length: 32 }, (_, lane) => lane);

/** Reductions, shuffles and votes of warps; barriers that count, and that not all wait at. */
export const warpCases: readonly KernelCase[] = [
  warpCase("halves", 32, () => {
    const x = integers(32, 1, 1000).map((value) => value - 500);
    const expected = LANES.flatMap((lane) => {
      const half = Array.from(x.subarray(lane & 16, (lane & 16) + 16));
      return [
        half.reduce((a, b) => a + b),
        Math.min(...half),
        Math.max(...half),
        half.reduce((a, b) => a & b),
        half.reduce((a, b) => a | b),
        half.reduce((a, b) => a ^ b),
      ];
    });
    return { x, expected: Int32Array.from(expected) };
  }),
  warpCase("segments", 32, () => {
    const x = Float64Array.from(uniform(32, 1));
    const expected = LANES.flatMap((lane) => {
      const first = lane - lane % 8;
      return [
        x[Math.max(lane - 1, first)],
        x[Math.min(lane + 1, first + 7)],
        x[first + 7 - lane % 8],
        x[first + 5],
      ];
    });
    return { x, expected: Float64Array.from(expected) };
  }),
  ...[8, 1].map((limit) =>
    warpCase("votes", 32, () => {
      const x = integers(32, 1, limit).map((value) => value + 1);
      const which = (holds: (value: number) => boolean) =>
        LANES.reduce((mask, lane) => mask | Number(holds(x[lane])) << lane, 0);
      const odd = which((value) => value % 2 === 1);
      const expected = Array.from(x).flatMap((own) => [
        Number(odd === -1),
        Number(odd !== 0),
        odd,
        which((value) => value === own),
        Number(x.every((value) => value === own)),
        own % 3 === 0 ? which((value) => value % 3 === 0) : odd & which((value) => value % 3 !== 0),
      ]);
      return { x, expected: Uint32Array.from(expected) };
    })
  ),
  ...[70, 96].map((count) =>
    warpCase("counting", 96, () => {
      const x = integers(count, 1, 2);
      const odd = x.filter((value) => value === 1).length;
      const each = [odd, Number(odd === count), Number(odd > 0)];
      const expected = Int32Array.from({ length: 3 * count }, (_, i) => each[i % 3]);
      return { x, expected, size: count };
    })
  ),
  ...[1, 2, 7].map((rounds) =>
    warpCase("pipeline", 64, () => {
      const x = integers(rounds * 32, 1, 1000);
      const expected = Int32Array.from(LANES, (lane) => {
        let sum = 0;
        for (let round = 0; round < rounds; round++) sum += x[round * 32 + 31 - lane] + round;
        return sum;
      });
      return { x, expected, size: rounds };
    })
  ),
];

/** A kernel of one block that takes its input, its output and perhaps a size. */
function warpCase(
  kernel: string,
  threads: number,
  prepare: () => { x: Elements; expected: Elements; size?: number },
): KernelCase {
  const { x, expected, size } = prepare();
  return {
    name: `${kernel} of ${x.length}`,
    module: "warps",
    async run(gpu, ptx) {
      const out = output(expected.slice().fill(0));
      const sizes: KernelArgument[] = size === undefined ? [] : [i32(size)];
      const given = [input(x), out, ...sizes];
      await gpu.run(ptx, [{ kernel, grid: [1], block: [threads], arguments: given }]);
      assertSame(out.data, expected, "out");
    },
  };
}
