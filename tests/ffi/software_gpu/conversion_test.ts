import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import {
  BF16,
  type Exact,
  exactOf,
  F16,
  F32,
  F64,
  type FloatFormat,
  fromInteger,
  isNan,
  roundExact,
  type Rounding,
  toInteger,
  widthOf,
} from "./exact_float.ts";
import {
  checkInstructions,
  type InstructionCase,
  type Place,
  randomBits,
} from "./instruction_cases.ts";

const FORMATS: Record<string, FloatFormat> = { f16: F16, bf16: BF16, f32: F32, f64: F64 };
const ROUNDINGS: readonly Rounding[] = ["rn", "rz", "rm", "rp"];
const INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];

const widthOfType = (type: string) => Number(type.match(/\d+/)![0]);

/** The smallest register for a type; 8 bits have none of their own. */
function placeOf(type: string): Place {
  const width = widthOfType(type);
  if (type in FORMATS) return width === 64 ? "d" : width === 32 ? "f" : "h";
  return width === 64 ? "w" : width === 32 ? "r" : "h";
}

function number(type: string, bits: bigint): bigint {
  const width = widthOfType(type);
  return type.startsWith("s") ? BigInt.asIntN(width, bits) : BigInt.asUintN(width, bits);
}

function range(type: string): [bigint, bigint] {
  const width = BigInt(widthOfType(type));
  return type.startsWith("s")
    ? [-(1n << (width - 1n)), (1n << (width - 1n)) - 1n]
    : [0n, (1n << width) - 1n];
}

const clamp = (value: bigint, [low, high]: [bigint, bigint]) =>
  value < low ? low : value > high ? high : value;

function integerValues(type: string): bigint[] {
  const width = widthOfType(type);
  const top = 1n << BigInt(width - 1);
  return [0n, 1n, 0x7fn, 0x80n, 0xffn, top - 1n, top, 2n * top - 1n, ...randomBits(width, 24)]
    .map((bits) => BigInt.asUintN(width, bits));
}

function floatValues(type: string): bigint[] {
  const format = FORMATS[type], width = widthOf(format);
  const near = [0, 0.25, 0.5, 1, 1.5, 2.5, 3.75, 100.5, 127.5, 255.5, 32767.5, 65504, 65519, 65520]
    .concat([2 ** 31 - 0.5, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 63, 2 ** 64, 1e30, 3e38, 3.4e38])
    .concat([
      2 ** -24,
      2 ** -25,
      1.5 * 2 ** -25,
      6e-5,
      1e-40,
      1e-310,
      1 + 2 ** -11,
      1 + 3 * 2 ** -11,
    ])
    .concat([1 + 2 ** -8, 1 + 3 * 2 ** -8, 1 + 2 ** -11 + 2 ** -40, 1 + 2 ** -24 + 2 ** -50])
    .flatMap((value) => [value, -value])
    .map((value) => roundExact(doubleOf(value), format, "rn"));
  const infinity = roundExact({ kind: "infinity", negative: false }, format, "rn");
  return [
    ...near,
    infinity,
    infinity | 1n << BigInt(width - 1),
    infinity | 1n,
    ...randomBits(width, 24),
  ];
}

function doubleOf(value: number): Exact {
  return exactOf(new BigUint64Array(Float64Array.of(value).buffer)[0], F64);
}

const sameFloat = (format: FloatFormat) => (a: bigint, b: bigint) =>
  isNan(b, format) ? isNan(a, format) : a === b;

/** Into a register of 64 bits, so that what lies above the type shows as well. */
function betweenIntegers(to: string, from: string, saturates: boolean): InstructionCase {
  return {
    instruction: `cvt.${saturates ? "sat." : ""}${to}.${from}`,
    places: ["w", from.endsWith("64") ? "w" : "r"],
    rows: integerValues(from).flatMap((bits) => [[bits], [bits | 0xdeadn << 40n]]),
    of: (bits) => {
      const value = number(from, bits);
      return BigInt.asUintN(64, number(to, saturates ? clamp(value, range(to)) : value));
    },
  };
}

