import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import {
  add,
  BF16,
  divide,
  type Exact,
  exactOf,
  F16,
  F32,
  F64,
  type FloatFormat,
  isNan,
  multiply,
  negate,
  roundExact,
  type Rounding,
  squareRoot,
  widthOf,
} from "./exact_float.ts";
import {
  checkInstructions,
  combinations,
  type InstructionCase,
  type Place,
  randomRows,
} from "./instruction_cases.ts";

const ROUNDINGS: readonly Rounding[] = ["rn", "rz", "rm", "rp"];

/** Zeros, subnormals, the ends of the range, infinities, NaN, and ordinary numbers, by format. */
function edges(format: FloatFormat): bigint[] {
  const fraction = BigInt(format.fractionBits);
  const sign = 1n << BigInt(widthOf(format) - 1);
  const infinity = ((1n << BigInt(format.exponentBits)) - 1n) << fraction;
  const one = ((1n << BigInt(format.exponentBits - 1)) - 1n) << fraction;
  const positive = [
    0n,
    1n,
    (1n << fraction) - 1n,
    1n << fraction,
    one,
    one + 1n,
    one + (1n << fraction) + 5n,
    infinity - 1n,
    infinity,
  ];
  return [...positive, ...positive.map((bits) => bits | sign), infinity | 1n << (fraction - 1n)];
}

function rowsOf(format: FloatFormat, operands: number): bigint[][] {
  const all = edges(format);
  const values = operands === 3 ? all.filter((_, index) => index % 2 === 0 || index === 7) : all;
  return [
    ...combinations(values, operands).slice(0, 900),
    ...randomRows(Array(operands).fill(widthOf(format)), 40),
    // Of similar size, so that what is lost in a sum is not all of an operand.
    ...randomRows(Array(operands).fill(format.fractionBits + 2), 40).map((row) =>
      row.map((bits) => bits + (one(format) - (1n << BigInt(format.fractionBits))))
    ),
  ];
}

function one(format: FloatFormat): bigint {
  return ((1n << BigInt(format.exponentBits - 1)) - 1n) << BigInt(format.fractionBits);
}

/** Equal bits, or two NaNs. */
function sameFloat(format: FloatFormat): (a: bigint, b: bigint) => boolean {
  return (a, b) => isNan(b, format) ? isNan(a, format) : a === b;
}

function flush(bits: bigint, format: FloatFormat): bigint {
  const exponent = bits >> BigInt(format.fractionBits) & ((1n << BigInt(format.exponentBits)) - 1n);
  return exponent === 0n ? bits & (1n << BigInt(widthOf(format) - 1)) : bits;
}

function saturate(bits: bigint, format: FloatFormat): bigint {
  const value = exactOf(bits, format);
  if (value.kind === "nan" || value.negative) return 0n;
  return bits > one(format) ? one(format) : bits;
}

type Operation = (rounding: Rounding, ...operands: Exact[]) => Exact;

/** Modifiers around an operation. */
interface Around {
  readonly rounding?: Rounding;
  readonly ftz?: boolean;
  readonly sat?: boolean;
}

/** An instruction whose result is the correctly rounded one. */
function rounded(
  instruction: string,
  format: FloatFormat,
  place: Place,
  operands: number,
  operation: Operation,
  { rounding = "rn", ftz = false, sat = false }: Around = {},
): InstructionCase {
  return {
    instruction,
    places: Array(operands + 1).fill(place),
    rows: rowsOf(format, operands),
    same: sameFloat(format),
    of: (...bits) => {
      const given = bits.map((each) => exactOf(ftz ? flush(each, format) : each, format));
      let result = roundExact(operation(rounding, ...given), format, rounding);
      if (ftz) result = flush(result, format);
      return sat ? saturate(result, format) : result;
    },
  };
}

