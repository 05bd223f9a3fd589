import assert from "node:assert/strict";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { type Buffer, input, output, updated } from "../../kernels/gpu.ts";
import { elementAddress, faultOf, ptxKernel, refusalOf, run } from "./ptx_kernel.ts";

const THREADS = 64, BLOCKS = 3;

/** An operation on integers, by what memory holds afterwards. */
interface IntegerCase {
  readonly operation: string;
  readonly bits: 32 | 64;
  readonly start: bigint;
  readonly apply: (old: bigint, value: bigint) => bigint;
}

const signed = (value: bigint, bits: number) => BigInt.asIntN(bits, value);
const smallest = (a: bigint, b: bigint) => a < b ? a : b;
const largest = (a: bigint, b: bigint) => a > b ? a : b;

function integerCases(bits: 32 | 64): IntegerCase[] {
  const word = (operation: string, start: bigint, apply: IntegerCase["apply"]) => ({
    operation,
    bits,
    start,
    apply,
  });
  const all = (1n << BigInt(bits)) - 1n;
  return [
    word(`add.u${bits}`, all - 5n, (old, value) => old + value),
    word(`min.u${bits}`, all, smallest),
    word(`max.u${bits}`, 0n, largest),
    word(
      `min.s${bits}`,
      all >> 1n,
      (old, value) => smallest(signed(old, bits), signed(value, bits)),
    ),
    word(
      `max.s${bits}`,
      1n << BigInt(bits - 1),
      (old, value) => largest(signed(old, bits), signed(value, bits)),
    ),
    word(`and.b${bits}`, all, (old, value) => old & value),
    word(`or.b${bits}`, 0n, (old, value) => old | value),
    word(`xor.b${bits}`, 5n, (old, value) => old ^ value),
  ];
}

const INTEGER_CASES: readonly IntegerCase[] = [
  ...integerCases(32),
  ...integerCases(64),
  {
    operation: "inc.u32",
    bits: 32,
    start: 3n,
    apply: (old, value) => old >= value ? 0n : old + 1n,
  },
  {
    operation: "dec.u32",
    bits: 32,
    start: 3n,
    apply: (old, value) => old === 0n || old > value ? value : old - 1n,
  },
];

/** The value that each thread brings; for inc and dec the same for all, so that order is nothing. */
function valuesFor(each: IntegerCase): bigint[] {
  return Array.from({ length: THREADS * BLOCKS }, (_, thread) => {
    if (each.operation.endsWith("c.u32")) return 100n;
    return BigInt.asUintN(each.bits, BigInt(thread + 1) * 0x9E3779B97F4A7C15n);
  });
}

/** Words of 32 or 64 bits, as bytes. */
function words(bits: 32 | 64, values: readonly bigint[]): Uint8Array<ArrayBuffer> {
  const array = bits === 32 ? Uint32Array.from(values, Number) : BigUint64Array.from(values);
  return new Uint8Array(array.buffer);
}

/** The one word that there is. */
function wordOf(bits: 32 | 64, { data }: Buffer): bigint {
  return bits === 32 ? BigInt(new Uint32Array(data.buffer)[0]) : new BigUint64Array(data.buffer)[0];
}

const GLOBAL_INDEX = `mov.u32 %r9, %ctaid.x; mov.u32 %r8, %ntid.x;
  mad.lo.u32 %r9, %r9, %r8, %t; cvt.u64.u32 %tw, %r9;`;

for (const each of INTEGER_CASES) {
  softwareGpuTest(`atom.global.${each.operation} adds up over blocks and threads`, async (gpu) => {
    gpu.control.configure({ threads: 2 });
    const bytes = each.bits / 8, register = each.bits === 32 ? "%r" : "%w";
    const values = valuesFor(each);
    const memory = updated(words(each.bits, [each.start]));
    const red = updated(words(each.bits, [each.start]));
    await run(
      gpu,
      ptxKernel(
        3,
        `
  ${GLOBAL_INDEX}
  ${elementAddress("%w10", "%a0", bytes)}
  ld.global.u${each.bits} ${register}0, [%w10];
  atom.global.${each.operation} ${register}1, [%a1], ${register}0;
  red.relaxed.gpu.global.${each.operation} [%a2], ${register}0;`,
      ),
      {
        arguments: [input(words(each.bits, values)), memory, red],
        threads: THREADS,
        blocks: BLOCKS,
      },
    );
    const expected = values.reduce(each.apply, each.start);
    assert.equal(wordOf(each.bits, memory), BigInt.asUintN(each.bits, expected));
    assert.equal(wordOf(each.bits, red), BigInt.asUintN(each.bits, expected));
  });
}

softwareGpuTest(
  "atom gives what was there: every ticket once, in shared memory as well",
  async (gpu) => {
    for (const shared of [false, true]) {
      const y = output(new Uint32Array(64)), counter = updated(new Uint32Array(1));
      const place = shared ? ".shared" : ".global", address = shared ? "ticket" : "%a1";
      await run(
        gpu,
        ptxKernel(
          2,
          `
  .shared .align 4 .b8 ticket[4];
  ${elementAddress("%w0", "%a0", 4)}
  setp.eq.u32 %p0, %t, 0;
  @%p0 st.shared.u32 [ticket], 0;
  bar.sync 0;
  atom${place}.add.u32 %r0, [${address}], 1;
  st.global.u32 [%w0], %r0;`,
        ),
        { arguments: [y, counter], threads: 64 },
      );
      const tickets = Array.from(y.data as Uint32Array).sort((a, b) => a - b);
      assert.deepEqual(tickets, Array.from({ length: 64 }, (_, index) => index));
    }
  },
);

