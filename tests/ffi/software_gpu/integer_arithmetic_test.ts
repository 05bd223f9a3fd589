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

/** Operands at the edges, and others. */
function edges(bits: number): bigint[] {
  const top = 1n << BigInt(bits - 1);
  return [0n, 1n, 2n, 7n, top - 1n, top, top + 1n, 2n * top - 1n, 2n * top - 2n, 0x1234n];
}

function rowsOf(bits: number, operands: number): bigint[][] {
  const values = operands === 3 ? edges(bits).slice(0, 8) : edges(bits);
  return [
    ...combinations(values, operands),
    ...randomRows(Array(operands).fill(bits), 40),
  ];
}

/** The number that bits are in a type such as `s16`. */
function number(type: string, bits: bigint): bigint {
  const width = Number(type.slice(1));
  return type.startsWith("s") ? BigInt.asIntN(width, bits) : BigInt.asUintN(width, bits);
}

/** `op.type d, a, b...` on numbers of the type. */
function typed(
  name: string,
  type: string,
  operands: number,
  of: (...values: bigint[]) => bigint | undefined,
): InstructionCase {
  const width = Number(type.slice(1)) as Width;
  return {
    instruction: `${name}.${type}`,
    places: Array(operands + 1).fill(PLACE[width]),
    rows: rowsOf(width, operands),
    of: (...bits) => of(...bits.map((each) => number(type, each))),
  };
}

const TYPES = WIDTHS.flatMap((width) => [`u${width}`, `s${width}`]);
const SIGNED = WIDTHS.map((width) => `s${width}`);
const clamp = (value: bigint, low: bigint, high: bigint) =>
  value < low ? low : value > high ? high : value;
const clamp32 = (value: bigint) => clamp(value, -(1n << 31n), (1n << 31n) - 1n);
const lesser = (a: bigint, b: bigint) => a < b ? a : b;
const greater = (a: bigint, b: bigint) => a > b ? a : b;
const magnitude = (a: bigint) => a < 0n ? -a : a;
const halves = (bits: bigint, type: string) => [number(type, bits), number(type, bits >> 16n)];

function packed(
  instruction: string,
  type: "u16" | "s16",
  of: (a: bigint, b: bigint) => bigint,
): InstructionCase {
  return {
    instruction,
    places: ["r", "r", "r"],
    rows: rowsOf(32, 2),
    of: (a, b) => {
      const [low, high] = halves(a, type).map((half, index) => of(half, halves(b, type)[index]));
      return BigInt.asUintN(16, low) | BigInt.asUintN(16, high) << 16n;
    },
  };
}

/** `mul.wide` and `mad.wide`: the result is twice as wide as the factors. */
function wide(type: string, adds: boolean): InstructionCase {
  const width = Number(type.slice(1)) as 16 | 32;
  const result = PLACE[2 * width as Width], factor = PLACE[width];
  return {
    instruction: `${adds ? "mad" : "mul"}.wide.${type}`,
    places: adds ? [result, factor, factor, result] : [result, factor, factor],
    rows: [
      ...combinations(edges(width), 2).map((row) => adds ? [...row, row[0] * 77n] : row),
      ...randomRows(adds ? [width, width, 2 * width] : [width, width], 40),
    ],
    of: (a, b, c = 0n) => number(type, a) * number(type, b) + c,
  };
}

function dot(
  instruction: string,
  of: (a: bigint, b: bigint, c: bigint) => bigint,
): InstructionCase {
  return {
    instruction,
    places: ["r", "r", "r", "r"],
    rows: [
      ...combinations([0n, 0xffffffffn, 0x80808080n, 0x7f7f7f7fn, 0x01020304n], 3),
      ...randomRows([32, 32, 32], 60),
    ],
    of,
  };
}

function bytes(bits: bigint, type: string, width = 8): bigint[] {
  return Array.from({ length: 32 / width }, (_, index) => {
    const field = bits >> BigInt(index * width);
    return type.startsWith("s") ? BigInt.asIntN(width, field) : BigInt.asUintN(width, field);
  });
}

const sum = (values: readonly bigint[]) => values.reduce((total, each) => total + each, 0n);