const sum: Operation = (rounding, a, b) => add(a, b, rounding);
const difference: Operation = (rounding, a, b) => add(a, negate(b), rounding);
const product: Operation = (_, a, b) => multiply(a, b);
const fused: Operation = (rounding, a, b, c) => add(multiply(a, b), c, rounding);
const quotient: Operation = (_, a, b) => divide(a, b);
const reciprocal: Operation = (_, a) => divide(exactOf(one(F64), F64), a);
const root: Operation = (_, a) => squareRoot(a);

/** All roundings of an operation, and for f32 `.ftz` and `.sat`. */
function everyForm(
  name: string,
  operands: number,
  operation: Operation,
  saturates: boolean,
): InstructionCase[] {
  const cases = ROUNDINGS.flatMap((rounding) => [
    rounded(`${name}.${rounding}.f32`, F32, "f", operands, operation, { rounding }),
    rounded(`${name}.${rounding}.f64`, F64, "d", operands, operation, { rounding }),
    rounded(`${name}.${rounding}.ftz.f32`, F32, "f", operands, operation, { rounding, ftz: true }),
  ]);
  if (!saturates) return cases;
  return [
    ...cases,
    rounded(`${name}.rn.sat.f32`, F32, "f", operands, operation, { sat: true }),
    rounded(`${name}.rp.ftz.sat.f32`, F32, "f", operands, operation, {
      rounding: "rp",
      ftz: true,
      sat: true,
    }),
  ];
}

function narrow(name: string, operands: number, operation: Operation): InstructionCase[] {
  return [
    rounded(`${name}.f16`, F16, "h", operands, operation),
    rounded(`${name}.ftz.f16`, F16, "h", operands, operation, { ftz: true }),
    rounded(`${name}.bf16`, BF16, "h", operands, operation),
    inPairs(rounded(`${name}.f16x2`, F16, "h", operands, operation), F16),
    inPairs(rounded(`${name}.bf16x2`, BF16, "h", operands, operation), BF16),
  ];
}

/** The same on two values in one register: each row beside the next. */
function inPairs(each: InstructionCase, format: FloatFormat): InstructionCase {
  const rows = each.rows.map((row, index) => {
    const other = each.rows[(index + 1) % each.rows.length];
    return row.map((bits, operand) => bits | other[operand] << 16n);
  });
  const same = sameFloat(format);
  return {
    ...each,
    places: each.places.map(() => "r"),
    rows,
    same: (a, b) => same(a & 0xffffn, b & 0xffffn) && same(a >> 16n, b >> 16n),
    of: (...bits) => {
      const low = each.of(...bits.map((value) => value & 0xffffn));
      const high = each.of(...bits.map((value) => value >> 16n));
      return low! | high! << 16n;
    },
  };
}

/** The same on two floats in one register: each row beside the next. */
function twice(each: InstructionCase): InstructionCase {
  const same = sameFloat(F32), low = (bits: bigint) => bits & 0xffffffffn;
  return {
    ...each,
    places: each.places.map(() => "w"),
    rows: each.rows.map((row, index) => {
      const other = each.rows[(index + 1) % each.rows.length];
      return row.map((bits, operand) => bits | other[operand] << 32n);
    }),
    same: (a, b) => same(low(a), low(b)) && same(a >> 32n, b >> 32n),
    of: (...bits) =>
      each.of(...bits.map(low))! | each.of(...bits.map((value) => value >> 32n))! << 32n,
  };
}