softwareGpuTest("atom.exch and atom.cas exchange 16, 32, 64 and 128 bits", async (gpu) => {
  const y = updated(new Uint32Array(16));
  y.data.set([5, 0, 6, 0, 7, 0, 8, 0, 1, 2, 3, 4, 9, 9, 9, 9]);
  await run(
    gpu,
    ptxKernel(
      1,
      `
  mov.b16 %h0, 5; mov.b16 %h1, 50;
  atom.global.cas.b16 %h2, [%a0], %h0, %h1;
  atom.global.acq_rel.gpu.cas.b32 %r2, [%a0+8], 6, 60;
  atom.global.exch.b32 %r3, [%a0+16], 70;
  atom.global.cas.b64 %w2, [%a0+24], 1234, 80;
  mov.u64 %w4, 0x200000001; mov.u64 %w5, 0x400000003; mov.b128 %q0, {%w4, %w5};
  mov.u64 %w6, 11; mov.u64 %w7, 12; mov.b128 %q1, {%w6, %w7};
  atom.global.cas.b128 %q2, [%a0+32], %q0, %q1;
  atom.global.exch.b128 %q3, [%a0+48], %q2;`,
    ),
    { arguments: [y], threads: 1 },
  );
  assert.deepEqual(Array.from(y.data), [50, 0, 60, 0, 70, 0, 8, 0, 11, 0, 12, 0, 1, 2, 3, 4]);
});

softwareGpuTest("atom.add sums floats of every width", async (gpu) => {
  const singles = updated(new Float32Array(6)), doubles = updated(new Float64Array(1));
  const halves = updated(new Float16Array(4)), bfloats = updated(new Uint16Array(4));
  await run(
    gpu,
    ptxKernel(
      4,
      `
  atom.global.add.f32 %f0, [%a0], 0f3FC00000;
  red.global.add.f64 [%a1], 0d3FF8000000000000;
  mov.b16 %h0, 0x3E00;
  atom.global.add.noftz.f16 %h1, [%a2], %h0;
  mov.b32 %r0, 0x3E003C00;
  red.global.add.noftz.f16x2 [%a2+4], %r0;
  mov.b16 %h2, 0x3FC0;
  atom.global.add.noftz.bf16 %h3, [%a3], %h2;
  mov.b32 %r1, 0x3FC03F80;
  red.global.add.noftz.bf16x2 [%a3+4], %r1;
  mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000;
  atom.global.v2.f32.add {%f3, %f4}, [%a0+8], {%f1, %f2};
  red.global.add.v2.f32 [%a0+16], {%f1, %f2};`,
    ),
    { arguments: [singles, doubles, halves, bfloats] },
  );
  assert.deepEqual(Array.from(singles.data), [48, 0, 32, 64, 32, 64]);
  assert.deepEqual(Array.from(doubles.data), [48]);
  assert.deepEqual(Array.from(halves.data), [48, 0, 32, 48]);
  // 48 and 32 in bfloat16.
  assert.deepEqual(Array.from(bfloats.data), [0x4240, 0, 0x4200, 0x4240]);
});

softwareGpuTest("red.min and red.max of halves pass over NaN", async (gpu) => {
  const halves = updated(Float16Array.of(3, -3, NaN, 0));
  await run(
    gpu,
    ptxKernel(
      1,
      `
  mov.b16 %h0, 0x4000; mov.b16 %h1, 0x7FFF;
  red.global.min.noftz.f16 [%a0], %h0;
  red.global.max.noftz.f16 [%a0+2], %h1;
  red.global.max.noftz.f16 [%a0+4], %h0;`,
    ),
    { arguments: [halves], threads: 1 },
  );
  assert.deepEqual(Array.from(halves.data), [2, -3, 2, 0]);
});

softwareGpuTest("atomic operations check their addresses", async (gpu) => {
  const x = () => updated(new Uint32Array(4));
  const misaligned = ptxKernel(1, "  atom.global.add.u32 %r0, [%a0+2], 1;");
  assert.match(
    await faultOf(gpu, 716, misaligned, { arguments: [x()] }),
    /atomic operation of 4 bytes of global memory/,
  );
  const outside = ptxKernel(1, "  red.global.add.u32 [%a0+16], 1;");
  assert.match(await faultOf(gpu, 700, outside, { arguments: [x()] }), /behind the end/);
  const outsideShared = ptxKernel(
    1,
    "  .shared .b32 x;\n  mov.u32 %r1, x;\n  atom.shared.add.u32 %r0, [%r1+4], 1;",
  );
  assert.match(await faultOf(gpu, 700, outsideShared, { arguments: [x()] }), /shared memory/);
});

softwareGpuTest("atomic operations that do not exist are refused", async (gpu) => {
  for (const form of ["inc.s32 %r0", "add.b32 %r0", "exch.b8 %r0", "nand.b32 %r0"]) {
    const ptx = ptxKernel(1, `  atom.global.${form}, [%a0], 1;`);
    assert.match(await refusalOf(gpu, ptx), /no such atomic operation|unknown modifier/, form);
  }
});

softwareGpuTest("fences and membars are taken in every form", async (gpu) => {
  const forms = [
    "membar.cta",
    "membar.gl",
    "membar.sys",
    "fence.sc.gpu",
    "fence.acq_rel.cta",
    "fence.proxy.alias",
    "fence.acq_rel.sys",
  ];
  const y = output(new Uint32Array(1));
  const body = `${forms.map((form) => `  ${form};`).join("\n")}\n  st.global.u32 [%a0], 1;`;
  await run(gpu, ptxKernel(1, body), { arguments: [y] });
  assert.deepEqual(Array.from(y.data), [1]);
});
