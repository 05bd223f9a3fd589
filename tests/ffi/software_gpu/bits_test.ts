import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import {
  checkInstructions,
  combinations,
  type InstructionCase,
  type Place,
  randomRows,
} from "./instruction_cases.ts";

type Width = 16 | 32 | 64;

const PLACE: Record<Width, Place> = { 16: "h", 32: "r", 64: "w" };
const WIDTHS: readonly Width[] = [16, 32, 64];
const ones = (bits: number | bigint) => (1n << BigInt(bits)) - 1n;

function values(width: number): bigint[] {
  const top = 1n << BigInt(width - 1);
  return [0n, 1n, 0x80n, 0xffn, top, top - 1n, ones(width), 0x5a3c96f00f691234n & ones(width)];
}

const COUNTS = [0n, 1n, 4n, 7n, 15n, 16n, 31n, 32n, 33n, 63n, 64n, 100n, 255n, 0xffffffffn];

function logic(
  name: string,
  operands: number,
  of: (...bits: bigint[]) => bigint,
  widths: readonly Width[] = WIDTHS,
): InstructionCase[] {
  return widths.map((width) => ({
    instruction: `${name}.b${width}`,
    places: Array(operands + 1).fill(PLACE[width]),
    rows: [
      ...combinations(values(width), operands),
      ...randomRows(Array(operands).fill(width), 32),
    ],
    of: (...bits) => of(...bits, BigInt(width)),
  }));
}

function shift(name: string, type: string, of: (value: bigint, by: bigint) => bigint) {
  const width = Number(type.slice(1)) as Width;
  const signed = type.startsWith("s");
  return {
    instruction: `${name}.${type}`,
    places: [PLACE[width], PLACE[width], "r"],
    rows: values(width).flatMap((value) => COUNTS.map((count) => [value, count])),
    of: (value: bigint, by: bigint) =>
      of(signed ? BigInt.asIntN(width, value) : value, by > 64n ? 64n : by),
  } satisfies InstructionCase;
}

function funnel(direction: "l" | "r", mode: "clamp" | "wrap"): InstructionCase {
  return {
    instruction: `shf.${direction}.${mode}.b32`,
    places: ["r", "r", "r", "r"],
    rows: [[0x12345678n, 0x9abcdef0n], [ones(32), 0n], [0n, ones(32)]].flatMap((pair) =>
      COUNTS.map((count) => [...pair, count])
    ),
    of: (low, high, count) => {
      const by = mode === "wrap" ? count & 31n : count > 32n ? 32n : count;
      const both = high << 32n | low;
      return direction === "l" ? both << by >> 32n : both >> by;
    },
  };
}

/** `bfe`: bit by bit, as the ISA writes it down. */
function extract(type: string): InstructionCase {
  const width = Number(type.slice(1)) as 32 | 64;
  const last = BigInt(width - 1);
  return {
    instruction: `bfe.${type}`,
    places: [PLACE[width], PLACE[width], "r", "r"],
    rows: values(width).flatMap((value) => combinations(COUNTS, 2).map((pair) => [value, ...pair]))
      .filter((_, index) => index % 2 === 0),
    of: (value, start, count) => {
      const position = start & 0xffn, length = count & 0xffn;
      const bit = (index: bigint) => value >> index & 1n;
      const top = position + length - 1n;
      const sign = type.startsWith("u") || length === 0n ? 0n : bit(top < last ? top : last);
      let result = 0n;
      for (let index = 0n; index <= last; index++) {
        const inside = index < length && position + index <= last;
        result |= (inside ? bit(position + index) : sign) << index;
      }
      return result;
    },
  };
}

function insert(width: 32 | 64): InstructionCase {
  const place = PLACE[width];
  return {
    instruction: `bfi.b${width}`,
    places: [place, place, place, "r", "r"],
    rows: combinations(COUNTS, 2).map((pair) => [
      0x5a3c96f00f691234n & ones(width),
      0xffff0000ffffn & ones(width),
      ...pair,
    ]),
    of: (field, base, start, count) => {
      const position = start & 0xffn, length = count & 0xffn;
      let result = base;
      for (let index = 0n; index < length && position + index < BigInt(width); index++) {
        const at = position + index;
        result = (result & ~(1n << at)) | ((field >> index & 1n) << at);
      }
      return result;
    },
  };
}

