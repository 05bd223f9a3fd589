import assert from "node:assert/strict";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { input, output, struct } from "../../kernels/gpu.ts";
import { elementAddress, ptxKernel, refusalOf, run } from "./ptx_kernel.ts";

/** Bytes that differ from their neighbours and have their sign bit set now and then. */
function pattern(count: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: count }, (_, index) => index * 37 + (index >> 5) + 11);
}

const REGISTERS: Readonly<Record<number, string>> = { 8: "%r", 16: "%h", 32: "%r", 64: "%w" };

/** Forms of a load and its store: the element's bits, and how many of them. */
const FORMS = [
  [8, 1],
  [8, 2],
  [8, 4],
  [16, 1],
  [16, 2],
  [16, 4],
  [32, 1],
  [32, 2],
  [32, 4],
  [32, 8],
  [64, 1],
  [64, 2],
  [64, 4],
] as const;

/** An operand of `count` registers from number 10 on. */
function vector(bits: number, count: number): string {
  const names = Array.from({ length: count }, (_, index) => `${REGISTERS[bits]}${10 + index}`);
  return count === 1 ? names[0] : `{${names.join(", ")}}`;
}

/** Moves each thread's element from `p0` through a place to `p1`. */
function through(bits: number, count: number, address: string, space: string): string {
  const bytes = bits / 8 * count, type = `.b${bits}`;
  const suffix = (count === 1 ? "" : `.v${count}`) + type;
  return ptxKernel(
    2,
    `
  .shared .align 32 .b8 shared[2048];
  .local .align 32 .b8 local[64];
  ${elementAddress("%w0", "%a0", bytes)}
  ${elementAddress("%w1", "%a1", bytes)}
  ld.global${suffix} ${vector(bits, count)}, [%w0];
  ${address.replaceAll("BYTES", String(bytes))}
  st${space}${suffix} [%w2], ${vector(bits, count)};
  ld${space}${suffix} ${vector(bits, count)}, [%w2];
  st.global${suffix} [%w1], ${vector(bits, count)};`,
  );
}

const PLACES: readonly { name: string; space: string; address: string }[] = [
  { name: "global memory", space: ".global", address: "mov.b64 %w2, %w1;" },
  { name: "global memory by a generic address", space: "", address: "mov.b64 %w2, %w1;" },
  {
    name: "shared memory",
    space: ".shared",
    address: "mov.u64 %w2, shared; mad.lo.u64 %w2, %tw, BYTES, %w2;",
  },
  {
    name: "shared memory by a generic address",
    space: "",
    address: "mov.u64 %w2, shared; mad.lo.u64 %w2, %tw, BYTES, %w2; cvta.shared.u64 %w2, %w2;",
  },
  {
    name: "scattered shared memory",
    space: ".shared",
    address: `xor.b32 %r1, %t, 13; cvt.u64.u32 %w3, %r1;
      mov.u64 %w2, shared; mad.lo.u64 %w2, %w3, BYTES, %w2;`,
  },
  { name: "local memory", space: ".local", address: "mov.u64 %w2, local;" },
  {
    name: "local memory by a generic address",
    space: "",
    address: "mov.u64 %w2, local; cvta.local.u64 %w2, %w2;",
  },
];

for (const { name, space, address } of PLACES) {
  softwareGpuTest(`ld and st move every width through ${name}`, async (gpu) => {
    for (const [bits, count] of FORMS) {
      for (const threads of [32, 21]) {
        const x = pattern(threads * bits / 8 * count);
        const y = output(new Uint8Array(x.length));
        const ptx = through(bits, count, address, space);
        await run(gpu, ptx, { arguments: [input(x), y], threads });
        assert.deepEqual(y.data, x, `${count} elements of ${bits} bits, ${threads} threads`);
      }
    }
  });
}

