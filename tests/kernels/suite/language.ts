/**
 * Cases of language.cu.
 *
 * @module
 */
import { assertClose, assertSame } from "../compare.ts";
import { type Elements, i32, input, output } from "../gpu.ts";
import { integers, uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";
import { collatzSteps, erf, gamma, squareResidual } from "../references/special_functions.ts";

/** Calls of every kind, memory of every kind, 64 bits. */
export const languageCases: readonly KernelCase[] = [
  languageCase("shapes", 100, () => {
    const kinds = integers(100, 1, 2), sizes = uniform(100, 2, 3);
    const areas = Array.from(sizes, (size, i) => {
      const area = kinds[i] === 0 ? size * size : 3 * size * size;
      return area + area * 4 + kinds[i];
    });
    return { inputs: [kinds, sizes], expected: Float32Array.from(areas), relative: 1e-6 };
  }),
  languageCase("table", 100, () => {
    const which = integers(100, 1, 3), x = integers(100, 2, 1000);
    const functions = [(x: number) => 2 * x, (x: number) => x * x, (x: number) => -x];
    return { inputs: [which, x], expected: x.map((value, i) => functions[which[i]](value)) };
  }),
  languageCase("recursive", 70, () => {
    const x = integers(70, 1, 100);
    const closed = [(n: number) => n + 1, (n: number) => n + 2, (n: number) => 2 * n + 3];
    return { inputs: [x], expected: x.map((value) => closed[value % 3](value % 4)) };
  }),
  languageCase("insertion_sort", 40, () => {
    const x = integers(40 * 16, 1, 1000);
    const expected = x.slice();
    for (let row = 0; row < 40; row++) expected.subarray(row * 16, row * 16 + 16).sort();
    return { inputs: [x], expected };
  }),
  languageCase("somewhere", 200, () => {
    const x = integers(200, 1, 1000);
    const globals = [100, 200, 300, 400];
    const expected = x.map((value) => {
      const index = value >> 2 & 3;
      return globals[2] +
        [globals[index], 1000 * (index + 1), [2, 3, 5, 7][index], -index - value][value & 3];
    });
    return { inputs: [x], expected };
  }),
  {
    name: "diverging of 100",
    module: "language",
    async run(gpu, ptx) {
      const x = integers(100, 1, 10_000).map((value) => value + 1);
      const steps = output(new Int32Array(100)), odd = output(new Uint32Array(4));
      await gpu.run(ptx, [{
        kernel: "diverging",
        grid: [2],
        block: [64],
        arguments: [input(x), steps, odd, i32(100)],
      }]);
      const expected = new Uint32Array(4);
      x.forEach((value, i) => expected[i >> 5] |= collatzSteps(value) % 2 << i % 32);
      assertSame(steps.data, x.map(collatzSteps), "steps");
      assertSame(odd.data, expected, "odd");
    },
  },
  languageCase("wide", 64, () => {
    const a = words(64, 1), b = words(64, 2);
    const expected = new BigInt64Array(64 * 6);
    a.forEach((left, i) => expected.set(wide(left, b[i]), i * 6));
    return {
      inputs: [new Uint32Array(a.buffer), new Uint32Array(b.buffer)],
      expected: new Uint32Array(expected.buffer),
    };
  }),
  languageCase("doubles", 64, () => {
    const x = Float64Array.from(uniform(64, 1, 3.5));
    const expected = Float64Array.from(
      Array.from(x).flatMap((value) => [
        Math.sin(value),
        Math.exp(value),
        Math.log(Math.abs(value) + 0.5),
        Math.cbrt(value),
        erf(value),
        gamma(Math.abs(value) + 1),
        squareResidual(value),
        1 / (value * 3),
      ]),
    );
    return { inputs: [x], expected, relative: 1e-13 };
  }),
];

interface Prepared {
  readonly inputs: readonly Elements[];
  readonly expected: Elements;
  readonly relative?: number;
}

/** A kernel that takes its inputs, its output and a count, a thread for each. */
function languageCase(kernel: string, count: number, prepare: () => Prepared): KernelCase {
  return {
    name: `${kernel} of ${count}`,
    module: "language",
    async run(gpu, ptx) {
      const { inputs, expected, relative } = prepare();
      const out = output(expected.slice().fill(0));
      await gpu.run(ptx, [{
        kernel,
        grid: [Math.ceil(count / 64)],
        block: [64],
        arguments: [...inputs.map(input), out, i32(count)],
      }]);
      assertClose(out.data, expected, { relative }, "out");
    },
  };
}

/** Integers of 64 bits of which some are small; none is 0. */
function words(count: number, seed: number): BigInt64Array<ArrayBuffer> {
  const low = integers(count, seed, 2 ** 31), high = integers(count, seed + 10, 2 ** 31);
  return BigInt64Array.from(low, (value, i) => {
    const word = BigInt(high[i]) << 33n | BigInt(value) << 1n | 1n;
    return BigInt.asIntN(64, word) >> BigInt(i % 3 * 20);
  });
}

function wide(a: bigint, b: bigint): bigint[] {
  const bits = (word: bigint) => BigInt.asUintN(64, word).toString(2).padStart(64, "0");
  const binary = (text: string) => BigInt(`0b${text}`);
  const count = (bits(a).match(/1/g) ?? []).length;
  const leading = bits(b).indexOf("1");
  const lowest = 64 - bits(a).lastIndexOf("1");
  const bytes = [a & 0xffn, a >> 8n & 0xffn, b & 0xffn, b >> 8n & 0xffn];
  const funnel = (BigInt.asUintN(32, b) << 32n | BigInt.asUintN(32, a)) << 7n >> 32n;
  const permuted = bytes[0] | bytes[2] << 8n | bytes[1] << 16n | bytes[3] << 24n;
  return [
    a / b,
    a % b,
    a * b >> 64n,
    BigInt(count | leading << 8 | lowest << 16),
    binary(Array.from(bits(a)).reverse().join("")) ^ BigInt.asUintN(64, a) >> 40n,
    permuted | BigInt.asUintN(32, funnel) << 32n,
  ].map((word) => BigInt.asIntN(64, word));
}
