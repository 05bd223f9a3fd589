import assert from "node:assert/strict";
import { KernelArguments } from "../../../ffi/cuda/arguments.ts";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { captureGraph } from "../../../ffi/cuda/graph.ts";
import { KernelLaunch } from "../../../ffi/cuda/launch.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { loadModule } from "../../../ffi/cuda/module.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { cudaTest } from "../../fixtures/cuda.ts";
import type { SoftwareGpu } from "../../fixtures/software_gpu.ts";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { CudaGpu } from "../../kernels/cuda_gpu.ts";
import { output, updated } from "../../kernels/gpu.ts";
import {
  elementAddress,
  faultOf,
  ptxKernel,
  type PtxOptions,
  refusalOf,
  run,
} from "./ptx_kernel.ts";

const SEEDS = [0, 1, 2, 3];

/** What each thread leaves in `%r0` at the end of a body, in all modes of the device. */
async function resultsOf(
  gpu: SoftwareGpu,
  threads: number,
  body: string,
  options: PtxOptions = {},
): Promise<number[]> {
  const ptx = ptxKernel(
    1,
    `${body}
  ${elementAddress("%w63", "%a0", 4)}
  st.global.u32 [%w63], %r0;`,
    options,
  );
  let results: number[] | undefined;
  for (const adversarialSeed of SEEDS) {
    gpu.control.configure({ adversarialSeed });
    const y = output(new Uint32Array(threads));
    await run(gpu, ptx, { arguments: [y], threads });
    const again = Array.from(y.data as Uint32Array);
    assert.deepEqual(again, results ?? again, `Seed ${adversarialSeed} gives other results`);
    results = again;
  }
  return results!;
}

const upTo = (threads: number) => Array.from({ length: threads }, (_, thread) => thread);

softwareGpuTest("lanes that part at branches meet behind them", async (gpu) => {
  // After the two sides, a vote among all lanes is only possible if they have met.
  const results = await resultsOf(
    gpu,
    50,
    `
  and.b32 %r1, %t, 3;
  mov.u32 %r0, 0;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra first;
  setp.eq.u32 %p2, %r1, 1;
  @!%p2 bra third;
  mov.u32 %r0, 200;
  bra behind;
first:
  mov.u32 %r0, 100;
  bra behind;
third:
  mov.u32 %r0, 300;
behind:
  activemask.b32 %r2;
  popc.b32 %r2, %r2;
  add.u32 %r0, %r0, %r2;`,
  );
  const side = (thread: number) => [100, 200, 300, 300][thread % 4];
  assert.deepEqual(results, upTo(50).map((thread) => side(thread) + (thread < 32 ? 32 : 18)));
});

softwareGpuTest("loops run as often as each lane wants", async (gpu) => {
  const results = await resultsOf(
    gpu,
    96,
    `
  add.u32 %r1, %t, 1;
  mov.u32 %r0, 0;
next:
  setp.le.u32 %p1, %r1, 1;
  @%p1 bra done;
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p2, %r2, 0;
  @%p2 shr.u32 %r1, %r1, 1;
  @!%p2 mad.lo.u32 %r1, %r1, 3, 1;
  add.u32 %r0, %r0, 1;
  bra next;
done:`,
  );
  const steps = (value: number): number =>
    value === 1 ? 0 : 1 + steps(value % 2 === 0 ? value / 2 : 3 * value + 1);
  assert.deepEqual(results, upTo(96).map((thread) => steps(thread + 1)));
});

softwareGpuTest("brx.idx branches by an index of each lane", async (gpu) => {
  const results = await resultsOf(
    gpu,
    64,
    `
  rem.u32 %r1, %t, 3;
targets: .branchtargets zero, one, two;
  brx.idx %r1, targets;
zero:
  mov.u32 %r0, 7;
  bra done;
one:
  mov.u32 %r0, 8;
  bra done;
two:
  mov.u32 %r0, 9;
done:`,
  );
  assert.deepEqual(results, upTo(64).map((thread) => 7 + thread % 3));
});