softwareGpuTest("ld widens by the type's sign into wider registers", async (gpu) => {
  const x = pattern(64 * 4);
  const view = new DataView(x.buffer);
  const expected: Readonly<Record<string, (at: number) => number>> = {
    u8: (at) => view.getUint8(at),
    s8: (at) => view.getInt8(at),
    b8: (at) => view.getUint8(at),
    u16: (at) => view.getUint16(at, true),
    s16: (at) => view.getInt16(at, true),
    u32: (at) => view.getUint32(at, true),
    s32: (at) => view.getInt32(at, true),
  };
  for (const [type, read] of Object.entries(expected)) {
    const bytes = Number(type.slice(1)) / 8;
    const wide = output(new Uint8Array(256)), narrow = output(new Int32Array(32));
    await run(
      gpu,
      ptxKernel(
        3,
        `
  ${elementAddress("%w0", "%a0", bytes)}
  ${elementAddress("%w1", "%a1", 8)}
  ${elementAddress("%w2", "%a2", 4)}
  ld.global.${type} %w3, [%w0];
  st.global.u64 [%w1], %w3;
  ld.global.${type} %r3, [%w0];
  st.global.u32 [%w2], %r3;`,
      ),
      { arguments: [input(x), wide, narrow] },
    );
    const values = Array.from({ length: 32 }, (_, lane) => read(lane * bytes));
    assert.deepEqual(Array.from(new BigInt64Array(wide.data.buffer), Number), values, type);
    assert.deepEqual(Array.from(narrow.data), values.map((value) => value | 0), type);
  }
});

softwareGpuTest("st narrows wider registers", async (gpu) => {
  for (const bits of [8, 16, 32]) {
    const y = output(new Uint8Array(32 * bits / 8));
    await run(
      gpu,
      ptxKernel(
        1,
        `
  ${elementAddress("%w0", "%a0", bits / 8)}
  mad.lo.u64 %w1, %tw, 0x0102030405060709, 0x8877665544332211;
  st.global.u${bits} [%w0], %w1;`,
      ),
      { arguments: [y] },
    );
    const expected = Array.from({ length: 32 }, (_, lane) => {
      const value = 0x8877665544332211n + BigInt(lane) * 0x0102030405060709n;
      return Array.from({ length: bits / 8 }, (_, at) => Number(value >> BigInt(8 * at) & 255n));
    }).flat();
    assert.deepEqual(Array.from(y.data), expected, `${bits} bits`);
  }
});

softwareGpuTest("ld gives all lanes the value at one address, in any mask", async (gpu) => {
  const x = Uint32Array.of(7, 8, 9, 10), y = output(new Uint32Array(32 * 4));
  await run(
    gpu,
    ptxKernel(
      2,
      `
  ${elementAddress("%w1", "%a1", 16)}
  mov.u32 %r0, 1; mov.u32 %r1, 2; mov.u32 %r2, 3; mov.u32 %r3, 4;
  setp.ne.u32 %p0, %t, 5;
  @%p0 ld.global.nc.L1::no_allocate.v4.u32 {%r0, %r1, %r2, %r3}, [%a0];
  st.global.v4.u32 [%w1], {%r0, %r1, %r2, %r3};`,
    ),
    { arguments: [input(x), y] },
  );
  const expected = Array.from({ length: 32 }, (_, lane) => lane === 5 ? [1, 2, 3, 4] : [...x]);
  assert.deepEqual(Array.from(y.data), expected.flat());
});

softwareGpuTest("ld skips elements that nobody wants", async (gpu) => {
  const x = Uint32Array.from({ length: 128 }, (_, index) => index * 3);
  const y = output(new Uint32Array(32));
  await run(
    gpu,
    ptxKernel(
      2,
      `
  ${elementAddress("%w0", "%a0", 16)}
  ${elementAddress("%w1", "%a1", 4)}
  ld.global.v4.u32 {_, _, %r2, _}, [%w0];
  st.global.u32 [%w1], %r2;`,
    ),
    { arguments: [input(x), y] },
  );
  assert.deepEqual(Array.from(y.data), Array.from({ length: 32 }, (_, lane) => (lane * 4 + 2) * 3));
});

softwareGpuTest("ld.param and ld.const take indices that only the run knows", async (gpu) => {
  const y = output(new Uint32Array(32 * 2));
  const words = Array.from({ length: 8 }, (_, index) => 1000 + index);
  await run(
    gpu,
    ptxKernel(
      2,
      `
  ${elementAddress("%w1", "%a0", 8)}
  and.b32 %r0, %t, 7;
  mul.lo.u32 %r1, %r0, 4;
  mov.b32 %r5, p1;
  add.u32 %r5, %r5, %r1;
  ld.param.u32 %r2, [%r5];
  cvt.u64.u32 %w2, %r1;
  mov.u64 %w3, table;
  add.u64 %w3, %w3, %w2;
  ld.const.u32 %r3, [%w3];
  st.global.v2.u32 [%w1], {%r2, %r3};`,
      {
        parameters: [".u64", ".align 4 .b8"],
        declarations: ".const .align 4 .u32 table[8] = {10, 11, 12, 13, 14, 15, 16, 17};",
      },
    ).replace(".b8 p1", ".b8 p1[32]"),
    { arguments: [y, struct(words)] },
  );
  const expected = Array.from({ length: 32 }, (_, lane) => [1000 + lane % 8, 10 + lane % 8]);
  assert.deepEqual(Array.from(y.data), expected.flat());
});