function fromFloat(to: string, from: string, integral: string): InstructionCase {
  const format = FORMATS[from];
  const width = BigInt(widthOfType(to));
  return {
    instruction: `cvt.${integral}.${to}.${from}`,
    places: [width === 8n ? "r" : placeOf(to), placeOf(from)],
    rows: floatValues(from).map((bits) => [bits]),
    of: (bits) => {
      const value = exactOf(bits, format);
      if (value.kind === "nan") {
        if (from !== "f64" && width !== 64n) return 0n;
        return BigInt.asUintN(width === 8n ? 32 : Number(width), number(to, 1n << (width - 1n)));
      }
      const [low, high] = range(to);
      const result = value.kind === "infinity"
        ? (value.negative ? low : high)
        : clamp(toInteger(value, integral.slice(0, 2) as Rounding), [low, high]);
      return BigInt.asUintN(width === 8n ? 32 : Number(width), result);
    },
  };
}

function fromInt(to: string, from: string, rounding: Rounding): InstructionCase {
  const format = FORMATS[to];
  return {
    instruction: `cvt.${rounding}.${to}.${from}`,
    places: [placeOf(to), from.endsWith("8") ? "r" : placeOf(from)],
    rows: integerValues(from).map((bits) => [bits]),
    of: (bits) => roundExact(fromInteger(number(from, bits)), format, rounding),
  };
}

function betweenFloats(to: string, from: string, rounding: Rounding | ""): InstructionCase {
  const format = FORMATS[to];
  return {
    instruction: `cvt.${rounding ? `${rounding}.` : ""}${to}.${from}`,
    places: [placeOf(to), placeOf(from)],
    rows: floatValues(from).map((bits) => [bits]),
    same: sameFloat(format),
    of: (bits) => roundExact(exactOf(bits, FORMATS[from]), format, rounding || "rn"),
  };
}

function toWhole(type: string, integral: string): InstructionCase {
  const format = FORMATS[type];
  return {
    instruction: `cvt.${integral}.${type}.${type}`,
    places: [placeOf(type), placeOf(type)],
    rows: floatValues(type).map((bits) => [bits]),
    same: sameFloat(format),
    of: (bits) => {
      const value = exactOf(bits, format);
      if (value.kind !== "finite") return bits;
      const whole = fromInteger(toInteger(value, integral.slice(0, 2) as Rounding));
      return roundExact({ ...whole, negative: value.negative } as Exact, format, "rn");
    },
  };
}

function pair(instruction: string, format: FloatFormat, relu = false): InstructionCase {
  const values = floatValues("f32");
  const round = (bits: bigint) => {
    const value = exactOf(bits, F32);
    if (relu && value.kind !== "nan" && value.negative) return 0n;
    return roundExact(value, format, "rn");
  };
  const same = sameFloat(format);
  return {
    instruction,
    places: ["r", "f", "f"],
    rows: values.map((bits, index) => [bits, values[(index + 3) % values.length]]),
    same: (a, b) => same(a & 0xffffn, b & 0xffffn) && same(a >> 16n, b >> 16n),
    of: (a, b) => round(a) << 16n | round(b),
  };
}

/** The numbers of e4m3, which has no infinity: the largest is 448. */
function e4m3(bits: bigint): number {
  const exponent = Number(bits >> 3n & 15n), fraction = Number(bits & 7n);
  const magnitude = exponent === 0 ? fraction * 2 ** -9 : (8 + fraction) * 2 ** (exponent - 10);
  if (exponent === 15 && fraction === 7) return NaN;
  return bits & 0x80n ? -magnitude : magnitude;
}