const FUNCTIONS = `
.func (.param .b32 result) twice(.param .b32 value)
{
  .reg .b32 %r<2>;
  ld.param.u32 %r0, [value];
  add.u32 %r1, %r0, %r0;
  st.param.b32 [result], %r1;
  ret;
}
.func (.param .b32 result) square(.param .b32 value)
{
  .reg .b32 %r<2>;
  ld.param.u32 %r0, [value];
  mul.lo.u32 %r1, %r0, %r0;
  st.param.b32 [result], %r1;
  ret;
}
.func (.param .b32 result) squareOfTwice(.param .b32 value)
{
  .reg .b32 %r<3>;
  .reg .pred %p;
  ld.param.u32 %r0, [value];
  setp.lt.u32 %p, %r0, 10;
  @%p bra small;
  st.param.b32 [result], %r0;
  ret;
small:
  { .param .b32 a; .param .b32 b;
  st.param.b32 [a], %r0;
  call (b), twice, (a);
  ld.param.b32 %r1, [b]; }
  { .param .b32 a; .param .b32 b;
  st.param.b32 [a], %r1;
  call (b), square, (a);
  ld.param.b32 %r2, [b]; }
  st.param.b32 [result], %r2;
  ret;
}
.func (.param .b32 result) fibonacci(.param .b32 value)
{
  .reg .b32 %r<6>;
  .reg .pred %p;
  ld.param.u32 %r0, [value];
  setp.lt.u32 %p, %r0, 2;
  @%p st.param.b32 [result], %r0;
  @%p ret;
  sub.u32 %r1, %r0, 1;
  sub.u32 %r2, %r0, 2;
  { .param .b32 a; .param .b32 b;
  st.param.b32 [a], %r1;
  call (b), fibonacci, (a);
  ld.param.b32 %r3, [b]; }
  { .param .b32 a; .param .b32 b;
  st.param.b32 [a], %r2;
  call (b), fibonacci, (a);
  ld.param.b32 %r4, [b]; }
  add.u32 %r5, %r3, %r4;
  st.param.b32 [result], %r5;
  ret;
}
.global .u64 table[3] = { twice, square, fibonacci };
`;

function call(name: string): string {
  return `
  { .param .b32 a; .param .b32 b;
  st.param.b32 [a], %r1;
  call (b), ${name}, (a);
  ld.param.b32 %r0, [b]; }`;
}

softwareGpuTest("functions call functions, and some lanes return early", async (gpu) => {
  const results = await resultsOf(gpu, 40, `mov.u32 %r1, %t; ${call("squareOfTwice")}`, {
    declarations: FUNCTIONS,
  });
  assert.deepEqual(results, upTo(40).map((each) => each < 10 ? 4 * each * each : each));
});

softwareGpuTest("a function calls itself as deeply as each lane wants", async (gpu) => {
  const results = await resultsOf(gpu, 32, `rem.u32 %r1, %t, 9; ${call("fibonacci")}`, {
    declarations: FUNCTIONS,
  });
  const fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21];
  assert.deepEqual(results, upTo(32).map((thread) => fibonacci[thread % 9]));
});

const INDIRECT = `
  { .param .b32 a; .param .b32 b;
  st.param.b32 [a], %r1;
  prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
  call (b), %w1, (a), prototype;
  ld.param.b32 %r0, [b]; }`;

softwareGpuTest("lanes call through pointers of their own", async (gpu) => {
  const results = await resultsOf(
    gpu,
    64,
    `
  rem.u32 %r2, %t, 3;
  mov.u64 %w0, table;
  mad.wide.u32 %w0, %r2, 8, %w0;
  ld.global.u64 %w1, [%w0];
  and.b32 %r1, %t, 7;
  ${INDIRECT}`,
    { declarations: FUNCTIONS },
  );
  const fibonacci = [0, 1, 1, 2, 3, 5, 8, 13];
  const functions = [(n: number) => 2 * n, (n: number) => n * n, (n: number) => fibonacci[n]];
  assert.deepEqual(results, upTo(64).map((thread) => functions[thread % 3](thread & 7)));
});