/** The smaller or larger of two, with -0 below +0; NaN loses, or with `propagate` wins. */
function extremum(
  instruction: string,
  format: FloatFormat,
  place: Place,
  propagate: boolean,
  absolute = false,
): InstructionCase {
  const greater = instruction.startsWith("max");
  const signBit = 1n << BigInt(widthOf(format) - 1);
  const nan = edges(format).at(-1)!;
  const order = (bits: bigint) => bits & signBit ? -(bits & ~signBit) - 1n : bits;
  const choose = (a: bigint, b: bigint): bigint => {
    if (isNan(a, format) || isNan(b, format)) {
      if (propagate || (isNan(a, format) && isNan(b, format))) return nan;
      return isNan(a, format) ? b : a;
    }
    return (order(a) > order(b)) === greater ? a : b;
  };
  return {
    instruction,
    places: [place, place, place],
    rows: rowsOf(format, 2),
    same: sameFloat(format),
    of: (a, b) =>
      absolute ? choose(a & ~signBit, b & ~signBit) | ((a ^ b) & signBit) : choose(a, b),
  };
}

/** An instruction whose last operand and result are f32, and the others narrower. */
function widened(
  instruction: string,
  narrower: FloatFormat,
  rounding: Rounding,
  operation: (...operands: Exact[]) => Exact,
): InstructionCase {
  const factors = instruction.startsWith("fma") ? 2 : 1;
  const last = edges(F32).concat(randomRows([32], 24).flat());
  return {
    instruction,
    places: ["f", ...Array<Place>(factors).fill("h"), "f"],
    rows: rowsOf(narrower, factors).map((row, index) => [...row, last[index % last.length]]),
    same: sameFloat(F32),
    of: (...bits) => {
      const c = exactOf(bits.pop()!, F32);
      const result = operation(...bits.map((each) => exactOf(each, narrower)), c);
      return roundExact(result, F32, rounding);
    },
  };
}

/** A function of one number, within a relative error. */
function approximate(
  instruction: string,
  format: FloatFormat,
  place: Place,
  values: readonly bigint[],
  of: (value: number) => number,
  error: number,
  absolute = 0,
): InstructionCase {
  const value = (bits: bigint) => numberOf(exactOf(bits, format));
  return {
    instruction,
    places: [place, place],
    rows: values.map((bits) => [bits]),
    of: (bits) => bitsOf(of(value(bits))),
    same: (actual, expected) => {
      const wanted = numberOf(exactOf(expected, F64)), got = value(actual);
      if (Number.isNaN(wanted)) return Number.isNaN(got);
      if (!Number.isFinite(wanted) || !Number.isFinite(got) || wanted === 0) {
        return Object.is(wanted, got) || Math.abs(wanted - got) <= absolute ||
          (!Number.isFinite(got) && Math.abs(wanted) > 3.4e38);
      }
      const smallest = 2 ** (2 - (1 << (format.exponentBits - 1)) - format.fractionBits);
      return Math.abs(got - wanted) <= Math.max(absolute, smallest, error * Math.abs(wanted));
    },
  };
}

function numberOf(value: Exact): number {
  if (value.kind === "nan") return NaN;
  const sign = value.negative ? -1 : 1;
  if (value.kind === "infinity") return sign * Infinity;
  const bits = roundExact(value, F64, "rn");
  return new Float64Array(BigUint64Array.of(bits).buffer)[0];
}

function bitsOf(value: number): bigint {
  return new BigUint64Array(Float64Array.of(value).buffer)[0];
}

function singles(...values: number[]): bigint[] {
  return Array.from(new Uint32Array(Float32Array.from(values).buffer), BigInt);
}

const RANGE = [
  ...edges(F32),
  ...singles(
    0.1,
    -0.1,
    0.24,
    0.26,
    0.5,
    -0.7,
    1.5,
    -3.3,
    9.9,
    -20,
    88,
    -103.5,
    126.7,
    -126.5,
    -140,
  ),
  ...singles(...Array.from({ length: 60 }, (_, index) => (index - 30) * 0.37)),
];
const HALVES = [
  ...edges(F16),
  ...Array.from(new Uint16Array(Float16Array.of(0.1, -0.3, 1.7, -5, 11).buffer), BigInt),
];

const COARSE = [0.1, 1, -3.7, 1e300, -1e-300, 123456.789, Infinity, NaN].map(bitsOf);