const CASES: Record<string, readonly InstructionCase[]> = {
  "add and sub wrap around": TYPES.flatMap((type) => [
    typed("add", type, 2, (a, b) => a + b),
    typed("sub", type, 2, (a, b) => a - b),
  ]),
  "add.sat and sub.sat stay in range": [
    { ...typed("add", "s32", 2, (a, b) => clamp32(a + b)), instruction: "add.sat.s32" },
    { ...typed("sub", "s32", 2, (a, b) => clamp32(a - b)), instruction: "sub.sat.s32" },
  ],
  "mul and mad give the lower and the upper half of a product": TYPES.flatMap((type) => {
    const shift = BigInt(type.slice(1));
    return [
      typed("mul.lo", type, 2, (a, b) => a * b),
      typed("mul.hi", type, 2, (a, b) => a * b >> shift),
      typed("mad.lo", type, 3, (a, b, c) => a * b + c),
      typed("mad.hi", type, 3, (a, b, c) => (a * b >> shift) + c),
    ];
  }),
  "mad.hi.sat stays in range": [
    {
      ...typed("mad", "s32", 3, (a, b, c) => clamp32((a * b >> 32n) + c)),
      instruction: "mad.hi.sat.s32",
    },
  ],
  "mul.wide and mad.wide give the whole product": ["u16", "s16", "u32", "s32"].flatMap((type) => [
    wide(type, false),
    wide(type, true),
  ]),
  "mul24 and mad24 multiply the lower 24 bits": ["u32", "s32"].flatMap((type) => {
    const low = (value: bigint) =>
      type === "s32" ? BigInt.asIntN(24, value) : BigInt.asUintN(24, value);
    return [
      typed("mul24.lo", type, 2, (a, b) => low(a) * low(b)),
      typed("mul24.hi", type, 2, (a, b) => low(a) * low(b) >> 16n),
      typed("mad24.lo", type, 3, (a, b, c) => low(a) * low(b) + c),
      typed("mad24.hi", type, 3, (a, b, c) => (low(a) * low(b) >> 16n) + c),
    ];
  }),
  "div and rem round towards zero": TYPES.flatMap((type) => [
    typed("div", type, 2, (a, b) => b === 0n ? undefined : a / b),
    typed("rem", type, 2, (a, b) => b === 0n ? undefined : a % b),
  ]),
  "min and max know signs": TYPES.flatMap((type) => [
    typed("min", type, 2, lesser),
    typed("max", type, 2, greater),
  ]),
  "min.relu and max.relu are never negative": [
    { ...typed("min", "s32", 2, (a, b) => greater(lesser(a, b), 0n)), instruction: "min.relu.s32" },
    {
      ...typed("max", "s32", 2, (a, b) => greater(greater(a, b), 0n)),
      instruction: "max.relu.s32",
    },
  ],
  "add, min and max of two halves do not touch each other": [
    packed("add.u16x2", "u16", (a, b) => a + b),
    packed("add.s16x2", "s16", (a, b) => a + b),
    packed("min.u16x2", "u16", lesser),
    packed("min.s16x2", "s16", lesser),
    packed("max.u16x2", "u16", greater),
    packed("max.s16x2", "s16", greater),
    packed("max.relu.s16x2", "s16", (a, b) => greater(greater(a, b), 0n)),
  ],
  "neg and abs of the smallest number are itself": SIGNED.flatMap((type) => [
    typed("neg", type, 1, (a) => -a),
    typed("abs", type, 1, magnitude),
  ]),
  "sad adds the distance": TYPES.map((type) =>
    typed("sad", type, 3, (a, b, c) => c + magnitude(a - b))
  ),
  "dp4a adds four products of bytes": ["u32", "s32"].flatMap((a) =>
    ["u32", "s32"].map((b) =>
      dot(
        `dp4a.${a}.${b}`,
        (x, y, c) => c + sum(bytes(x, a).map((byte, index) => byte * bytes(y, b)[index])),
      )
    )
  ),
  "dp2a adds two products of halves and bytes": ["u32", "s32"].flatMap((a) =>
    ["u32", "s32"].flatMap((b) =>
      ["lo", "hi"].map((part) =>
        dot(`dp2a.${part}.${a}.${b}`, (x, y, c) =>
          c + sum(
            bytes(x, a, 16).map((half, index) =>
              half * bytes(y, b)[index + (part === "hi" ? 2 : 0)]
            ),
          ))
      )
    )
  ),
};

for (const [name, cases] of Object.entries(CASES)) {
  softwareGpuTest(name, (gpu) => checkInstructions(gpu, cases));
}