softwareGpuTest(
  "calls of what is no function, and recursion without end, are faults",
  async (gpu) => {
    const nowhere = await faultOf(
      gpu,
      718,
      ptxKernel(0, `mov.u32 %r1, 1; mov.u64 %w1, 4096; ${INDIRECT}`, { declarations: FUNCTIONS }),
      { arguments: [] },
    );
    assert.match(nowhere, /call of something that is no function at 0x1000, in kernel kernel/);
    const endless = `
.func endless()
{
  call endless;
  ret;
}`;
    const deep = await faultOf(gpu, 714, ptxKernel(0, "call endless;", { declarations: endless }), {
      arguments: [],
    });
    assert.match(deep, /stack overflow: a call of endless at depth \d+ needs/);
    const index = await faultOf(
      gpu,
      718,
      ptxKernel(
        0,
        `
targets: .branchtargets done;
  mov.u32 %r0, 3;
  brx.idx %r0, targets;
done:`,
      ),
      { arguments: [] },
    );
    assert.match(index, /branch to target 3 of 1/);
  },
);

softwareGpuTest("bar.sync with counts lets warps hand over work", async (gpu) => {
  // Warps 0 and 1 produce, 2 and 3 consume: those wait, the producers only arrive.
  const results = await resultsOf(
    gpu,
    128,
    `
  .shared .align 4 .b8 memory[256];
  mov.u32 %r0, 0;
  shl.b32 %r1, %t, 2;
  mov.u32 %r2, memory;
  add.u32 %r2, %r2, %r1;
  setp.ge.u32 %p1, %t, 64;
  @%p1 bra consume;
  mul.lo.u32 %r3, %t, %t;
  st.shared.u32 [%r2], %r3;
  bar.arrive 1, 128;
  bra done;
consume:
  bar.sync 1, 128;
  ld.shared.u32 %r0, [%r2+-256];
done:`,
  );
  assert.deepEqual(
    results,
    upTo(128).map((thread) => thread < 64 ? 0 : (thread - 64) ** 2),
  );
});

softwareGpuTest(
  "bar.red reduces over all threads, and lanes that left do not matter",
  async (gpu) => {
    const results = await resultsOf(
      gpu,
      80,
      `
  mov.u32 %r0, 0;
  setp.eq.u32 %p0, %t, 77;
  ${elementAddress("%w63", "%a0", 4)}
  @%p0 st.global.u32 [%w63], 5;
  @%p0 exit;
  rem.u32 %r1, %t, 5;
  setp.eq.u32 %p1, %r1, 0;
  bar.red.popc.u32 %r0, 0, %p1;
  bar.red.and.pred %p2, 2, !%p1;
  bar.red.or.pred %p3, 3, %p1;
  @%p2 add.u32 %r0, %r0, 1000;
  @%p3 add.u32 %r0, %r0, 2000;`,
    );
    assert.deepEqual(results, upTo(80).map((thread) => thread === 77 ? 5 : 2016));
  },
);

softwareGpuTest(
  "a barrier that cannot complete is a fault that tells who waits where",
  async (gpu) => {
    const message = await faultOf(
      gpu,
      719,
      ptxKernel(
        0,
        `
  setp.lt.u32 %p0, %t, 32;
  @%p0 bar.sync 4, 96;
  @!%p0 bar.sync 5;`,
      ),
      { arguments: [], threads: 64 },
    );
    assert.match(message, /^deadlock: lanes 0xffffffff of warp 0 wait in line \d+ at barrier 4/);
    assert.match(
      message,
      /barrier 4, where 32 of 96 threads have arrived; lanes 0xffffffff of warp 1/,
    );
    assert.match(message, /at barrier 5, where 32 of 64 threads have arrived/);
  },
);

softwareGpuTest("barriers that are none, or for no whole warps, are faults", async (gpu) => {
  const faults: Record<string, RegExp> = {
    "mov.u32 %r0, 16; bar.sync %r0;": /there is no barrier 16/,
    "mov.u32 %r0, 40; bar.sync 1, %r0;": /barrier 1 for 40 threads, which is no multiple of 32/,
    "setp.lt.u32 %p0, %t, 32; @%p0 bar.sync 1, 64; @!%p0 bar.sync 1, 96;":
      /barrier 1 for (64|96) threads while others wait at it for (64|96)/,
    "trap;": /the kernel executed a trap/,
  };
  for (const [body, message] of Object.entries(faults)) {
    assert.match(
      await faultOf(gpu, 719, ptxKernel(0, body), { arguments: [], threads: 64 }),
      message,
    );
  }
});