const signOf = (format: FloatFormat) => 1n << BigInt(widthOf(format) - 1);
const onBits = (
  instruction: string,
  format: FloatFormat,
  place: Place,
  operands: number,
  of: (...bits: bigint[]) => bigint,
): InstructionCase => ({
  instruction,
  places: Array(operands + 1).fill(place),
  rows: operands === 1 ? edges(format).map((bits) => [bits]) : rowsOf(format, operands),
  same: sameFloat(format),
  of,
});

const CASES: Record<string, readonly InstructionCase[]> = {
  "add of floats is rounded as its name says": everyForm("add", 2, sum, true),
  "sub of floats is rounded as its name says": everyForm("sub", 2, difference, true),
  "mul of floats is rounded as its name says": everyForm("mul", 2, product, true),
  "fma of floats is rounded once": everyForm("fma", 3, fused, true),
  "div of floats is rounded as its name says": everyForm("div", 2, quotient, false),
  "rcp of floats is rounded as its name says": everyForm("rcp", 1, reciprocal, false),
  "sqrt of floats is rounded as its name says": everyForm("sqrt", 1, root, false),
  "floats without a rounding are rounded to nearest": [
    rounded("add.f32", F32, "f", 2, sum),
    rounded("sub.f64", F64, "d", 2, difference),
    rounded("mul.ftz.f32", F32, "f", 2, product, { ftz: true }),
    rounded("mad.rn.f32", F32, "f", 3, fused),
  ],
  "add, sub and mul of f16 and bf16 are rounded once": [
    ...narrow("add.rn", 2, sum),
    ...narrow("sub.rn", 2, difference),
    ...narrow("mul.rn", 2, product),
    rounded("add.sat.f16", F16, "h", 2, sum, { sat: true }),
  ].filter((each) => !each.instruction.includes("ftz.bf16")),
  "fma of f16 and bf16 is rounded once": [
    ...narrow("fma.rn", 3, fused),
    rounded("fma.rn.sat.f16", F16, "h", 3, fused, { sat: true }),
  ],
  "min and max prefer numbers to NaN unless told otherwise": ["min", "max"].flatMap((name) => [
    extremum(`${name}.f32`, F32, "f", false),
    extremum(`${name}.NaN.f32`, F32, "f", true),
    extremum(`${name}.xorsign.abs.f32`, F32, "f", false, true),
    extremum(`${name}.NaN.xorsign.abs.f32`, F32, "f", true, true),
    extremum(`${name}.f64`, F64, "d", false),
    extremum(`${name}.f16`, F16, "h", false),
    extremum(`${name}.NaN.bf16`, BF16, "h", true),
    inPairs(extremum(`${name}.f16x2`, F16, "h", false), F16),
    inPairs(extremum(`${name}.NaN.bf16x2`, BF16, "h", true), BF16),
  ]),
  "min and max of three are those of two and one": [
    onBits("max.f32", F32, "f", 3, (a, b, c) => {
      const two = extremum("max.f32", F32, "f", false);
      return two.of(two.of(a, b)!, c)!;
    }),
    onBits("min.NaN.f32", F32, "f", 3, (a, b, c) => {
      const two = extremum("min.f32", F32, "f", true);
      return two.of(two.of(a, b)!, c)!;
    }),
  ],
  "max.abs of three compares magnitudes": [
    onBits("max.abs.f32", F32, "f", 3, (...bits) => {
      const two = extremum("max.f32", F32, "f", false);
      const [a, b, c] = bits.map((each) => each & ~signOf(F32));
      return two.of(two.of(a, b)!, c)!;
    }),
  ],
  "f32x2 is two floats in one register": [
    twice(rounded("add.rn.f32x2", F32, "f", 2, sum)),
    twice(rounded("mul.rp.f32x2", F32, "f", 2, product, { rounding: "rp" })),
    twice(rounded("fma.rn.ftz.f32x2", F32, "f", 3, fused, { ftz: true })),
  ],
  "neg, abs and copysign touch the sign alone": [
    onBits("neg.f32", F32, "f", 1, (a) => a ^ signOf(F32)),
    onBits("neg.ftz.f32", F32, "f", 1, (a) => flush(a, F32) ^ signOf(F32)),
    onBits("neg.f64", F64, "d", 1, (a) => a ^ signOf(F64)),
    onBits("neg.f16", F16, "h", 1, (a) => a ^ signOf(F16)),
    onBits("neg.bf16x2", F32, "r", 1, (a) => a ^ 0x80008000n),
    onBits("abs.f32", F32, "f", 1, (a) => a & ~signOf(F32)),
    onBits("abs.f64", F64, "d", 1, (a) => a & ~signOf(F64)),
    onBits("abs.f16x2", F32, "r", 1, (a) => a & 0x7fff7fffn),
    onBits("copysign.f32", F32, "f", 2, (a, b) => (a & signOf(F32)) | (b & ~signOf(F32))),
    onBits("copysign.f64", F64, "d", 2, (a, b) => (a & signOf(F64)) | (b & ~signOf(F64))),
  ],
  "add, sub and fma take narrower operands than they give": [
    widened("add.rn.f32.f16", F16, "rn", (a, c) => add(a, c, "rn")),
    widened("add.rp.f32.bf16", BF16, "rp", (a, c) => add(a, c, "rp")),
    widened("sub.rn.f32.bf16", BF16, "rn", (a, c) => add(a, negate(c), "rn")),
    widened("fma.rn.f32.f16", F16, "rn", (a, b, c) => add(multiply(a, b), c, "rn")),
    widened("fma.rz.f32.bf16", BF16, "rz", (a, b, c) => add(multiply(a, b), c, "rz")),
  ],
  "ex2, lg2 and tanh are as near as documented": [
    approximate("ex2.approx.f32", F32, "f", RANGE, (x) => 2 ** x, 2 ** -22),
    approximate("lg2.approx.f32", F32, "f", RANGE, Math.log2, 2 ** -22, 2 ** -22),
    approximate("tanh.approx.f32", F32, "f", RANGE, Math.tanh, 2 ** -11),
    approximate("ex2.approx.f16", F16, "h", HALVES, (x) => 2 ** x, 2 ** -9.9),
    approximate("tanh.approx.f16", F16, "h", HALVES, Math.tanh, 2 ** -10.987),
  ],
  "rcp and rsqrt of f64 in their coarse forms give upper halves": [
    approximate("rcp.approx.ftz.f64", F64, "d", COARSE, (x) => 1 / x, 2 ** -19),
    approximate("rsqrt.approx.ftz.f64", F64, "d", COARSE, (x) => 1 / Math.sqrt(x), 2 ** -19),
    {
      ...approximate("rcp.approx.ftz.f64", F64, "d", COARSE, (x) => 1 / x, 0),
      same: (actual) => (actual & 0xffffffffn) === 0n || isNan(actual, F64),
    },
  ],
  "rsqrt, sin and cos are as near as documented": [
    approximate("rsqrt.approx.f32", F32, "f", RANGE, (x) => 1 / Math.sqrt(x), 2 ** -22.9),
    approximate(
      "rsqrt.approx.f64",
      F64,
      "d",
      edges(F64).filter((bits) => bits !== 0n),
      (x) => 1 / Math.sqrt(x),
      2 ** -22,
    ),
    approximate("sin.approx.f32", F32, "f", RANGE.slice(-60), Math.sin, 0, 2 ** -20.5),
    approximate("cos.approx.f32", F32, "f", RANGE.slice(-60), Math.cos, 0, 2 ** -20.5),
  ],
};

for (const [name, cases] of Object.entries(CASES)) {
  softwareGpuTest(name, (gpu) => checkInstructions(gpu, cases));
}