function count(instruction: string, width: 32 | 64, of: (bits: bigint) => bigint): InstructionCase {
  return {
    instruction,
    places: ["r", PLACE[width]],
    rows: [...values(width).map((value) => [value]), ...randomRows([width], 24)],
    of,
  };
}

const binary = (bits: bigint, width: number) => bits.toString(2).padStart(width, "0");

function highest(type: string, asShift: boolean): InstructionCase {
  const width = Number(type.slice(1)) as 32 | 64;
  return count(`bfind${asShift ? ".shiftamt" : ""}.${type}`, width, (bits) => {
    const negative = type.startsWith("s") && bits >> BigInt(width - 1) === 1n;
    const from = binary(bits, width).indexOf(negative ? "0" : "1");
    return from < 0 ? ones(32) : BigInt(asShift ? from : width - 1 - from);
  });
}

const bytesOf = (a: bigint, b: bigint) =>
  Array.from({ length: 8 }, (_, index) => (b << 32n | a) >> BigInt(8 * index) & 0xffn);
const word = (bytes: readonly bigint[]) =>
  bytes.reduce((total, byte, index) => total | byte << BigInt(8 * index), 0n);

/** `prmt` with a mode: the result's bytes by their numbers, lowest first. */
function permute(mode: string, sources: readonly (readonly number[])[]): InstructionCase {
  return {
    instruction: `prmt.b32.${mode}`,
    places: ["r", "r", "r", "r"],
    rows: [0n, 1n, 2n, 3n].map((selector) => [0x33221100n, 0x77665544n, selector]),
    of: (a, b, selector) => word(sources[Number(selector)].map((index) => bytesOf(a, b)[index])),
  };
}

const SELECTORS = [0x3210n, 0x7654n, 0x0000n, 0x1234n, 0xfedcn, 0x8a9bn, 0xffff5170n, 0x4444n];

function table(lookup: number): InstructionCase {
  return {
    instruction: "lop3.b32",
    places: ["r", "r", "r", "r"],
    suffix: `, ${lookup}`,
    rows: [[0xf0f0aaaan, 0xccccf0f0n, 0xaaaaccccn], ...randomRows([32, 32, 32], 20)],
    of: (a, b, c) => {
      let result = 0n;
      for (let bit = 0n; bit < 32n; bit++) {
        const row = (a >> bit & 1n) << 2n | (b >> bit & 1n) << 1n | (c >> bit & 1n);
        result |= (BigInt(lookup) >> row & 1n) << bit;
      }
      return result;
    },
  };
}

/** Carries go through a scratch register: the second half of a sum of two words. */
function carried(instruction: string, of: (a: bigint, b: bigint) => bigint, width: 32 | 64) {
  const type = `u${width}`, place = PLACE[width];
  const [first, second] = instruction.split(" ");
  return {
    instruction: `${first}.${type} %${place}5, %${place}10, %${place}11; ${second}.${type}`,
    places: [place, place, place],
    rows: combinations(values(width), 2),
    of,
  } satisfies InstructionCase;
}

const carriedCases = ([32, 64] as const).flatMap((width) => {
  const all = ones(width);
  return [
    carried("add.cc addc", (a, b) => a + b + (a + b > all ? 1n : 0n), width),
    carried("sub.cc subc", (a, b) => a - b - (a < b ? 1n : 0n), width),
  ];
});

const predicates = (name: string, of: (a: bigint, b: bigint) => bigint): InstructionCase => ({
  instruction: `${name}.pred`,
  places: ["p", "p", "p"],
  rows: combinations([0n, 1n], 2),
  of,
});