softwareGpuTest("bar.warp.sync waits for its members, wherever they are", async (gpu) => {
  const results = await resultsOf(
    gpu,
    32,
    `
  .shared .align 4 .b8 memory[4];
  and.b32 %r1, %t, 1;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra even;
  bar.warp.sync -1;
  ld.shared.u32 %r0, [memory];
  bra done;
even:
  st.shared.u32 [memory], 11;
  bar.warp.sync -1;
  mov.u32 %r0, 0;
done:`,
  );
  assert.deepEqual(results, upTo(32).map((thread) => thread % 2 === 0 ? 0 : 11));
});

softwareGpuTest("a loop without end uses up the budget of its launch", async (gpu) => {
  gpu.control.configure({ instructionBudget: 10_000 });
  const message = await faultOf(gpu, 702, ptxKernel(0, "again: bra again;"), { arguments: [] });
  assert.match(message, /^the launch has run its budget of 10000 instructions, in kernel kernel/);
  assert.match(message, /PTX line \d+$/);
});

softwareGpuTest("a warp that spins does not keep others from what it waits for", async (gpu) => {
  gpu.control.configure({ instructionBudget: 10_000_000 });
  const results = await resultsOf(
    gpu,
    64,
    `
  .shared .align 4 .b8 flag[4];
  setp.eq.u32 %p0, %t, 0;
  @%p0 st.shared.u32 [flag], 0;
  bar.sync 0;
  setp.ge.u32 %p1, %t, 32;
  @%p1 bra set;
spin:
  ld.volatile.shared.u32 %r0, [flag];
  setp.eq.u32 %p2, %r0, 0;
  @%p2 bra spin;
  bra done;
set:
  mov.u32 %r0, 1;
  setp.eq.u32 %p3, %t, 40;
  @%p3 st.volatile.shared.u32 [flag], 9;
done:`,
  );
  assert.deepEqual(results, upTo(64).map((thread) => thread < 32 ? 9 : 1));
});

softwareGpuTest("lanes of one warp take a lock in turns", async (gpu) => {
  gpu.control.configure({ instructionBudget: 10_000_000 });
  const counter = updated(new Uint32Array(2));
  await run(
    gpu,
    ptxKernel(
      1,
      `
take:
  atom.global.cas.b32 %r0, [%a0], 0, 1;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra take;
  ld.volatile.global.u32 %r1, [%a0+4];
  add.u32 %r1, %r1, 1;
  st.volatile.global.u32 [%a0+4], %r1;
  st.volatile.global.u32 [%a0], 0;`,
    ),
    { arguments: [counter], threads: 64, blocks: 2 },
  );
  assert.deepEqual(Array.from(counter.data as Uint32Array), [0, 128]);
});

softwareGpuTest("a lane waits in turn for another of its warp", async (gpu) => {
  // The loop stands below what ends it: without turns the lowest path would spin for ever.
  gpu.control.configure({ instructionBudget: 10_000_000 });
  const results = await resultsOf(
    gpu,
    32,
    `
  .shared .align 4 .b8 flag[4];
  setp.eq.u32 %p0, %t, 5;
  @%p0 st.shared.u32 [flag], 0;
  bar.warp.sync -1;
  @%p0 bra set;
spin:
  ld.volatile.shared.u32 %r0, [flag];
  setp.eq.u32 %p2, %r0, 0;
  @%p2 bra spin;
  bra done;
set:
  mov.u32 %r0, 3;
  st.volatile.shared.u32 [flag], 3;
done:`,
  );
  assert.deepEqual(results, upTo(32).map(() => 3));
});