function nearestE4m3(value: number): bigint {
  if (Number.isNaN(value)) return 0x7fn;
  const sign = Object.is(value, -0) || value < 0 ? 0x80n : 0n;
  let best = 0n;
  for (let bits = 0n; bits < 0x7fn; bits++) {
    const distance = Math.abs(e4m3(bits) - Math.abs(value));
    const known = Math.abs(e4m3(best) - Math.abs(value));
    if (distance < known || (distance === known && (bits & 1n) === 0n)) best = bits;
  }
  return sign | best;
}

const E4M3_VALUES = [0, 1, 1.0625, 1.1875, 17, 448, 464, 1e9, 2 ** -9, 2 ** -10, 3 * 2 ** -10, NaN]
  .flatMap((value) => [value, -value]);

const CASES: Record<string, readonly InstructionCase[]> = {
  "cvt between integers extends, truncates and extends again": INTEGERS.flatMap((to) =>
    INTEGERS.map((from) => betweenIntegers(to, from, false))
  ),
  "cvt.sat between integers stays in range": INTEGERS.flatMap((to) =>
    INTEGERS.map((from) => betweenIntegers(to, from, true))
  ),
  "cvt from floats to integers rounds, stays in range and knows NaN": ["rni", "rzi", "rmi", "rpi"]
    .flatMap((integral) =>
      ["f32", "f64", "f16", "bf16"].flatMap((from) =>
        INTEGERS.map((to) => fromFloat(to, from, integral))
      )
    ),
  "cvt.ftz takes subnormal numbers for zero": [{
    instruction: "cvt.rpi.ftz.s32.f32",
    places: ["r", "f"],
    rows: [[1n], [0x007fffffn], [0x00800000n], [0x80000001n], [0n]],
    of: (bits) => bits === 0x00800000n ? 1n : 0n,
  }],
  "cvt from integers to floats is rounded as its name says": ROUNDINGS.flatMap((rounding) =>
    ["f32", "f64", "f16", "bf16"].flatMap((to) =>
      INTEGERS.map((from) => fromInt(to, from, rounding))
    )
  ),
  "cvt to narrower floats is rounded as its name says": ROUNDINGS.flatMap((rounding) => [
    betweenFloats("f32", "f64", rounding),
    betweenFloats("f16", "f32", rounding),
    betweenFloats("f16", "f64", rounding),
    ...(rounding === "rn" || rounding === "rz" ? [betweenFloats("bf16", "f32", rounding)] : []),
  ]),
  "cvt to wider floats is exact": [
    betweenFloats("f64", "f32", ""),
    betweenFloats("f32", "f16", ""),
    betweenFloats("f64", "f16", ""),
    betweenFloats("f32", "bf16", ""),
  ],
  "cvt rounds floats to whole numbers": ["rni", "rzi", "rmi", "rpi"].flatMap((integral) =>
    ["f32", "f64", "f16"].map((type) => toWhole(type, integral))
  ),
  "cvt.sat keeps floats between 0 and 1": [{
    instruction: "cvt.sat.f32.f32",
    places: ["f", "f"],
    rows: floatValues("f32").map((bits) => [bits]),
    of: (bits) => {
      const value = exactOf(bits, F32);
      if (value.kind === "nan" || value.negative) return 0n;
      return bits > 0x3f800000n ? 0x3f800000n : bits;
    },
  }],
  "cvt.ftz and cvt.sat go with rounding to whole numbers": [
    {
      instruction: "cvt.rpi.ftz.f32.f32",
      places: ["f", "f"],
      rows: [[1n], [0x80000001n], [0x3f000000n], [0x00800000n]],
      of: (bits) => (bits & 0x7f800000n) === 0n ? bits & 0x80000000n : 0x3f800000n,
    },
    {
      instruction: "cvt.rmi.sat.f32.f32",
      places: ["f", "f"],
      rows: [[0x3f000000n], [0x40200000n], [0xbf000000n], [0x3f800000n]],
      of: (bits) => bits === 0x40200000n || bits === 0x3f800000n ? 0x3f800000n : 0n,
    },
  ],
  "cvt.rna.tf32 rounds ties away from zero": [{
    instruction: "cvt.rna.tf32.f32",
    places: ["r", "f"],
    rows: [0x3f800000n, 0x3f801000n, 0x3f800fffn, 0xbf801000n, 0x3f803000n, 0x7f800000n].map((
      bits,
    ) => [bits]),
    of: (bits) => bits === 0x7f800000n ? bits : (bits + 0x1000n) & ~0x1fffn,
  }],
  "cvt makes pairs, the first operand above": [
    pair("cvt.rn.f16x2.f32", F16),
    pair("cvt.rn.bf16x2.f32", BF16),
    pair("cvt.rn.relu.f16x2.f32", F16, true),
    pair("cvt.rn.relu.bf16x2.f32", BF16, true),
  ],
  "cvt from and to e4m3 saturates": [
    {
      instruction: "cvt.rn.satfinite.e4m3x2.f32",
      places: ["h", "f", "f"],
      rows: E4M3_VALUES.map((value, index) => [
        BigInt(new Uint32Array(Float32Array.of(value).buffer)[0]),
        BigInt(new Uint32Array(Float32Array.of(E4M3_VALUES[(index + 5) % 24]).buffer)[0]),
      ]),
      of: (a, b) => {
        const value = (bits: bigint) => new Float32Array(Uint32Array.of(Number(bits)).buffer)[0];
        return nearestE4m3(value(a)) << 8n | nearestE4m3(value(b));
      },
    },
    {
      instruction: "cvt.rn.f16x2.e4m3x2",
      places: ["r", "h"],
      rows: Array.from({ length: 256 }, (_, byte) => [BigInt(byte) | BigInt(255 - byte) << 8n]),
      same: (a, b) =>
        sameFloat(F16)(a & 0xffffn, b & 0xffffn) && sameFloat(F16)(a >> 16n, b >> 16n),
      of: (bits) => {
        const half = (byte: bigint) => roundExact(doubleOf(e4m3(byte)), F16, "rn");
        return half(bits >> 8n) << 16n | half(bits & 0xffn);
      },
    },
  ],
  "mov packs and unpacks": [
    {
      instruction: "mov.b32",
      operands: "{%h10, %h11}",
      places: ["r", "h", "h"],
      rows: [[0x1234n, 0xabcdn], [0xffffn, 0n]],
      of: (a, b) => a | b << 16n,
    },
    {
      instruction: "mov.b64",
      operands: "{%r10, %r11}",
      places: ["w", "r", "r"],
      rows: [[0x12345678n, 0x9abcdef0n]],
      of: (a, b) => a | b << 32n,
    },
    {
      instruction: "mov.b64",
      operands: "{%h10, %h11, %h12, %h13}",
      places: ["w", "h", "h", "h", "h"],
      rows: [[1n, 2n, 3n, 0x8004n]],
      of: (a, b, c, d) => a | b << 16n | c << 32n | d << 48n,
    },
    {
      instruction: "mov.b64 {%r5, %r6}, %w10; sub.u32",
      operands: "%r6, %r5",
      places: ["r", "w"],
      rows: [[0x12345678_00000005n], [0xffffffff_80000000n]],
      of: (a) => (a >> 32n) - (a & 0xffffffffn),
    },
    {
      instruction: "mov.b32 {%h5, _}, %r10; cvt.u32.u16",
      operands: "%h5",
      places: ["r", "r"],
      rows: [[0x12345678n]],
      of: () => 0x5678n,
    },
    {
      instruction: "mov.b128 %q0, {%w10, %w11}; mov.b128 {%w5, %w6}, %q0; sub.u64",
      operands: "%w6, %w5",
      places: ["w", "w", "w"],
      rows: [[3n, 10n], [1n, 0n]],
      of: (a, b) => b - a,
    },
  ],
};

for (const [name, cases] of Object.entries(CASES)) {
  softwareGpuTest(name, (gpu) => checkInstructions(gpu, cases));
}
