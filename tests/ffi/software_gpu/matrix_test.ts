import assert from "node:assert/strict";
import { type SoftwareGpu, softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { input, output } from "../../kernels/gpu.ts";
import { faultOf, ptxKernel, refusalOf, run } from "./ptx_kernel.ts";

/** An element type of a matrix: how its values lie in registers, and which numbers tests use. */
interface ElementType {
  /** Bits of an element, and of the register that holds it. */
  readonly bits: number;
  readonly register: 32 | 64;
  /** The `index`-th of the values, small enough for sums to be exact. */
  value(index: number): number;
  /** Puts a value into memory as a register holds it. */
  write(view: DataView, bit: number, value: number): void;
}

/** The bits of a number in binary32, cut off behind the highest 16: bfloat16 of small numbers. */
function upperHalf(value: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  return view.getUint16(0);
}

const small = (index: number) => (index * 7 + (index >> 3)) % 13 - 6;
const integer = (bits: number, signed: boolean): ElementType => ({
  bits,
  register: 32,
  value: (index) => {
    const raw = Math.imul(index + 1, 0x9E3779B1) >>> (32 - bits);
    return signed && raw >= 2 ** (bits - 1) ? raw - 2 ** bits : raw;
  },
  write: (view, bit, value) => {
    const at = bit >> 3, mask = 2 ** bits - 1;
    view.setUint8(at, view.getUint8(at) | (value & mask) << (bit & 7));
  },
});

const TYPES: Readonly<Record<string, ElementType>> = {
  f16: {
    bits: 16,
    register: 32,
    value: (index) => small(index) / 4,
    write: (view, bit, value) => view.setFloat16(bit >> 3, value, true),
  },
  bf16: {
    bits: 16,
    register: 32,
    value: (index) => small(index) / 4,
    write: (view, bit, value) => view.setUint16(bit >> 3, upperHalf(value), true),
  },
  tf32: {
    bits: 32,
    register: 32,
    value: small,
    write: (view, bit, value) => view.setFloat32(bit >> 3, value, true),
  },
  f32: {
    bits: 32,
    register: 32,
    value: (index) => small(index + 5) / 2,
    write: (view, bit, value) => view.setFloat32(bit >> 3, value, true),
  },
  f64: {
    bits: 64,
    register: 64,
    value: (index) => small(index) / 3,
    write: (view, bit, value) => view.setFloat64(bit >> 3, value, true),
  },
  s32: {
    bits: 32,
    register: 32,
    value: (index) => small(index) * 1000,
    write: (view, bit, value) => view.setInt32(bit >> 3, value, true),
  },
  s8: integer(8, true),
  u8: integer(8, false),
  s4: integer(4, true),
  u4: integer(4, false),
  b1: integer(1, false),
};

function read(type: string, view: DataView, element: number): number {
  switch (type) {
    case "f16":
      return view.getFloat16(element * 2, true);
    case "f32":
      return view.getFloat32(element * 4, true);
    case "f64":
      return view.getFloat64(element * 8, true);
    default:
      return view.getInt32(element * 4, true);
  }
}

/** One operand: which element of the matrix is element `i` of a lane's fragment. */
interface Operand {
  readonly type: string;
  readonly rows: number;
  readonly columns: number;
  readonly place: (lane: number, i: number) => readonly [row: number, column: number];
}

const perLane = ({ rows, columns }: Operand) => rows * columns / 32;
const registersOf = (operand: Operand) =>
  perLane(operand) * TYPES[operand.type].bits / TYPES[operand.type].register;

/** Fragments of all lanes, each lane's registers one behind the other. */
function fragments(operand: Operand, matrix: readonly number[]): Uint8Array<ArrayBuffer> {
  const { bits, write } = TYPES[operand.type];
  const bytes = new Uint8Array(operand.rows * operand.columns * bits / 8);
  const view = new DataView(bytes.buffer);
  for (let lane = 0; lane < 32; lane++) {
    for (let i = 0; i < perLane(operand); i++) {
      const [row, column] = operand.place(lane, i);
      write(view, (lane * perLane(operand) + i) * bits, matrix[row * operand.columns + column]);
    }
  }
  return bytes;
}

function valuesOf(operand: Operand, salt: number): number[] {
  const { value } = TYPES[operand.type];
  return Array.from({ length: operand.rows * operand.columns }, (_, index) => value(index + salt));
}

/** Registers of an operand from number `first` on, as a vector. */
function registerList(operand: Operand, first: number): string {
  const name = TYPES[operand.type].register === 64 ? "%d" : "%r";
  return Array.from({ length: registersOf(operand) }, (_, i) => `${name}${first + i}`).join(", ");
}

/** A product on one warp: loads the fragments, multiplies, stores the result's. */
async function product(
  gpu: SoftwareGpu,
  instruction: string,
  [d, a, b, c]: readonly [Operand, Operand, Operand, Operand],
  matrices: readonly number[][],
): Promise<number[]> {
  const operands = [a, b, c];
  const first = [8, 16, 20];
  const moves = (operand: Operand, from: number, pointer: string, move: "ld" | "st") => {
    const { register } = TYPES[operand.type];
    const bytes = register / 8, type = register === 64 ? "f64" : "b32";
    const name = register === 64 ? "%d" : "%r";
    return [
      `mad.lo.u64 %w0, %tw, ${registersOf(operand) * bytes}, ${pointer};`,
      ...Array.from(
        { length: registersOf(operand) },
        (_, i) =>
          move === "ld"
            ? `ld.global.${type} ${name}${from + i}, [%w0+${i * bytes}];`
            : `st.global.${type} [%w0+${i * bytes}], ${name}${from + i};`,
      ),
    ].join("\n  ");
  };
  const y = output(new Uint8Array(d.rows * d.columns * TYPES[d.type].bits / 8));
  const text = [
    ...operands.map((operand, index) => moves(operand, first[index], `%a${index}`, "ld")),
    `${instruction} {${registerList(d, 0)}}, {${registerList(a, 8)}}, {${registerList(b, 16)}},` +
    ` {${registerList(c, 20)}};`,
    moves(d, 0, "%a3", "st"),
  ].join("\n  ");
  await run(gpu, ptxKernel(4, `  ${text}`), {
    arguments: [...operands.map((operand, index) => input(fragments(operand, matrices[index]))), y],
  });
  const view = new DataView(y.data.buffer);
  const result: number[] = [];
  for (let lane = 0; lane < 32; lane++) {
    for (let i = 0; i < perLane(d); i++) {
      const [row, column] = d.place(lane, i);
      result[row * d.columns + column] = read(d.type, view, lane * perLane(d) + i);
    }
  }
  return result;
}

/** `a * b + c` in double precision, of matrices that are `depth` and `columns` wide. */
function reference(
  depth: number,
  columns: number,
  [left, right, sums]: readonly (readonly number[])[],
  multiply = (x: number, y: number) => x * y,
): number[] {
  return sums.map((sum, index) => {
    const row = Math.floor(index / columns), column = index % columns;
    for (let k = 0; k < depth; k++) {
      sum += multiply(left[row * depth + k], right[k * columns + column]);
    }
    return sum;
  });
}

/** The layouts that the ISA gives the fragments of shapes with 8 columns. */
function operandsOf(
  [dType, aType, bType, cType]: readonly string[],
  rows: number,
  depth: number,
): [Operand, Operand, Operand, Operand] {
  const { bits, register } = TYPES[aType];
  const packed = register / bits; // neighbours along k in one register
  const bands = rows / 8;
  const sums = (type: string): Operand => ({
    type,
    rows,
    columns: 8,
    place: (lane, i) => [(lane >> 2) + 8 * (i >> 1), 2 * (lane & 3) + (i & 1)],
  });
  return [
    sums(dType),
    {
      type: aType,
      rows,
      columns: depth,
      place: (lane, i) => {
        const reg = Math.floor(i / packed);
        return [
          (lane >> 2) + 8 * (reg % bands),
          4 * packed * Math.floor(reg / bands) + (lane & 3) * packed + i % packed,
        ];
      },
    },
    {
      type: bType,
      rows: depth,
      columns: 8,
      place: (lane, i) => [
        4 * packed * Math.floor(i / packed) + (lane & 3) * packed + i % packed,
        lane >> 2,
      ],
    },
    sums(cType),
  ];
}

const PRODUCTS: readonly [
  types: string,
  shapes: readonly (readonly [rows: number, depth: number])[],
][] = [
  ["f32.f16.f16.f32", [[16, 8], [16, 16]]],
  ["f16.f16.f16.f16", [[16, 8], [16, 16]]],
  ["f32.bf16.bf16.f32", [[16, 8], [16, 16]]],
  ["f32.tf32.tf32.f32", [[16, 4], [16, 8]]],
  ["f64.f64.f64.f64", [[8, 4], [16, 4], [16, 8], [16, 16]]],
  ["s32.s8.s8.s32", [[8, 16], [16, 16], [16, 32]]],
  ["s32.s8.u8.s32", [[8, 16], [16, 32]]],
  ["s32.u8.s8.s32", [[16, 16], [16, 32]]],
  ["s32.u8.u8.s32", [[8, 16], [16, 32]]],
  ["s32.s4.s4.s32", [[8, 32], [16, 32], [16, 64]]],
  ["s32.u4.s4.s32", [[8, 32], [16, 64]]],
  ["s32.s4.u4.s32", [[16, 64]]],
  ["s32.u4.u4.s32", [[16, 32]]],
];

for (const [types, shapes] of PRODUCTS) {
  for (const [rows, depth] of shapes) {
    const name = `mma.sync.aligned.m${rows}n8k${depth}.row.col.${types}`;
    softwareGpuTest(`${name} multiplies fragments in the ISA's layout`, async (gpu) => {
      const operands = operandsOf(types.split("."), rows, depth);
      const matrices = operands.slice(1).map((operand, index) => valuesOf(operand, index * 100));
      const result = await product(gpu, name, operands, matrices);
      const expected = reference(depth, 8, matrices);
      result.forEach((value, index) => {
        const tolerance = types.startsWith("f64") ? 1e-13 : 0;
        assert.ok(
          Math.abs(value - expected[index]) <= tolerance,
          `element ${index}: ${value}, expected ${expected[index]}`,
        );
      });
    });
  }
}

softwareGpuTest("mma of single bits counts the ones of .and and .xor", async (gpu) => {
  for (const [rows, depth] of [[8, 128], [16, 128], [16, 256]]) {
    for (
      const [operation, apply] of [
        ["and", (x: number, y: number) => x & y],
        ["xor", (x: number, y: number) => x ^ y],
      ] as const
    ) {
      const operands = operandsOf(["s32", "b1", "b1", "s32"], rows, depth);
      const matrices = operands.slice(1).map((operand, index) => valuesOf(operand, index * 100));
      const name = `mma.sync.aligned.m${rows}n8k${depth}.row.col.s32.b1.b1.s32.${operation}.popc`;
      const result = await product(gpu, name, operands, matrices);
      assert.deepEqual(result, reference(depth, 8, matrices, apply), name);
    }
  }
});

softwareGpuTest("mma bounds integer sums only when it is told to", async (gpu) => {
  const operands = operandsOf(["s32", "s8", "s8", "s32"], 16, 32);
  const full = (value: number, operand: Operand) =>
    Array<number>(operand.rows * operand.columns).fill(value);
  const matrices = [full(127, operands[1]), full(127, operands[2]), full(2 ** 31 - 5, operands[3])];
  const name = "mma.sync.aligned.m16n8k32.row.col";
  const bounded = await product(gpu, `${name}.satfinite.s32.s8.s8.s32`, operands, matrices);
  assert.ok(bounded.every((value) => value === 2 ** 31 - 1));
  const wrapped = await product(gpu, `${name}.s32.s8.s8.s32`, operands, matrices);
  const expected = (2 ** 31 - 5 + 32 * 127 * 127) | 0;
  assert.ok(wrapped.every((value) => value === expected));
});

softwareGpuTest(
  "mma reads only 10 bits of TF32's fraction, and rounds half sums once",
  async (gpu) => {
    const single = operandsOf(["f32", "tf32", "tf32", "f32"], 16, 8);
    const fill = (value: number, operand: Operand) =>
      Array<number>(operand.rows * operand.columns).fill(value);
    const ones = await product(
      gpu,
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
      single,
      [fill(1 + 2 ** -11, single[1]), fill(1, single[2]), fill(0, single[3])],
    );
    assert.ok(ones.every((value) => value === 8));
    const half = operandsOf(["f16", "f16", "f16", "f16"], 16, 16);
    const sums = await product(
      gpu,
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
      half,
      // 2048 + 16 * 0.5; adding the halves one by one to 2048 would leave it as it is.
      [fill(0.5, half[1]), fill(1, half[2]), fill(2048, half[3])],
    );
    assert.ok(sums.every((value) => value === 2056));
  },
);

/** Matrices of the four products that m8n8k4 of halves does at once, by its own layouts. */
function quads(
  type: string,
  columnsOfA: boolean,
  rowsOfB: boolean,
): [Operand, Operand, Operand, Operand] {
  // The four products stand below each other: rows 8 * product + row.
  const product = (lane: number) => (lane >> 2) % 4;
  const upper = (lane: number) => lane >= 16 ? 4 : 0;
  const sums: Operand = {
    type,
    rows: 32,
    columns: 8,
    place: (lane, i) =>
      type === "f16" ? [8 * product(lane) + lane % 4 + upper(lane), i] : [
        8 * product(lane) + (lane & 1) + (i & 2) + upper(lane),
        (i & 4) + (lane & 2) + (i & 1),
      ],
  };
  return [
    sums,
    {
      type: "f16",
      rows: 32,
      columns: 4,
      place: (lane, i) =>
        columnsOfA
          ? [8 * product(lane) + i + upper(lane), lane % 4]
          : [8 * product(lane) + lane % 4 + upper(lane), i],
    },
    {
      type: "f16",
      rows: 16,
      columns: 8,
      place: (lane, i) =>
        rowsOfB
          ? [4 * product(lane) + lane % 4, i + upper(lane)]
          : [4 * product(lane) + i, lane % 4 + upper(lane)],
    },
    sums,
  ];
}

softwareGpuTest("mma.m8n8k4 of halves does four products in every layout", async (gpu) => {
  for (const type of ["f16", "f32"]) {
    for (const a of ["row", "col"]) {
      for (const b of ["row", "col"]) {
        const operands = quads(type, a === "col", b === "row");
        const matrices = operands.slice(1).map((operand, index) => valuesOf(operand, index * 50));
        const name = `mma.sync.aligned.m8n8k4.${a}.${b}.${type}.f16.f16.${type}`;
        const result = await product(gpu, name, operands, matrices);
        const expected = [0, 1, 2, 3].flatMap((index) =>
          reference(4, 8, [
            matrices[0].slice(32 * index, 32 * (index + 1)),
            matrices[1].slice(32 * index, 32 * (index + 1)),
            matrices[2].slice(64 * index, 64 * (index + 1)),
          ])
        );
        assert.deepEqual(result, expected, name);
      }
    }
  }
});

const halfwords = (count: number) =>
  Uint16Array.from({ length: count }, (_, index) => index * 3 + 1);

/** Copies `p0` to shared memory, moves tiles between it and registers, copies it to `p1`. */
function tileKernel(move: string): string {
  return ptxKernel(
    2,
    `
  .shared .align 16 .b8 shared[512];
  mov.u32 %r0, shared;
  mad.lo.u32 %r1, %t, 16, %r0;
  mad.lo.u64 %w0, %tw, 16, %a0;
  mad.lo.u64 %w1, %tw, 16, %a1;
  ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%w0];
  st.shared.v4.u32 [%r1], {%r10, %r11, %r12, %r13};
  bar.sync 0;
  ${move}
  st.global.v4.u32 [%w1], {%r10, %r11, %r12, %r13};`,
  );
}

const tile = (x: Uint16Array, index: number, row: number, column: number) =>
  x[64 * index + 8 * row + column];

softwareGpuTest("ldmatrix gives each lane two neighbours of a row, or of a column", async (gpu) => {
  const x = halfwords(256);
  for (const count of [1, 2, 4]) {
    for (const transposed of [false, true]) {
      const registers = [10, 11, 12, 13].slice(0, count).map((i) => `%r${i}`).join(", ");
      const ptx = tileKernel(`
  ${[0, 1, 2, 3].map((i) => `mov.u32 %r${10 + i}, 0;`).join(" ")}
  ldmatrix.sync.aligned.m8n8.x${count}${
        transposed ? ".trans" : ""
      }.shared.b16 {${registers}}, [%r1];`);
      const y = output(new Uint16Array(256));
      await run(gpu, ptx, { arguments: [input(x), y] });
      const expected = Array.from(
        { length: 32 },
        (_, lane) =>
          [0, 1, 2, 3].flatMap((index) =>
            [0, 1].map((i) => {
              const row = lane >> 2, column = 2 * (lane & 3) + i;
              if (index >= count) return 0;
              return transposed ? tile(x, index, column, row) : tile(x, index, row, column);
            })
          ),
      ).flat();
      assert.deepEqual(Array.from(y.data), expected, `x${count}, ${transposed}`);
    }
  }
});

softwareGpuTest("stmatrix is the reverse of ldmatrix", async (gpu) => {
  const x = halfwords(256);
  for (const [load, store] of [["", ""], [".trans", ".trans"], [".trans", ""], ["", ".trans"]]) {
    const ptx = tileKernel(`
  ldmatrix.sync.aligned.m8n8.x4${load}.shared.b16 {%r10, %r11, %r12, %r13}, [%r1];
  bar.sync 0;
  stmatrix.sync.aligned.m8n8.x4${store}.shared.b16 [%r1], {%r10, %r11, %r12, %r13};
  bar.sync 0;
  ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r1];`);
    const y = output(new Uint16Array(256));
    await run(gpu, ptx, { arguments: [input(x), y] });
    const expected = Array.from(x, (value, index) => {
      const row = index >> 3 & 7, column = index & 7;
      return load === store ? value : tile(x, index >> 6, column, row);
    });
    assert.deepEqual(Array.from(y.data), expected, `${load} ${store}`);
  }
});

softwareGpuTest("movmatrix transposes a tile in registers", async (gpu) => {
  const x = halfwords(64), y = output(new Uint16Array(64));
  const ptx = ptxKernel(
    2,
    `
  mad.lo.u64 %w0, %tw, 4, %a0;
  mad.lo.u64 %w1, %tw, 4, %a1;
  ld.global.u32 %r0, [%w0];
  movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;
  st.global.u32 [%w1], %r0;`,
  );
  await run(gpu, ptx, { arguments: [input(x), y] });
  assert.deepEqual(
    Array.from(y.data),
    Array.from(x, (_, index) => x[8 * (index & 7) + (index >> 3)]),
  );
});

/** A `wmma` of whole matrices in memory. */
interface WmmaCase {
  readonly shape: readonly [rows: number, columns: number, depth: number];
  readonly types: readonly [d: string, a: string, b: string, c: string];
  /** Registers of the fragments. */
  readonly registers: readonly [d: number, a: number, b: number, c: number];
  /** How the product names its types. */
  readonly product: string;
}

const WMMA_CASES: readonly WmmaCase[] = [
  ...[[16, 16], [32, 8], [8, 32]].flatMap(([rows, columns]): WmmaCase[] => [
    {
      shape: [rows, columns, 16],
      types: ["f32", "f16", "f16", "f32"],
      registers: [8, 8, 8, 8],
      product: "f32.f32",
    },
    {
      shape: [rows, columns, 16],
      types: ["f16", "f16", "f16", "f16"],
      registers: [4, 8, 8, 4],
      product: "f16.f16",
    },
    {
      shape: [rows, columns, 16],
      types: ["f32", "bf16", "bf16", "f32"],
      registers: [8, rows / 4, columns / 4, 8],
      product: "f32.bf16.bf16.f32",
    },
    {
      shape: [rows, columns, 16],
      types: ["s32", "s8", "s8", "s32"],
      registers: [8, rows / 8, columns / 8, 8],
      product: "s32.s8.s8.s32",
    },
  ]),
  {
    shape: [16, 16, 8],
    types: ["f32", "tf32", "tf32", "f32"],
    registers: [8, 4, 4, 8],
    product: "f32.tf32.tf32.f32",
  },
  {
    shape: [8, 8, 4],
    types: ["f64", "f64", "f64", "f64"],
    registers: [2, 1, 1, 2],
    product: "f64.f64.f64.f64",
  },
];

/** A matrix in memory with padded lines, by rows or by columns. */
function stored(type: string, rows: number, columns: number, layout: string, salt: number) {
  const stride = (layout === "row" ? columns : rows) + 16;
  const lines = layout === "row" ? rows : columns;
  const { bits, value, write } = TYPES[type];
  const bytes = new Uint8Array(lines * stride * bits / 8);
  const view = new DataView(bytes.buffer);
  const matrix = Array.from({ length: rows * columns }, (_, index) => value(index + salt));
  const at = (row: number, column: number) =>
    layout === "row" ? row * stride + column : column * stride + row;
  matrix.forEach((element, index) => {
    write(view, at(Math.floor(index / columns), index % columns) * bits, element);
  });
  return { bytes, matrix, stride, at };
}

for (const { shape: [rows, columns, depth], types, registers, product } of WMMA_CASES) {
  const shape = `m${rows}n${columns}k${depth}`;
  softwareGpuTest(`wmma ${shape}.${types.join(".")} multiplies matrices in memory`, async (gpu) => {
    for (const [aLayout, bLayout, cLayout] of [["row", "col", "row"], ["col", "row", "col"]]) {
      const a = stored(types[1], rows, depth, aLayout, 0);
      const b = stored(types[2], depth, columns, bLayout, 40);
      const c = stored(types[3], rows, columns, cLayout, 80);
      const name = TYPES[types[1]].register === 64 ? "%d" : "%r";
      const fragment = (count: number, first: number) =>
        `{${Array.from({ length: count }, (_, i) => `${name}${first + i}`).join(", ")}}`;
      const [d, fa, fb, fc] = registers.map((count, index) => fragment(count, index * 8));
      const y = output(new Uint8Array(c.bytes.length));
      const load = (matrix: string, layout: string, type: string, to: string, stride: number) =>
        `mov.u32 %r60, ${stride};
  wmma.load.${matrix}.sync.aligned.${layout}.${shape}.global.${type} ${to}, [%a${
          "abc".indexOf(matrix)
        }], %r60;`;
      await run(
        gpu,
        ptxKernel(
          4,
          `
  ${load("a", aLayout, types[1], fa, a.stride)}
  ${load("b", bLayout, types[2], fb, b.stride)}
  ${load("c", cLayout, types[3], fc, c.stride)}
  wmma.mma.sync.aligned.${aLayout}.${bLayout}.${shape}.${product} ${d}, ${fa}, ${fb}, ${fc};
  wmma.store.d.sync.aligned.${cLayout}.${shape}.global.${types[0]} [%a3], ${d}, %r60;`,
        ),
        { arguments: [input(a.bytes), input(b.bytes), input(c.bytes), y] },
      );
      const expected = reference(depth, columns, [a.matrix, b.matrix, c.matrix]);
      const view = new DataView(y.data.buffer);
      expected.forEach((value, index) => {
        const place = c.at(Math.floor(index / columns), index % columns);
        const found = read(types[0], view, place);
        assert.ok(Math.abs(found - value) <= 1e-12, `${aLayout} ${index}: ${found}, ${value}`);
      });
    }
  });
}

softwareGpuTest("instructions on matrices need a whole warp", async (gpu) => {
  const body = `
  .shared .align 16 .b8 shared[512];
  mov.u32 %r0, shared;
  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r0];`;
  const message = await faultOf(gpu, 715, ptxKernel(0, body), { arguments: [], threads: 31 });
  assert.match(message, /all 32 lanes/);
});

softwareGpuTest("ldmatrix checks the address of each row", async (gpu) => {
  const body = (offset: number) => `
  .shared .align 16 .b8 shared[512];
  mov.u32 %r0, shared;
  mad.lo.u32 %r1, %t, 16, %r0;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%r1+${offset}];`;
  const launch = { arguments: [] };
  assert.match(
    await faultOf(gpu, 700, ptxKernel(0, body(16)), launch),
    /read of 16 bytes of shared memory at 0x200/,
  );
  assert.match(await faultOf(gpu, 716, ptxKernel(0, body(8)), launch), /not a multiple of 16/);
});

softwareGpuTest("shapes and types that do not exist are refused", async (gpu) => {
  const forms: readonly [instruction: string, reason: RegExp][] = [
    ["mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", /of this shape/],
    ["mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32", /layouts .row.col/],
    ["mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32", /of these types/],
    ["mma.sync.aligned.row.col.f32.f16.f16.f32", /a shape, two layouts and four types/],
    ["mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", /fragments of 2 registers/],
  ];
  for (const [instruction, reason] of forms) {
    const operands = "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f4,%f5,%f6,%f7}";
    assert.match(await refusalOf(gpu, ptxKernel(0, `${instruction} ${operands};`)), reason);
  }
});