softwareGpuTest("blocks of a cooperative launch wait for each other", async (gpu) => {
  const blocks = 6, threads = 64;
  const ptx = ptxKernel(
    2,
    `
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %nctaid.x;
  mad.wide.u32 %w0, %r1, 4, %a0;
  setp.eq.u32 %p0, %t, 0;
  @!%p0 bra behind;
  mul.lo.u32 %r3, %r1, %r1;
  st.global.u32 [%w0], %r3;
  fence.acq_rel.gpu;
  atom.global.add.u32 %r4, [%a1], 1;
wait:
  ld.acquire.gpu.global.u32 %r4, [%a1];
  setp.lt.u32 %p1, %r4, %r2;
  @%p1 bra wait;
behind:
  bar.sync 0;
  add.u32 %r5, %r1, 1;
  rem.u32 %r5, %r5, %r2;
  mad.wide.u32 %w1, %r5, 4, %a0;
  ld.volatile.global.u32 %r6, [%w1];
  @%p0 st.global.u32 [%w0+${4 * blocks}], %r6;`,
  );
  for (const adversarialSeed of SEEDS) {
    gpu.control.configure({ adversarialSeed, instructionBudget: 10_000_000 });
    const squares = updated(new Uint32Array(2 * blocks)), arrived = updated(new Uint32Array(1));
    using driver = openDriver(gpu.path);
    using context = new Context(new CudaDevice(driver, 0));
    await new CudaGpu(context).run(ptx, [{
      kernel: "kernel",
      grid: [blocks],
      block: [threads],
      cooperative: true,
      arguments: [squares, arrived],
    }]);
    const next = upTo(blocks).map((block) => ((block + 1) % blocks) ** 2);
    assert.deepEqual(Array.from(squares.data as Uint32Array).slice(blocks), next);
  }
});

softwareGpuTest("special registers tell threads, blocks and lanes where they are", async (gpu) => {
  const names = ["%tid.x", "%ntid.x", "%ctaid.x", "%nctaid.x", "%laneid", "%warpid", "%nwarpid"]
    .concat(["%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge"])
    .concat(["%tid.z", "%ctaid.y", "%cluster_nctaid.x", "%cluster_ctarank", "%nclusterid.x"]);
  const threads = 70, blocks = 2;
  const y = output(new Uint32Array(threads * blocks * names.length));
  await run(
    gpu,
    ptxKernel(
      1,
      `
  mov.u32 %r1, %ctaid.x;
  mad.lo.u32 %r1, %r1, ${threads}, %t;
  mul.lo.u32 %r1, %r1, ${names.length};
  mad.wide.u32 %w0, %r1, 4, %a0;
  ${
        names.map((name, at) => `mov.u32 %r0, ${name}; st.global.u32 [%w0+${4 * at}], %r0;`).join(
          "\n",
        )
      }`,
    ),
    { arguments: [y], threads, blocks },
  );
  const expected = upTo(threads * blocks).flatMap((index) => {
    const thread = index % threads, lane = thread % 32;
    const below = 2 ** lane - 1, self = 2 ** lane;
    return [thread, threads, Math.floor(index / threads), blocks, lane, Math.floor(thread / 32), 3]
      .concat([self, below, below + self, 2 ** 32 - 1 - below - self, 2 ** 32 - 1 - below])
      .concat([0, 0, 1, 0, blocks]);
  });
  assert.deepEqual(Array.from(y.data as Uint32Array), expected);
});

softwareGpuTest("clocks go on while a kernel runs", async (gpu) => {
  const results = await resultsOf(
    gpu,
    32,
    `
  mov.u64 %w0, %clock64;
  mov.u32 %r1, %clock;
  mov.u64 %w2, %globaltimer;
wait:
  mov.u64 %w1, %clock64;
  sub.u64 %w1, %w1, %w0;
  setp.lt.u64 %p0, %w1, 100;
  @%p0 bra wait;
  mov.u32 %r2, %clock;
  mov.u64 %w3, %globaltimer;
  setp.gt.u32 %p1, %r2, %r1;
  setp.ge.and.u64 %p1, %w3, %w2, %p1;
  selp.u32 %r0, 1, 0, %p1;`,
  );
  assert.deepEqual(results, upTo(32).map(() => 1));
});

softwareGpuTest("adversarial mode poisons registers and shared memory", async (gpu) => {
  const ptx = ptxKernel(
    1,
    `
  .shared .align 4 .b8 memory[128];
  shl.b32 %r1, %t, 2;
  mov.u32 %r2, memory;
  add.u32 %r2, %r2, %r1;
  ld.shared.u32 %r0, [%r2];
  or.b32 %r0, %r0, %r99;
  ${elementAddress("%w0", "%a0", 4)}
  st.global.u32 [%w0], %r0;`,
  );
  const y = output(new Uint32Array(32));
  await run(gpu, ptx, { arguments: [y] });
  assert.deepEqual(Array.from(y.data as Uint32Array), upTo(32).map(() => 0));
  gpu.control.configure({ adversarialSeed: 5 });
  await run(gpu, ptx, { arguments: [y] });
  assert.deepEqual(Array.from(y.data as Uint32Array), upTo(32).map(() => 0xffffffff));
});

