/**
 * Cases of models/cuda/kernels/elementwise.cu.
 *
 * @module
 */
import { assertClose } from "../compare.ts";
import { i32, input, output, struct, updated } from "../gpu.ts";
import { uniform } from "../inputs.ts";
import type { KernelCase } from "../kernel_case.ts";

const BINARY: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  pow: Math.pow,
};

const UNARY: Readonly<Record<string, (x: number) => number>> = {
  sqrt: Math.sqrt,
  relu: (x) => x < 0 ? 0 : x,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  tanh: Math.tanh,
};

/** What ordinary numbers do not show. */
const SPECIAL = [0, -0, 1, -1, Infinity, -Infinity, NaN, 1e-40, 80, -80, 2, 0.5, 3e38];

const TOLERANCE = { relative: 1e-6 };

/** Every operation: flat, broadcast and in place. */
export const elementwiseCases: readonly KernelCase[] = [
  ...Object.entries(UNARY).flatMap(([name, operation]) => [
    unaryCase(name, operation, "ragged", uniform(1000, 1, 20)),
    unaryCase(name, operation, "special", Float32Array.from(SPECIAL)),
  ]),
  ...Object.entries(BINARY).flatMap(([name, operation]) => [
    ...[[0, 0], [0, 1], [1, 0], [1, 1]].map(([modeA, modeB]) =>
      flatCase(name, operation, modeA, modeB)
    ),
    broadcastCase(name, operation, [3, 50, 7], [350, 7, 1], [0, 1, 0]),
    broadcastCase(name, operation, [2, 3, 4, 2, 3, 5], [0, 120, 30, 0, 5, 1], [1, 2, 6, 24, 0, 48]),
    broadcastCase(name, operation, [], [], []),
  ]),
];

function unaryCase(
  name: string,
  operation: (x: number) => number,
  what: string,
  x: Float32Array<ArrayBuffer>,
): KernelCase {
  return {
    name: `unary_${name}_f32, ${what}`,
    module: "elementwise",
    async run(gpu, ptx) {
      const out = output(new Float32Array(x.length));
      await gpu.run(ptx, [{
        kernel: `unary_${name}_f32`,
        grid: [Math.ceil(x.length / 256)],
        block: [256],
        arguments: [input(x), out, i32(x.length)],
      }]);
      assertClose(
        out.data,
        Array.from(x, (value) => Math.fround(operation(value))),
        TOLERANCE,
        "out",
      );
    },
  };
}

function flatCase(
  name: string,
  operation: (a: number, b: number) => number,
  modeA: number,
  modeB: number,
): KernelCase {
  return {
    name: `binary_${name}_f32_flat, modes ${modeA} and ${modeB}`,
    module: "elementwise",
    async run(gpu, ptx) {
      // All pairs of special numbers, and then ordinary ones.
      const count = SPECIAL.length ** 2 + 200;
      const a = uniform(count, 1, 3), b = uniform(count, 2, 3);
      for (let i = 0; i < SPECIAL.length ** 2; i++) {
        a[i] = SPECIAL[Math.floor(i / SPECIAL.length)];
        b[i] = SPECIAL[i % SPECIAL.length];
      }
      if (modeA === 1) a.fill(a.at(-1)!);
      if (modeB === 1) b.fill(b.at(-1)!);
      // The result goes over the first operand where that is dense.
      const left = updated(modeA === 0 ? a.slice() : a.slice(0, 1));
      const out = modeA === 0 ? left : output(new Float32Array(count));
      await gpu.run(ptx, [{
        kernel: `binary_${name}_f32_flat`,
        grid: [Math.ceil(count / 256)],
        block: [256],
        arguments: [
          left,
          input(modeB === 0 ? b : b.slice(0, 1)),
          out,
          ...[count, modeA, modeB].map(i32),
        ],
      }]);
      const expected = Array.from(a, (value, i) => Math.fround(operation(value, b[i])));
      assertClose(out.data, expected.map(powOfC(name, a, b)), TOLERANCE, "out");
    },
  };
}

/** C's pow gives 1 for 1^NaN and (-1)^Infinity, as ONNX Runtime does; JavaScript gives NaN. */
function powOfC(name: string, a: Float32Array, b: Float32Array) {
  return (value: number, i: number) =>
    name === "pow" && (a[i] === 1 || (a[i] === -1 && Math.abs(b[i]) === Infinity)) ? 1 : value;
}

function broadcastCase(
  name: string,
  operation: (a: number, b: number) => number,
  dims: number[],
  stridesA: number[],
  stridesB: number[],
): KernelCase {
  return {
    name: `binary_${name}_f32, [${dims}] of strides [${stridesA}] and [${stridesB}]`,
    module: "elementwise",
    async run(gpu, ptx) {
      const count = dims.reduce((product, dim) => product * dim, 1);
      const extent = (strides: number[]) =>
        strides.reduce((last, stride, axis) => last + stride * (dims[axis] - 1), 1);
      const a = uniform(extent(stridesA), 1, 3).map(Math.abs);
      const b = uniform(extent(stridesB), 2, 3);
      const out = output(new Float32Array(count));
      // What lies beyond the rank must not be read: a dimension of 0 would be a division by it.
      const six = (list: number[]) => [...list, 0, 0, 0, 0, 0, 0].slice(0, 6);
      await gpu.run(ptx, [{
        kernel: `binary_${name}_f32`,
        grid: [Math.ceil(count / 256)],
        block: [256],
        arguments: [
          input(a),
          input(b),
          out,
          i32(count),
          struct([dims.length, ...six(dims), ...six(stridesA), ...six(stridesB)]),
        ],
      }]);
      const expected = Array.from({ length: count }, (_, index) => {
        let atA = 0, atB = 0, rest = index;
        for (let axis = dims.length - 1; axis >= 0; axis--) {
          atA += rest % dims[axis] * stridesA[axis];
          atB += rest % dims[axis] * stridesB[axis];
          rest = Math.floor(rest / dims[axis]);
        }
        return Math.fround(operation(a[atA], b[atB]));
      });
      assertClose(out.data, expected, TOLERANCE, "out");
    },
  };
}
