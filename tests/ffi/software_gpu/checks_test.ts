import assert from "node:assert/strict";
import { type SoftwareGpu, softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { input, output, updated } from "../../kernels/gpu.ts";
import { elementAddress, faultOf, ptxKernel, run } from "./ptx_kernel.ts";

const ILLEGAL_ADDRESS = 700;
const MISALIGNED_ADDRESS = 716;
const INVALID_ADDRESS_SPACE = 717;
const LAUNCH_FAILED = 719;

/** Line of the first instruction of a body that `needle` occurs in. */
function lineOf(ptx: string, needle: string): number {
  return ptx.split("\n").findIndex((line) => line.includes(needle)) + 1;
}

softwareGpuTest(
  "a read behind an allocation's end names space, bytes, lane and line",
  async (gpu) => {
    const ptx = ptxKernel(1, `${elementAddress("%w0", "%a0", 4)}\n  ld.global.u32 %r0, [%w0+4];`);
    const x = input(new Uint32Array(32));
    const message = await faultOf(gpu, ILLEGAL_ADDRESS, ptx, { arguments: [x] });
    assert.match(message, /read of 4 bytes of global memory at 0x[0-9a-f]+/);
    assert.match(message, /0 bytes behind the end of an allocation of 128/);
    assert.match(message, /kernel/);
    assert.match(message, new RegExp(`line ${lineOf(ptx, "ld.global.u32")}\\b`));
    assert.match(message, /thread[^0-9]*31\b/);
  },
);

softwareGpuTest("a write that begins inside an allocation and leaves it faults", async (gpu) => {
  const ptx = ptxKernel(1, `  st.global.v4.u32 [%a0+16], {%t, %t, %t, %t};`);
  const x = output(new Uint8Array(24));
  const message = await faultOf(gpu, ILLEGAL_ADDRESS, ptx, { arguments: [x], threads: 1 });
  assert.match(message, /write of 16 bytes of global memory/);
  assert.match(message, /0 bytes behind the end of an allocation of 24/);
});

softwareGpuTest("an access in the gap between two allocations of one warp faults", async (gpu) => {
  // Lane 0 reads the first, lane 1 the second, lane 2 what lies between.
  const ptx = ptxKernel(
    2,
    `
  add.u64 %w1, %a0, 8;
  setp.eq.u32 %p0, %t, 0; selp.b64 %w0, %a0, %a1, %p0;
  setp.eq.u32 %p0, %t, 2; selp.b64 %w0, %w1, %w0, %p0;
  ld.global.u32 %r0, [%w0];`,
  );
  const [x, y] = [input(new Uint32Array(2)), input(new Uint32Array(2))];
  await run(gpu, ptx, { arguments: [x, y], threads: 2 });
  gpu.control.reset();
  await faultOf(gpu, ILLEGAL_ADDRESS, ptx, { arguments: [x, y], threads: 3 });
});

softwareGpuTest("address 0 faults", async (gpu) => {
  const ptx = ptxKernel(0, `  mov.u64 %w0, 0;\n  ld.global.u32 %r0, [%w0];`);
  assert.match(await faultOf(gpu, ILLEGAL_ADDRESS, ptx, { arguments: [] }), /0x0\b/);
});

softwareGpuTest("an address that is no multiple of the access faults", async (gpu) => {
  const forms = [
    "ld.global.u16 %h0, [%a0+1]",
    "ld.global.v2.u32 {%r0, %r1}, [%a0+4]",
    "ld.u64 %w0, [%a0+4]",
  ];
  for (const form of forms) {
    const ptx = ptxKernel(1, `  ${form};`);
    const x = input(new Uint8Array(64));
    const message = await faultOf(gpu, MISALIGNED_ADDRESS, ptx, { arguments: [x] });
    assert.match(message, /not a multiple of (2|8)/, form);
  }
});

softwareGpuTest("shared, local and parameter memory end where they end", async (gpu) => {
  const declarations = `
  .shared .align 16 .b8 shared[256];
  .local .align 16 .b8 local[64];
  st.shared.u32 [shared], %t; st.local.u32 [local], %t;
  mov.u32 %r1, shared; mov.u32 %r2, 0xfffff0; mov.u64 %w2, 0xfffff0; mov.b32 %r4, 0;`;
  const forms: readonly [form: string, reason: RegExp][] = [
    [
      "st.shared.u32 [%r1+256], %t",
      /write of 4 bytes of shared memory at 0x100: the block has 256/,
    ],
    ["ld.shared.v2.u32 {%r0, %r3}, [%r1+256]", /read of 8 bytes of shared memory/],
    ["ld.shared.u32 %r0, [%r1+-4]", /shared memory at 0xfffffffc/],
    ["st.local.u32 [%r2], %t", /local memory at 0xfffff0: the thread has/],
    ["st.local.u32 [%w2], %t", /local memory at 0xfffff0: the thread has/],
    ["ld.param.u32 %r0, [%r4+8]", /parameter memory at 0x8: the kernel has 8/],
  ];
  for (const [form, reason] of forms) {
    const ptx = ptxKernel(1, `${declarations}\n  ${form};`);
    const x = input(new Uint8Array(8));
    assert.match(await faultOf(gpu, ILLEGAL_ADDRESS, ptx, { arguments: [x] }), reason, form);
  }
});

softwareGpuTest("a generic address of another thread's local memory faults", async (gpu) => {
  const ptx = ptxKernel(
    0,
    `
  .local .align 16 .b8 local[64];
  mov.u64 %w0, local; cvta.local.u64 %w0, %w0;
  mov.b64 {%r0, %r1}, %w0;
  shfl.sync.idx.b32 %r0, %r0, 0, 31, 0xffffffff;
  shfl.sync.idx.b32 %r1, %r1, 0, 31, 0xffffffff;
  mov.b64 %w0, {%r0, %r1};
  st.u32 [%w0], %t;`,
  );
  const message = await faultOf(gpu, INVALID_ADDRESS_SPACE, ptx, { arguments: [] });
  assert.match(message, /belongs to another thread/);
});

/** A kernel in which each warp of two writes its half of shared memory and reads the other's. */
function exchange(between: string): string {
  return ptxKernel(
    1,
    `
  .shared .align 16 .b8 shared[256];
  mov.u32 %r0, shared;
  mad.lo.u32 %r1, %t, 4, %r0;
  st.shared.u32 [%r1], %t;
  ${between}
  xor.b32 %r2, %t, 32;
  mad.lo.u32 %r2, %r2, 4, %r0;
  ld.shared.u32 %r3, [%r2];
  ${elementAddress("%w0", "%a0", 4)}
  st.global.u32 [%w0], %r3;`,
  );
}

/** Runs a kernel of 64 threads with checks on, and returns the result of each thread. */
async function checked(gpu: SoftwareGpu, ptx: string): Promise<number[]> {
  gpu.control.configure({ checkRaces: true, checkUninitialised: true });
  const y = output(new Uint32Array(64));
  await run(gpu, ptx, { arguments: [y], threads: 64 });
  return Array.from(y.data);
}

async function faultOfChecked(gpu: SoftwareGpu, ptx: string): Promise<string> {
  gpu.control.configure({ checkRaces: true });
  const y = output(new Uint32Array(64));
  return await faultOf(gpu, LAUNCH_FAILED, ptx, { arguments: [y], threads: 64 });
}

softwareGpuTest("checkRaces finds a missing barrier, and names both lines", async (gpu) => {
  const ptx = exchange("");
  const message = await faultOfChecked(gpu, ptx);
  assert.match(message, /race in shared memory at 0x[0-9a-f]+: /);
  assert.match(message, new RegExp(`at line ${lineOf(ptx, "ld.shared.u32")}\\b`));
  assert.match(message, new RegExp(`at line ${lineOf(ptx, "st.shared.u32")}\\b`));
});

softwareGpuTest("checkRaces is content with a barrier", async (gpu) => {
  const expected = Array.from({ length: 64 }, (_, thread) => thread ^ 32);
  assert.deepEqual(await checked(gpu, exchange("bar.sync 0;")), expected);
});

softwareGpuTest("checkRaces finds a read that a later write overtakes", async (gpu) => {
  const ptx = exchange("bar.sync 0;").replace(
    "ld.shared.u32 %r3, [%r2];",
    "ld.shared.u32 %r3, [%r2];\n  st.shared.u32 [%r1], %r3;",
  );
  assert.match(await faultOfChecked(gpu, ptx), /read by warp|written by warp/);
});

softwareGpuTest("checkRaces lets atomic operations meet, but not plain ones", async (gpu) => {
  const body = (other: string) =>
    ptxKernel(
      1,
      `
  .shared .align 16 .b8 shared[16];
  st.shared.u32 [shared], 0;
  bar.sync 0;
  atom.shared.add.u32 %r0, [shared], 1;
  ${other}
  bar.sync 0;
  ld.shared.u32 %r3, [shared];
  ${elementAddress("%w0", "%a0", 4)}
  st.global.u32 [%w0], %r3;`,
    ).replace(
      "st.shared.u32 [shared], 0;",
      "setp.eq.u32 %p0, %t, 0;\n@%p0 st.shared.u32 [shared], 0;",
    );
  assert.deepEqual(await checked(gpu, body("")), Array(64).fill(64));
  gpu.control.reset();
  assert.match(await faultOfChecked(gpu, body("ld.shared.u32 %r1, [shared];")), /race/);
});

/** A kernel that writes what it reads from `place` after `before`. */
function readOf(before: string, place: string): string {
  return ptxKernel(
    1,
    `
  .shared .align 16 .b8 shared[256];
  .local .align 16 .b8 local[64];
  ${before}
  ld${place};
  ${elementAddress("%w0", "%a0", 4)}
  st.global.u32 [%w0], %r0;`,
  );
}

softwareGpuTest("checkUninitialised finds reads of memory that nobody wrote", async (gpu) => {
  const forms: readonly [before: string, read: string, reason: RegExp][] = [
    [
      "st.shared.u16 [shared], %h0;",
      ".shared.u32 %r0, [shared]",
      /4 bytes of shared memory at 0x[0-9a-f]+: byte 2 of them was never written/,
    ],
    [
      "st.local.u8 [local], %h0;",
      ".local.u32 %r0, [local]",
      /4 bytes of local memory at 0x[0-9a-f]+: byte 1 of them was never written/,
    ],
    [
      "",
      ".global.u32 %r0, [%a0]",
      /4 bytes of global memory at 0x[0-9a-f]+: byte 0 of them was never written/,
    ],
  ];
  for (const [before, read, reason] of forms) {
    gpu.control.configure({ checkUninitialised: true });
    const y = output(new Uint32Array(32));
    const message = await faultOf(gpu, LAUNCH_FAILED, readOf(before, read), { arguments: [y] });
    assert.match(message, reason);
  }
});

softwareGpuTest("checkUninitialised knows what kernels and the host have written", async (gpu) => {
  gpu.control.configure({ checkUninitialised: true });
  const forms: readonly [before: string, read: string][] = [
    ["st.shared.u32 [shared], 7;", ".shared.u32 %r0, [shared]"],
    ["st.local.u32 [local], 7;", ".local.u32 %r0, [local]"],
    ["", ".global.u32 %r0, [%a0]"],
  ];
  for (const [before, read] of forms) {
    const y = updated(new Uint32Array(32).fill(7));
    await run(gpu, readOf(before, read), { arguments: [y] });
    assert.deepEqual(Array.from(y.data), Array(32).fill(7));
  }
});

softwareGpuTest("checkUninitialised begins anew with each block", async (gpu) => {
  const ptx = ptxKernel(
    0,
    `
  .shared .align 16 .b8 shared[16];
  mov.u32 %r0, %ctaid.x;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 st.shared.u32 [shared], 1;
  ld.shared.u32 %r1, [shared];`,
  );
  gpu.control.configure({ checkUninitialised: true });
  await run(gpu, ptx, { arguments: [], blocks: 1 });
  const message = await faultOf(gpu, LAUNCH_FAILED, ptx, { arguments: [], blocks: 2 });
  assert.match(message, /never written/);
});