/** Writes in which order warps were run: 32 numbers, by a ticket that has to be zero before. */
const ORDER = ptxKernel(
  2,
  `
  mov.u32 %r5, %laneid;
  setp.ne.u32 %p0, %r5, 0;
  @%p0 exit;
  atom.global.add.u32 %r0, [%a1], 1;
  mov.u32 %r1, %ctaid.x;
  mad.lo.u32 %r1, %r1, 128, %t;
  mad.wide.u32 %w0, %r0, 4, %a0;
  st.global.u32 [%w0], %r1;`,
);

softwareGpuTest("adversarial mode takes warps and blocks in an order of its seed", async (gpu) => {
  const orders = new Set<string>();
  for (const adversarialSeed of [0, 0, 1, 1, 2, 2]) {
    gpu.control.configure({ adversarialSeed });
    const y = output(new Uint32Array(32)), ticket = updated(new Uint32Array(1));
    await run(gpu, ORDER, { arguments: [y, ticket], threads: 128, blocks: 8 });
    orders.add(Array.from(y.data as Uint32Array).join());
  }
  assert.equal(orders.size, 3, "Each seed has one order of its own");
});

cudaTest("adversarial mode takes another order in each run, the same ones anew", (context) => {
  using module = loadModule(context, ORDER, "order");
  using order = new DeviceMemory(context, 128);
  using ticket = new DeviceMemory(context, 4);
  const launch = new KernelLaunch(
    module.function("kernel"),
    { grid: [8], block: [128] },
    new KernelArguments("pp").setAll(order.address, ticket.address),
  );
  const ordersOf = (replayed: boolean) => {
    using stream = new Stream(context);
    const iteration = () => {
      ticket.fill({ bits: 32, value: 0 }, 0, 1, stream);
      launch.enqueue(stream);
    };
    using graph = captureGraph(stream, iteration);
    using exec = graph.instantiate();
    return upTo(4).map(() => {
      if (replayed) exec.launch(stream);
      else iteration();
      stream.synchronize();
      const numbers = new Uint32Array(32);
      order.read(numbers);
      return numbers.join();
    });
  };
  const enqueued = ordersOf(false);
  assert.equal(new Set(enqueued).size, 4);
  assert.deepEqual(ordersOf(false), enqueued);
  assert.deepEqual(ordersOf(true), enqueued, "a graph's node has no order of its own");
}, { adversarialSeed: 1 });

softwareGpuTest(
  "what an instruction does not have is refused when the module is loaded",
  async (gpu) => {
    const refused: Record<string, RegExp> = {
      "add.rn.s32 %r0, %r1, %r2;": /add\.rn\.s32/,
      "add.sat.u32 %r0, %r1, %r2;": /does not exist for this type/,
      "mul.s32 %r0, %r1, %r2;": /\.lo, \.hi or \.wide/,
      "div.f32 %f0, %f1, %f2;": /needs \.approx or a rounding/,
      "cvt.f32.s32 %f0, %r1;": /needs \.rn, \.rz, \.rm or \.rp/,
      "cvt.s32.f32 %r0, %f1;": /needs \.rni, \.rzi, \.rmi or \.rpi/,
      "ex2.f32 %f0, %f1;": /exists only as \.approx/,
      "setp.ltu.s32 %p0, %r1, %r2;": /names no comparison of this type/,
      "lop3.b32 %r0, %r1, %r2, %r3, %r4;": /the table is an immediate/,
      "bar.wait 0;": /a barrier is \.sync, \.arrive or \.red/,
      "add.u32 %r0, %r1;": /has 2 operands where 3 are expected/,
      "mov.u32 %r0, %nothing;": /%nothing/,
      "frobnicate.u32 %r0, %r1;": /frobnicate/,
    };
    for (const [instruction, message] of Object.entries(refused)) {
      assert.match(await refusalOf(gpu, ptxKernel(0, instruction)), message, instruction);
    }
  },
);
