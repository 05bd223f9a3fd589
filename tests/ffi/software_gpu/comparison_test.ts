import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import {
  checkInstructions,
  combinations,
  type InstructionCase,
  type Place,
  randomRows,
} from "./instruction_cases.ts";

/** How a type's values compare: bits become something that `<` and `===` understand. */
interface Comparable {
  readonly place: Place;
  readonly values: readonly bigint[];
  readonly number: (bits: bigint) => number | bigint;
}

const integer = (place: Place, width: number, signed: boolean): Comparable => ({
  place,
  values: [
    0n,
    1n,
    (1n << BigInt(width - 1)) - 1n,
    1n << BigInt(width - 1),
    (1n << BigInt(width)) - 1n,
  ],
  number: (bits) => signed ? BigInt.asIntN(width, bits) : BigInt.asUintN(width, bits),
});

const single = (bits: bigint) => new Float32Array(Uint32Array.of(Number(bits)).buffer)[0];
const half = (bits: bigint) => new Float16Array(Uint16Array.of(Number(bits & 0xffffn)).buffer)[0];
const HALVES = [0n, 0x8000n, 1n, 0x3c00n, 0xbc00n, 0x7c00n, 0xfc00n, 0x7e00n];

const TYPES: Record<string, Comparable> = {
  u16: integer("h", 16, false),
  s16: integer("h", 16, true),
  b16: integer("h", 16, false),
  u32: integer("r", 32, false),
  s32: integer("r", 32, true),
  b32: integer("r", 32, false),
  u64: integer("w", 64, false),
  s64: integer("w", 64, true),
  b64: integer("w", 64, false),
  f32: {
    place: "f",
    values: [0n, 0x80000000n, 1n, 0x3f800000n, 0xbf800000n, 0x7f800000n, 0xff800000n, 0x7fc00000n],
    number: single,
  },
  f64: {
    place: "d",
    values: [
      0n,
      1n << 63n,
      1n,
      0x3ff0000000000000n,
      0xbff0000000000000n,
      0x7ff0000000000000n,
      0xfff0000000000000n,
      0x7ff8000000000000n,
    ],
    number: (bits) => new Float64Array(BigUint64Array.of(bits).buffer)[0],
  },
  f16: { place: "h", values: HALVES, number: half },
  bf16: {
    place: "h",
    values: [0n, 0x8000n, 1n, 0x3f80n, 0xbf80n, 0x7f80n, 0xff80n, 0x7fc0n],
    number: (bits) => single(bits << 16n),
  },
};

type Number = number | bigint;
const isNan = (value: Number) => value !== value;
const unordered = (a: Number, b: Number) => isNan(a) || isNan(b);

const RELATIONS: Record<string, (a: Number, b: Number) => boolean> = {
  eq: (a, b) => a === b,
  ne: (a, b) => !unordered(a, b) && a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
  equ: (a, b) => unordered(a, b) || a === b,
  neu: (a, b) => unordered(a, b) || a !== b,
  ltu: (a, b) => unordered(a, b) || a < b,
  leu: (a, b) => unordered(a, b) || a <= b,
  gtu: (a, b) => unordered(a, b) || a > b,
  geu: (a, b) => unordered(a, b) || a >= b,
  num: (a, b) => !unordered(a, b),
  nan: unordered,
};
const UNSIGNED = { lo: RELATIONS.lt, ls: RELATIONS.le, hi: RELATIONS.gt, hs: RELATIONS.ge };

/** The comparisons that a type has. */
function relationsOf(type: string): string[] {
  if (type.includes("f")) return Object.keys(RELATIONS);
  if (type.startsWith("b")) return ["eq", "ne"];
  return ["eq", "ne", "lt", "le", "gt", "ge"];
}

function setp(type: string, relation: string): InstructionCase {
  const { place, values, number } = TYPES[type];
  return {
    instruction: `setp.${relation}.${type}`,
    places: ["p", place, place],
    rows: combinations(values, 2),
    of: (a, b) => RELATIONS[relation](number(a), number(b)) ? 1n : 0n,
  };
}

function set(result: string, truth: bigint, type: string, relation: string): InstructionCase {
  const { place, values, number } = TYPES[type];
  return {
    instruction: `set.${relation}.${result}.${type}`,
    places: [result === "f32" ? "f" : result.endsWith("16") ? "h" : "r", place, place],
    rows: combinations(values, 2),
    of: (a, b) => RELATIONS[relation](number(a), number(b)) ? truth : 0n,
  };
}

const BOOLEANS: Record<string, (a: boolean, b: boolean) => boolean> = {
  and: (a, b) => a && b,
  or: (a, b) => a || b,
  xor: (a, b) => a !== b,
};

/** `setp` with a predicate, of whose two results `select` hands one on. */
function combined(name: string, negated: boolean, second: boolean): InstructionCase {
  const both = `setp.lt.${name}.s32 %p5|%p6, %r10, %r11, ${negated ? "!" : ""}%p12;`;
  return {
    instruction: `${both} selp.u32`,
    places: ["r", "r", "r", "p"],
    operands: `1, 0, ${second ? "%p6" : "%p5"}`,
    rows: combinations([0n, 1n, 0xffffffffn], 2).flatMap((row) => [[...row, 0n], [...row, 1n]]),
    of: (a, b, c) => {
      const less = BigInt.asIntN(32, a) < BigInt.asIntN(32, b);
      return BOOLEANS[name](less !== second, (c !== 0n) !== negated) ? 1n : 0n;
    },
  };
}

