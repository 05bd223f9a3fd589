/**
 * Cases of numerics.cu.
 *
 * @module
 */
import { assertClose, assertSame, type Tolerance } from "../compare.ts";
import { type Elements, i32, input, output } from "../gpu.ts";
import { halves, integers, uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";
import {
  bfloatBits,
  bfloatValue,
  halfBits,
  halfBitsTowardsZero,
  nearestEven,
  ROUNDINGS,
  saturate,
} from "../references/rounding.ts";

/** What conversions round, saturate or cannot represent. */
const EDGES = [
  ...[0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, 127.5, -128.5, -129, 254.5, 255.5, 1000],
  ...[65504, 65519, 65520, -65520, 1e-8, 6e-8, -6e-8, 3e-5, 2 ** 31, -(2 ** 31), 3e9, -3e9, 5e9],
  ...[NaN, Infinity, -Infinity, 1 + 2 ** -8, 1 + 3 * 2 ** -8, 1 + 2 ** -11, 1 + 3 * 2 ** -11],
];

/** Directed rounding, conversions, packed halves, carries, and the fast approximations. */
export const numericCases: readonly KernelCase[] = [
  numericCase("rounding", 200, async (run) => {
    const a = uniform(200, 1, 10), b = uniform(200, 2);
    const out = await run(new Float32Array(200 * 12), a, b);
    const expected = Array.from(a).flatMap((x, i) =>
      [x + b[i], x * b[i], x / b[i]].flatMap((exact) => ROUNDINGS.map((round) => round(exact)))
    );
    assertSame(out, expected, "out");
  }),
  numericCase("conversions", 100, async (run) => {
    const x = Float32Array.from([...EDGES, ...uniform(100 - EDGES.length, 1, 300)]);
    const out = await run(new Int32Array(100 * 10), x);
    const limit = 2 ** 31;
    const expected = Array.from(x).flatMap((value) => [
      ...[nearestEven, Math.trunc, Math.ceil, Math.floor].map((round) =>
        saturate(round(value), -limit, limit - 1)
      ),
      saturate(Math.trunc(value), 0, 2 * limit - 1) | 0,
      saturate(nearestEven(value), -128, 127),
      saturate(nearestEven(value), 0, 255),
      halfBits(value),
      bfloatBits(value),
      halfBitsTowardsZero(value),
    ]);
    assertSame(out, expected.map((value) => value + 0), "out");
  }),
  numericCase("packed", 50, async (run) => {
    const a = halves(100, 1), b = halves(100, 2);
    const out = await run(new Uint16Array(50 * 12), a, b);
    const bits = (x: number) => bfloatValue(halfBits(x));
    const expected = Array.from({ length: 50 }, (_, pair) => {
      const both = [2 * pair, 2 * pair + 1];
      return [
        ...both.map((i) => halfBits(a[i] + b[i])),
        ...both.map((i) => halfBits(a[i] * b[i])),
        ...both.map((i) => halfBits(a[i] * b[i] + a[i])),
        ...both.map((i) => halfBits(Math.min(a[i], b[i]))),
        ...both.map((i) => halfBits(Math.max(a[i], b[i]))),
        ...both.map((i) => bfloatBits(bits(a[i]) + bits(b[i]))),
      ];
    }).flat();
    assertSame(out, expected, "out");
  }),
  numericCase("wide_integers", 40, async (run) => {
    const a = words(1), b = words(2);
    const out = await run(new Uint32Array(40 * 12), a, b);
    const expected = Array.from({ length: 40 }, (_, at) => {
      const x = wide(a, at), y = wide(b, at);
      return [x + y, x - y, x * y].flatMap((exact) =>
        [0n, 32n, 64n, 96n].map((shift) => Number(BigInt.asUintN(32, exact >> shift)))
      );
    }).flat();
    assertSame(out, expected, "out");
  }),
  numericCase("approximate", 200, async (run) => {
    const x = uniform(200, 1, 3);
    const out = await run(new Float32Array(200 * 8), x);
    const functions: [(x: number) => number, Tolerance][] = [
      [Math.exp, { relative: 1e-6 }],
      [(x) => Math.log(Math.abs(x) + 0.25), { ofLargest: 1e-6 }],
      [Math.sin, { ofLargest: 1e-6 }],
      [Math.cos, { ofLargest: 1e-6 }],
      [(x) => 1 / x, { relative: 1e-6 }],
      [(x) => 1 / Math.sqrt(Math.abs(x)), { relative: 1e-6 }],
      [Math.tanh, { relative: 1e-3 }],
      [(x) => x / 3, { relative: 1e-6 }],
    ];
    functions.forEach(([exact, tolerance], column) => {
      const actual = Array.from(x, (_, i) => out[i * 8 + column]);
      assertClose(actual, Array.from(x, exact), tolerance, `column ${column}`);
    });
  }),
];

function numericCase(
  kernel: string,
  count: number,
  check: (run: (out: Elements, ...inputs: Elements[]) => Promise<Elements>) => Promise<void>,
): KernelCase {
  return {
    name: `${kernel} of ${count}`,
    module: "numerics",
    run: (gpu, ptx) =>
      check(async (out, ...inputs) => {
        await gpu.run(ptx, [{
          kernel,
          grid: [Math.ceil(count / 64)],
          block: [64],
          arguments: [...inputs.map(input), output(out), i32(count)],
        }]);
        return out;
      }),
  };
}

/** 40 numbers of 128 bits, some of which are all ones in the middle: a carry runs through. */
function words(seed: number): Uint32Array<ArrayBuffer> {
  const random = integers(160, seed, 2 ** 31);
  return Uint32Array.from(
    random,
    (word, i) => i % 12 === 1 || i % 12 === 2 ? 2 ** 32 - 1 : 2 * word,
  );
}

function wide(words: Uint32Array, at: number): bigint {
  return words.subarray(at * 4, at * 4 + 4).reduceRight(
    (sum, word) => sum << 32n | BigInt(word),
    0n,
  );
}