const CASES: Record<string, readonly InstructionCase[]> = {
  "and, or, xor, not and cnot work bit by bit": [
    ...logic("and", 2, (a, b) => a & b),
    ...logic("or", 2, (a, b) => a | b),
    ...logic("xor", 2, (a, b) => a ^ b),
    ...logic("not", 1, (a) => ~a),
    ...logic("cnot", 1, (a) => a === 0n ? 1n : 0n),
    predicates("and", (a, b) => a & b),
    predicates("or", (a, b) => a | b),
    predicates("xor", (a, b) => a ^ b),
    { instruction: "not.pred", places: ["p", "p"], rows: [[0n], [1n]], of: (a) => 1n - a },
  ],
  "shl and shr by more than the width leave nothing but the sign": WIDTHS.flatMap((width) => [
    shift("shl", `b${width}`, (value, by) => value << by),
    shift("shr", `b${width}`, (value, by) => value >> by),
    shift("shr", `u${width}`, (value, by) => value >> by),
    shift("shr", `s${width}`, (value, by) => value >> by),
  ]),
  "shf shifts two words by a count that is clamped or wrapped": [
    funnel("l", "clamp"),
    funnel("l", "wrap"),
    funnel("r", "clamp"),
    funnel("r", "wrap"),
  ],
  "bfe takes a field, and its sign": ["u32", "s32", "u64", "s64"].map(extract),
  "bfi puts a field in its place": [insert(32), insert(64)],
  "popc, clz and bfind count and find": ([32, 64] as const).flatMap((width) => [
    count(
      `popc.b${width}`,
      width,
      (bits) => BigInt(binary(bits, width).replaceAll("0", "").length),
    ),
    count(`clz.b${width}`, width, (bits) => BigInt(`${binary(bits, width)}1`.indexOf("1"))),
    ...["u", "s"].flatMap((sign) => [
      highest(`${sign}${width}`, false),
      highest(`${sign}${width}`, true),
    ]),
  ]),
  "brev turns a word round": logic(
    "brev",
    1,
    (bits, width) => BigInt(`0b${[...binary(bits, Number(width))].reverse().join("")}`),
    [32, 64],
  ),
  "prmt takes bytes by nibbles, or by a mode": [
    {
      instruction: "prmt.b32",
      places: ["r", "r", "r", "r"],
      rows: SELECTORS.map((selector) => [0x83228100n, 0x7766d544n, selector]),
      of: (a, b, selector) =>
        word(Array.from({ length: 4 }, (_, index) => {
          const nibble = selector >> BigInt(4 * index) & 15n;
          const byte = bytesOf(a, b)[Number(nibble & 7n)];
          return nibble & 8n ? (byte >> 7n) * 0xffn : byte;
        })),
    },
    permute("f4e", [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]),
    permute("b4e", [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]]),
    permute("rc8", [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
    permute("ecl", [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]]),
    permute("ecr", [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]),
    permute("rc16", [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
  ],
  "lop3 is any function of three bits": [0x00, 0xff, 0x80, 0xe8, 0x96, 0xca, 0x3c, 0x01].map(table),
  "fns finds the n-th set bit": [{
    instruction: "fns.b32",
    places: ["r", "r", "r", "r"],
    rows: [
      [0xff00n, 8n, 0n],
      [0xff00n, 7n, 0n],
      [0xff00n, 0n, 1n],
      [0xff00n, 0n, 8n],
      [0xff00n, 0n, 9n],
      [0xff00n, 31n, 0xffffffffn],
      [0xff00n, 12n, 0xfffffffen],
    ],
    of: (bits, base, offset) => {
      const steps = BigInt.asIntN(32, offset);
      const set = (index: bigint) => (bits >> index & 1n) === 1n;
      if (steps === 0n) return set(base) ? base : ones(32);
      let left = steps < 0n ? -steps : steps;
      for (let index = base; index >= 0n && index < 32n; index += steps < 0n ? -1n : 1n) {
        if (set(index) && --left === 0n) return index;
      }
      return ones(32);
    },
  }],
  "szext extends from a width, bmsk makes a mask": [
    ...(["clamp", "wrap"] as const).flatMap((mode) => {
      const limit = (n: bigint) => mode === "wrap" ? n & 31n : n > 32n ? 32n : n;
      const rows = [0x5a3c96f0n, ones(32), 0x80n].flatMap((value) =>
        COUNTS.map((each) => [value, each])
      );
      return [
        {
          instruction: `szext.${mode}.u32`,
          places: ["r", "r", "r"],
          rows,
          of: (value, width) => value & ones(limit(width)),
        },
        {
          instruction: `szext.${mode}.s32`,
          places: ["r", "r", "r"],
          rows,
          of: (value, width) => BigInt.asIntN(Number(limit(width)), value),
        },
        {
          instruction: `bmsk.${mode}.b32`,
          places: ["r", "r", "r"],
          rows: combinations(COUNTS, 2),
          of: (position, length) =>
            mode === "wrap"
              ? ones(length & 31n) << (position & 31n)
              : position > 31n
              ? 0n
              : ones(limit(length)) << position,
        },
      ] satisfies InstructionCase[];
    }),
  ],
  "add.cc and sub.cc leave a carry for addc and subc": carriedCases,
};

for (const [name, cases] of Object.entries(CASES)) {
  softwareGpuTest(name, (gpu) => checkInstructions(gpu, cases));
}