const pairs = (of: (low: boolean, high: boolean) => bigint) => (a: bigint, b: bigint) =>
  of(half(a) < half(b), half(a >> 16n) < half(b >> 16n));

const packedRows = combinations(HALVES, 2).map(([a, b], index) => [
  a | HALVES[index % 8] << 16n,
  b | HALVES[(index * 3 + 1) % 8] << 16n,
]);

const PROPERTIES: Record<string, (value: number) => boolean> = {
  finite: Number.isFinite,
  infinite: (value) => Math.abs(value) === Infinity,
  number: (value) => !Number.isNaN(value),
  notanumber: Number.isNaN,
  normal: (value) => Number.isFinite(value) && Math.abs(value) >= 2 ** -126,
  subnormal: (value) => value !== 0 && Math.abs(value) < 2 ** -126,
};

const CASES: Record<string, readonly InstructionCase[]> = {
  "setp compares integers with and without signs": Object.keys(TYPES)
    .filter((type) => !type.includes("f"))
    .flatMap((type) => relationsOf(type).map((relation) => setp(type, relation))),
  "setp compares floats, and says what it makes of NaN": Object.keys(TYPES)
    .filter((type) => type.includes("f"))
    .flatMap((type) => relationsOf(type).map((relation) => setp(type, relation))),
  "setp knows the unsigned relations by their own names": Object.entries(UNSIGNED).map((
    [name, of],
  ) => ({
    ...setp("u32", "lt"),
    instruction: `setp.${name}.u32`,
    of: (a, b) => of(a, b) ? 1n : 0n,
  })),
  "setp.ftz takes subnormal numbers for zero": [{
    ...setp("f32", "eq"),
    instruction: "setp.eq.ftz.f32",
    of: (a, b) => {
      const flushed = (bits: bigint) => (bits & 0x7f800000n) === 0n ? 0 : single(bits);
      return flushed(a) === flushed(b) ? 1n : 0n;
    },
  }],
  "setp combines both its results with a predicate": Object.keys(BOOLEANS).flatMap((name) =>
    [false, true].flatMap((negated) => [
      combined(name, negated, false),
      combined(name, negated, true),
    ])
  ),
  "set gives words of ones, or 1.0": [
    set("u32", 0xffffffffn, "s32", "lt"),
    set("s32", 0xffffffffn, "f32", "geu"),
    set("f32", 0x3f800000n, "f32", "le"),
    set("f32", 0x3f800000n, "u32", "ne"),
    set("u32", 0xffffffffn, "f64", "nan"),
    set("f16", 0x3c00n, "f16", "gt"),
    {
      instruction: "set.lt.f16x2.f16x2",
      places: ["r", "r", "r"],
      rows: packedRows,
      of: pairs((low, high) => (low ? 0x3c00n : 0n) | (high ? 0x3c000000n : 0n)),
    },
    {
      instruction: "set.lt.u32.f16x2",
      places: ["r", "r", "r"],
      rows: packedRows,
      of: pairs((low, high) => (low ? 0xffffn : 0n) | (high ? 0xffff0000n : 0n)),
    },
  ],
  "selp selects by a predicate": (["h", "r", "w", "f", "d"] as const).map((place) => {
    const type = { h: "b16", r: "u32", w: "s64", f: "f32", d: "f64", p: "" }[place];
    return {
      instruction: `selp.${type}`,
      places: [place, place, place, "p"],
      rows: randomRows([16, 16], 16).flatMap((row) => [[...row, 0n], [...row, 1n]]),
      of: (a, b, p) => p ? a : b,
    };
  }),
  "slct selects by a sign": [
    {
      instruction: "slct.b64.s32",
      places: ["w", "w", "w", "r"],
      rows: [0n, 1n, 0xffffffffn, 0x80000000n].map((c) => [3n, 4n, c]),
      of: (a, b, c) => BigInt.asIntN(32, c) >= 0n ? a : b,
    },
    {
      instruction: "slct.u32.f32",
      places: ["r", "r", "r", "f"],
      rows: TYPES.f32.values.map((c) => [3n, 4n, c]),
      of: (a, b, c) => single(c) >= 0 ? a : b,
    },
    {
      instruction: "slct.ftz.f32.f32",
      places: ["f", "f", "f", "f"],
      rows: [0x80000001n, 0x807fffffn, 0x80800000n, 1n].map((c) => [3n, 4n, c]),
      of: (a, b, c) => (c & 0x7f800000n) === 0n || single(c) >= 0 ? a : b,
    },
  ],
  "testp tells kinds of floats apart": Object.entries(PROPERTIES).map(([name, of]) => ({
    instruction: `testp.${name}.f32`,
    places: ["p", "f"],
    rows: [...TYPES.f32.values, 0x807fffffn, 0x00800000n].map((bits) => [bits]),
    of: (bits) => of(single(bits)) ? 1n : 0n,
  })),
};

for (const [name, cases] of Object.entries(CASES)) {
  softwareGpuTest(name, (gpu) => checkInstructions(gpu, cases));
}
