import assert from "node:assert/strict";
import { type SoftwareGpu, softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { input, output } from "../../kernels/gpu.ts";
import { faultOf, ptxKernel, refusalOf, run } from "./ptx_kernel.ts";

/** Addresses of each thread: `%w0` its source, `%r1` its place in shared memory, `%w2` its result. */
function addresses(bytes: number): string {
  return `
  .shared .align 16 .b8 shared[4096];
  mad.lo.u64 %w0, %tw, ${bytes}, %a0;
  mov.u32 %r0, shared;
  mad.lo.u32 %r1, %t, ${bytes}, %r0;
  mad.lo.u64 %w2, %tw, ${bytes}, %a1;`;
}

/** Writes a thread's bytes of shared memory to its result. */
function writeBack(bytes: number): string {
  return Array.from({ length: bytes / 4 }, (_, word) => `
  ld.shared.u32 %r9, [%r1+${4 * word}];
  st.global.u32 [%w2+${4 * word}], %r9;`).join("");
}

const pattern = (count: number) => Uint8Array.from({ length: count }, (_, index) => index * 7 + 3);

/** Runs `copy` on one warp and returns what then is in shared memory. */
async function copied(
  gpu: SoftwareGpu,
  bytes: number,
  copy: string,
  x = pattern(32 * bytes),
): Promise<Uint8Array> {
  const y = output(new Uint8Array(32 * bytes));
  const ptx = ptxKernel(2, addresses(bytes) + copy + writeBack(bytes));
  await run(gpu, ptx, { arguments: [input(x), y] });
  return y.data as Uint8Array;
}

const WAITS = ["cp.async.commit_group; cp.async.wait_group 0;", "cp.async.wait_all;"];

softwareGpuTest("cp.async copies 4, 8 and 16 bytes in every mode", async (gpu) => {
  for (const seed of [0, 1, 2, 3]) {
    for (const bytes of [4, 8, 16]) {
      for (const wait of WAITS) {
        gpu.control.configure({ adversarialSeed: seed });
        const cache = bytes === 16 ? "cg" : "ca";
        const copy = `cp.async.${cache}.shared.global.L2::128B [%r1], [%w0], ${bytes};\n${wait}`;
        assert.deepEqual(await copied(gpu, bytes, copy), pattern(32 * bytes), `${seed} ${copy}`);
      }
    }
  }
});

softwareGpuTest("cp.async fills what its source lacks with zeros", async (gpu) => {
  // Lane i has i % 17 bytes; whoever has none has no address either.
  const copy = `
  rem.u32 %r2, %t, 17;
  setp.eq.u32 %p0, %r2, 0;
  selp.b64 %w0, 0, %w0, %p0;
  cp.async.cg.shared.global [%r1], [%w0], 16, %r2;
  cp.async.wait_all;`;
  const x = pattern(32 * 16);
  const expected = x.map((value, index) => index % 16 < (index >> 4) % 17 ? value : 0);
  for (const seed of [0, 5]) {
    gpu.control.configure({ adversarialSeed: seed });
    assert.deepEqual(await copied(gpu, 16, copy, x), expected);
  }
});

softwareGpuTest("cp.async reads nothing where it is told to ignore its source", async (gpu) => {
  const copy = `
  setp.ge.u32 %p0, %t, 20;
  @%p0 mov.u64 %w0, 0;
  cp.async.ca.shared.global [%r1], [%w0], 8, %p0;
  cp.async.wait_all;`;
  const x = pattern(32 * 8);
  assert.deepEqual(
    await copied(gpu, 8, copy, x),
    x.map((value, index) => index < 160 ? value : 0),
  );
});

softwareGpuTest("cp.async takes the address of a variable", async (gpu) => {
  for (const size of ["", ", 4", ", %r5"]) {
    const y = output(new Uint8Array(128));
    const ptx = ptxKernel(
      2,
      `${addresses(4)}
  mov.u32 %r5, 3;
  cp.async.ca.shared.global [%r1], [table+4], 4${size};
  cp.async.wait_all;${writeBack(4)}`,
      { declarations: ".global .align 4 .u32 table[2] = {7, 0x01020304};" },
    );
    await run(gpu, ptx, { arguments: [y, y] });
    const word = [4, 3, 2, size === ", %r5" ? 0 : 1];
    assert.deepEqual(Array.from(y.data), Array(32).fill(word).flat(), size);
  }
});

/** Two groups into two halves; the first is waited for with `keep` groups left, then read. */
function pipelined(keep: number): string {
  return ptxKernel(
    2,
    `${addresses(4)}
  cp.async.ca.shared.global [%r1], [%w0], 4;
  cp.async.commit_group;
  cp.async.ca.shared.global [%r1+128], [%w0+128], 4;
  cp.async.commit_group;
  cp.async.wait_group ${keep};
  ld.shared.u32 %r2, [%r1];
  cp.async.wait_group 0;
  ld.shared.u32 %r3, [%r1+128];
  st.global.u32 [%w2], %r2;
  st.global.u32 [%w2+128], %r3;`,
  );
}

async function runPipelined(gpu: SoftwareGpu, keep: number, seed: number): Promise<Uint8Array> {
  gpu.control.configure({ adversarialSeed: seed });
  const y = output(new Uint8Array(256));
  await run(gpu, pipelined(keep), { arguments: [input(pattern(256)), y] });
  return y.data as Uint8Array;
}

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

softwareGpuTest("cp.async.wait_group waits for all groups but the newest N", async (gpu) => {
  for (const seed of [0, ...SEEDS]) {
    assert.deepEqual(await runPipelined(gpu, 1, seed), pattern(256), `seed ${seed}`);
  }
});

softwareGpuTest("adversarial mode shows a wait_group that waits for too little", async (gpu) => {
  assert.deepEqual(await runPipelined(gpu, 2, 0), pattern(256), "it is invisible otherwise");
  const results = [];
  for (const seed of SEEDS) results.push(await runPipelined(gpu, 2, seed));
  const poisoned = results.filter((bytes) => bytes.subarray(0, 128).every((byte) => byte === 255));
  assert.ok(poisoned.length >= SEEDS.length / 2, `${poisoned.length} of ${SEEDS.length}`);
});

softwareGpuTest("adversarial mode shows a missing barrier", async (gpu) => {
  // Warps hand their values on to their neighbours.
  const ptx = (barrier: string) =>
    ptxKernel(
      1,
      `
  .shared .align 4 .b8 shared[1024];
  mov.u32 %r0, shared;
  mad.lo.u32 %r1, %t, 4, %r0;
  st.shared.u32 [%r1], %t;
  ${barrier}
  add.u32 %r2, %t, 32; and.b32 %r2, %r2, 255;
  mad.lo.u32 %r2, %r2, 4, %r0;
  ld.shared.u32 %r3, [%r2];
  mad.lo.u64 %w0, %tw, 4, %a0;
  st.global.u32 [%w0], %r3;`,
    );
  const expected = Array.from({ length: 256 }, (_, thread) => (thread + 32) % 256);
  let wrong = 0;
  for (const seed of SEEDS) {
    for (const barrier of ["", "bar.sync 0;"]) {
      gpu.control.configure({ adversarialSeed: seed });
      const y = output(new Uint32Array(256));
      await run(gpu, ptx(barrier), { arguments: [y], threads: 256 });
      const same = Array.from(y.data).every((value, thread) => value === expected[thread]);
      if (barrier !== "") assert.ok(same, `seed ${seed}`);
      else if (!same) wrong++;
    }
  }
  assert.equal(wrong, SEEDS.length);
});

softwareGpuTest("checkUninitialised shows a missing wait without adversarial mode", async (gpu) => {
  gpu.control.configure({ checkUninitialised: true });
  const body = (wait: string) =>
    ptxKernel(
      2,
      `${addresses(4)}
  cp.async.ca.shared.global [%r1], [%w0], 4;
  cp.async.commit_group;
  ${wait}
  ld.shared.u32 %r2, [%r1];
  st.global.u32 [%w2], %r2;`,
    );
  const launch = () => ({ arguments: [input(pattern(128)), output(new Uint8Array(128))] });
  await run(gpu, body("cp.async.wait_group 0;"), launch());
  assert.match(await faultOf(gpu, 719, body(""), launch()), /shared memory .* never written/);
});

softwareGpuTest("checkRaces counts a copy where it begins and where it arrives", async (gpu) => {
  // The other warp reads before the barrier behind the wait.
  const body = (first: string, second: string) =>
    ptxKernel(
      2,
      `${addresses(4)}
  cp.async.ca.shared.global [%r1], [%w0], 4;
  ${first}
  cp.async.wait_all;
  ${second}
  xor.b32 %r2, %t, 32;
  mad.lo.u32 %r2, %r2, 4, %r0;
  ld.shared.u32 %r3, [%r2];
  st.global.u32 [%w2], %r3;`,
    );
  const launch = () => ({
    arguments: [input(pattern(256)), output(new Uint8Array(256))],
    threads: 64,
  });
  gpu.control.configure({ checkRaces: true });
  await run(gpu, body("", "bar.sync 0;"), launch());
  const ptx = body("bar.sync 0;", "");
  const line = ptx.split("\n").findIndex((text) => text.includes("cp.async.ca")) + 1;
  const message = await faultOf(gpu, 719, ptx, launch());
  assert.match(message, new RegExp(`race in shared memory .* at line ${line}\\b`));
});

softwareGpuTest("cp.async checks both its addresses", async (gpu) => {
  const launch = () => ({ arguments: [input(pattern(256)), output(new Uint8Array(256))] });
  const forms: readonly [code: number, copy: string, reason: RegExp][] = [
    [700, "cp.async.ca.shared.global [%r1+4096], [%w0], 4;", /write of 4 bytes of shared memory/],
    [700, "cp.async.ca.shared.global [%r1], [%w0+256], 4;", /read of 4 bytes of global memory/],
    [716, "cp.async.ca.shared.global [%r0], [%w0+4], 8;", /not a multiple of 8/],
    [716, "cp.async.cg.shared.global [%r0+4], [%a0], 16;", /not a multiple of 16/],
    [715, "mov.u32 %r5, 5; cp.async.ca.shared.global [%r1], [%w0], 4, %r5;", /a source of 5/],
  ];
  for (const [code, copy, reason] of forms) {
    const ptx = ptxKernel(2, `${addresses(4)}\n  ${copy}`);
    assert.match(await faultOf(gpu, code, ptx, launch()), reason, copy);
  }
});

softwareGpuTest("copies that this device does not have are refused", async (gpu) => {
  const forms: readonly [copy: string, reason: RegExp][] = [
    ["cp.async.bulk.commit_group;", /bulk copies/],
    ["cp.async.cg.shared.global [%r1], [%a0], 8;", /copies of 16 bytes/],
    ["cp.async.ca.shared.global [%r1], [%a0], 2;", /copies of 16 bytes/],
    ["cp.async.ca.shared.global [%r1], [%r2], 4;", /64 bits/],
  ];
  for (const [copy, reason] of forms) {
    assert.match(await refusalOf(gpu, ptxKernel(1, `  ${copy}`)), reason, copy);
  }
});

/** Two warps hand a value over by an mbarrier: the first produces, the second polls. */
const HAND_OVER = ptxKernel(
  1,
  `
  .shared .align 8 .b64 barrier;
  .shared .align 4 .b8 shared[128];
  mov.u32 %r0, shared;
  and.b32 %r1, %t, 31; mad.lo.u32 %r1, %r1, 4, %r0;
  setp.eq.u32 %p0, %t, 0;
  @%p0 mbarrier.init.shared.b64 [barrier], 32;
  bar.sync 0;
  setp.ge.u32 %p1, %t, 32;
  @%p1 bra CONSUMER;
  add.u32 %r2, %t, 500;
  st.shared.u32 [%r1], %r2;
  mbarrier.arrive.release.cta.shared::cta.b64 %w1, [barrier];
  bra DONE;
CONSUMER:
  mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [barrier], 0, 1000;
  @!%p2 bra CONSUMER;
  ld.shared.u32 %r3, [%r1];
  mad.lo.u64 %w2, %tw, 4, %a0;
  st.global.u32 [%w2+-128], %r3;
DONE:`,
);

softwareGpuTest("mbarrier hands values from one warp to another", async (gpu) => {
  for (const seed of [0, ...SEEDS]) {
    gpu.control.configure({ adversarialSeed: seed, checkRaces: true });
    const y = output(new Uint32Array(32));
    await run(gpu, HAND_OVER, { arguments: [y], threads: 64 });
    assert.deepEqual(Array.from(y.data), Array.from({ length: 32 }, (_, lane) => 500 + lane));
  }
});

softwareGpuTest("mbarrier counts phases, arrivals and bytes", async (gpu) => {
  const y = output(new Uint32Array(8));
  const test = (at: number, wait: string) =>
    `mbarrier.${wait}; selp.u32 %r1, 1, 0, %p0; st.global.u32 [%a0+${4 * at}], %r1;`;
  await run(
    gpu,
    ptxKernel(
      1,
      `
  .shared .align 8 .b64 barrier;
  mbarrier.init.shared.b64 [barrier], 2;
  mbarrier.arrive.shared.b64 %w1, [barrier];
  ${test(0, "test_wait.shared.b64 %p0, [barrier], %w1")}
  mbarrier.arrive.shared.b64 %w2, [barrier];
  ${test(1, "test_wait.shared.b64 %p0, [barrier], %w1")}
  ${test(2, "test_wait.parity.shared.b64 %p0, [barrier], 0")}
  ${test(3, "test_wait.parity.shared.b64 %p0, [barrier], 1")}
  mbarrier.arrive.expect_tx.shared.b64 %w3, [barrier], 64;
  mbarrier.arrive.shared.b64 %w4, [barrier], 1;
  ${test(4, "test_wait.shared.b64 %p0, [barrier], %w3")}
  mbarrier.complete_tx.relaxed.cta.shared.b64 [barrier], 64;
  ${test(5, "try_wait.shared.b64 %p0, [barrier], %w3")}
  mbarrier.arrive_drop.shared.b64 %w5, [barrier];
  mbarrier.pending_count.b64 %r2, %w5; st.global.u32 [%a0+24], %r2;
  mbarrier.arrive.shared.b64 %w5, [barrier];
  mbarrier.arrive.shared.b64 %w5, [barrier];
  mbarrier.pending_count.b64 %r2, %w5; st.global.u32 [%a0+28], %r2;
  mbarrier.inval.shared.b64 [barrier];`,
    ),
    { arguments: [y], threads: 1 },
  );
  assert.deepEqual(Array.from(y.data), [0, 1, 1, 0, 0, 1, 2, 1]);
});

softwareGpuTest("cp.async.mbarrier.arrive arrives with the copies before it", async (gpu) => {
  const copy = `
  .shared .align 8 .b64 barrier;
  setp.eq.u32 %p0, %t, 0;
  @%p0 mbarrier.init.shared.b64 [barrier], 32;
  bar.sync 0;
  cp.async.ca.shared.global [%r1], [%w0], 4;
  cp.async.mbarrier.arrive.noinc.shared.b64 [barrier];
WAIT:
  mbarrier.test_wait.parity.shared.b64 %p1, [barrier], 0;
  @!%p1 bra WAIT;`;
  for (const seed of [0, 1]) {
    gpu.control.configure({ adversarialSeed: seed });
    assert.deepEqual(await copied(gpu, 4, copy), pattern(128));
  }
});

softwareGpuTest(
  "an mbarrier that was not initialised, or has too many arrivals, faults",
  async (gpu) => {
    const body = (text: string) => ptxKernel(0, `  .shared .align 8 .b64 barrier;\n  ${text}`);
    const arrive = "mbarrier.arrive.shared.b64 %w1, [barrier];";
    const forms: readonly [body: string, reason: RegExp][] = [
      [arrive, /no mbarrier at this address/],
      [
        `mbarrier.init.shared.b64 [barrier], 1;
  mbarrier.arrive.shared.b64 %w1, [barrier], 2;`,
        /2 arrivals at an mbarrier that waits for 1/,
      ],
      [`mbarrier.init.shared.b64 [barrier], 0;`, /an mbarrier for 0 arrivals/],
    ];
    for (const seed of [0, 1]) {
      for (const [text, reason] of forms) {
        gpu.control.configure({ adversarialSeed: seed });
        assert.match(
          await faultOf(gpu, 715, body(text), { arguments: [], threads: 1 }),
          reason,
          text,
        );
      }
    }
  },
);