softwareGpuTest("ld and st take every order, scope and cache operator", async (gpu) => {
  const loads = [
    "ld.global.ca",
    "ld.global.cg",
    "ld.global.cs",
    "ld.global.lu",
    "ld.global.cv",
    "ld.volatile.global",
    "ld.weak.global",
    "ld.relaxed.gpu.global",
    "ld.acquire.sys.global",
    "ld.mmio.relaxed.sys.global",
    "ld.global.nc",
    "ld.global.L1::evict_last.L2::128B",
    "ldu.global",
    "ld.relaxed.cta",
  ];
  const stores = [
    "st.global.wb",
    "st.global.cg",
    "st.global.cs",
    "st.global.wt",
    "st.volatile.global",
    "st.relaxed.gpu.global",
    "st.release.cluster.global",
    "st.mmio.relaxed.sys.global",
    "st.global.L1::no_allocate",
    "st.release.gpu",
  ];
  const x = pattern(128);
  for (let i = 0; i < loads.length; i++) {
    const y = output(new Uint8Array(128));
    const store = stores[i % stores.length];
    await run(
      gpu,
      ptxKernel(
        2,
        `
  ${elementAddress("%w0", "%a0", 4)}
  ${elementAddress("%w1", "%a1", 4)}
  ${loads[i]}.u32 %r0, [%w0];
  ${store}.u32 [%w1], %r0;`,
      ),
      { arguments: [input(x), y] },
    );
    assert.deepEqual(y.data, x, `${loads[i]}, ${store}`);
  }
});

softwareGpuTest(
  "kernels' bytes of global memory are counted, those of shared memory are not",
  async (gpu) => {
    const ptx = ptxKernel(
      2,
      `
  .shared .align 4 .b8 shared[128];
  ${elementAddress("%w0", "%a0", 8)}
  ${elementAddress("%w1", "%a1", 4)}
  mov.u32 %r3, shared; mad.lo.u32 %r3, %t, 4, %r3;
  ld.global.v2.u32 {%r0, %r1}, [%w0];
  st.shared.u32 [%r3], %r0;
  cvt.u64.u32 %w2, %r3; cvta.shared.u64 %w2, %w2;
  ld.u32 %r0, [%w2];
  st.u32 [%w1], %r0;
  red.global.add.u32 [%w1], 1;`,
    );
    const arguments_ = [input(new Uint32Array(42)), output(new Uint32Array(21))];
    await run(gpu, ptx, { arguments: arguments_, threads: 21 });
    assert.equal(gpu.control.counter("bytesRead"), 21 * (8 + 4));
    assert.equal(gpu.control.counter("bytesWritten"), 21 * (4 + 4));
  },
);

softwareGpuTest("ld and st are refused when their words do not fit", async (gpu) => {
  const refusals: readonly [instruction: string, reason: RegExp][] = [
    ["ld.global.sideways.u32 %r0, [%a0];", /unknown modifier \.sideways/],
    ["ld.global.v2.u32 %r0, [%a0];", /another number of elements/],
    ["ld.global.v8.u64 {%w0,%w1,%w2,%w3,%w4,%w5,%w6,%w7}, [%a0];", /more than 32 bytes/],
    ["ld.global.u32 %r0, [%r1];", /needs 64 bits/],
    ["ld.global.u64 %r0, [%a0];", /64 are expected|does not fit/],
    ["st.const.u32 [%a0], %r0;", /cannot be stored to/],
    ["st.param.u32 [p0], %r0;", /cannot be stored to/],
  ];
  for (const [instruction, reason] of refusals) {
    assert.match(await refusalOf(gpu, ptxKernel(1, instruction)), reason);
  }
});
