import assert from "node:assert/strict";
import { type SoftwareGpu, softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { input, output } from "../../kernels/gpu.ts";
import { elementAddress, faultOf, ptxKernel, run } from "./ptx_kernel.ts";

const LANES = Array.from({ length: 32 }, (_, lane) => lane);

/** Runs `body`, which leaves its result in `%r0`, on one warp; `%r1` holds the lane's input. */
async function lanesOf(
  gpu: SoftwareGpu,
  body: string,
  values: readonly number[] = LANES,
  threads = 32,
): Promise<number[]> {
  const y = output(new Uint32Array(threads));
  const ptx = ptxKernel(
    2,
    `
  ${elementAddress("%w0", "%a0", 4)}
  ${elementAddress("%w1", "%a1", 4)}
  ld.global.u32 %r1, [%w0];
  ${body}
  st.global.u32 [%w1], %r0;`,
  );
  const x = input(Uint32Array.from(values));
  await run(gpu, ptx, { arguments: [x, y], threads });
  return Array.from(y.data);
}

type ShuffleMode = "up" | "down" | "bfly" | "idx";

/** `shfl` as the ISA's pseudocode says: the lane that is read, and whether it is in range. */
function shuffled(mode: ShuffleMode, lane: number, b: number, c: number): [number, boolean] {
  const clamp = c & 31, segment = c >> 8 & 31;
  const last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  const from = {
    up: lane - b,
    down: lane + b,
    bfly: lane ^ b,
    idx: first | (b & ~segment),
  }[mode];
  const inRange = mode === "up" ? from >= last : from <= last;
  return [inRange ? from : lane, inRange];
}

softwareGpuTest("shfl moves values and tells whether their lane is in range", async (gpu) => {
  const values = LANES.map((lane) => 1000 + lane * 7);
  for (const mode of ["up", "down", "bfly", "idx"] as const) {
    for (const width of [32, 16, 8, 4]) {
      for (const b of [0, 1, 3, 7, 16, 31]) {
        const c = (32 - width) << 8 | (mode === "up" ? 0 : 31);
        const result = await lanesOf(
          gpu,
          `shfl.sync.${mode}.b32 %r2|%p0, %r1, ${b}, ${c}, -1;
  selp.u32 %r3, 1, 0, %p0;
  mad.lo.u32 %r0, %r2, 2, %r3;`,
          values,
        );
        const expected = LANES.map((lane) => {
          const [from, inRange] = shuffled(mode, lane, b, c);
          return values[from] * 2 + Number(inRange);
        });
        assert.deepEqual(result, expected, `${mode}, width ${width}, ${b}`);
      }
    }
  }
});

softwareGpuTest("shfl takes another source for each lane", async (gpu) => {
  const result = await lanesOf(
    gpu,
    `xor.b32 %r2, %t, 21; mov.u32 %r4, 31; mov.u32 %r5, 0xffffffff;
  shfl.sync.idx.b32 %r0, %r1, %r2, %r4, %r5;`,
    LANES.map((lane) => lane * lane),
  );
  assert.deepEqual(result, LANES.map((lane) => (lane ^ 21) ** 2));
});

softwareGpuTest(
  "shfl from lanes that take no part gives poison in adversarial mode",
  async (gpu) => {
    gpu.control.configure({ adversarialSeed: 3 });
    const result = await lanesOf(
      gpu,
      `mov.u32 %r0, 5; setp.lt.u32 %p0, %t, 16;
  @%p0 shfl.sync.down.b32 %r0, %r1, 1, 31, 0xffff;`,
    );
    assert.deepEqual(
      result,
      LANES.map((lane) => lane < 15 ? lane + 1 : lane === 15 ? 0xffffffff : 5),
    );
  },
);

softwareGpuTest("vote counts the lanes that take part", async (gpu) => {
  const three = [2, 9, 30];
  const ballot = three.reduce((mask, lane) => mask | 1 << lane, 0) >>> 0;
  const set = `setp.eq.u32 %p0, %r1, 1;`;
  const values = LANES.map((lane) => three.includes(lane) ? 1 : 0);
  const one = (vote: string) => `${set} ${vote} selp.u32 %r0, 1, 0, %p1;`;
  const cases: readonly [body: string, expected: number][] = [
    [`${set} vote.sync.ballot.b32 %r0, %p0, -1;`, ballot],
    [`${set} vote.sync.ballot.b32 %r0, !%p0, -1;`, ~ballot >>> 0],
    [one("vote.sync.any.pred %p1, %p0, -1;"), 1],
    [one("vote.sync.all.pred %p1, %p0, -1;"), 0],
    [one("vote.sync.all.pred %p1, !%p0, -1;"), 0],
    [one("vote.sync.uni.pred %p1, %p0, -1;"), 0],
    [one("setp.ge.u32 %p0, %t, 0; vote.sync.uni.pred %p1, !%p0, -1;"), 1],
  ];
  for (const [body, expected] of cases) {
    assert.deepEqual(await lanesOf(gpu, body, values), LANES.map(() => expected), body);
  }
});

softwareGpuTest(
  "vote of a block's last warp knows only the threads that there are",
  async (gpu) => {
    const result = await lanesOf(
      gpu,
      "setp.ge.u32 %p0, %t, 0; vote.sync.ballot.b32 %r0, %p0, 0x1fffff;",
      LANES.slice(0, 21),
      21,
    );
    assert.deepEqual(result, Array(21).fill(0x1fffff));
  },
);

softwareGpuTest("match finds lanes with the same value", async (gpu) => {
  const values = LANES.map((lane) => lane % 5);
  const same = LANES.map((lane) =>
    LANES.reduce((mask, other) => mask | Number(other % 5 === lane % 5) << other, 0) >>> 0
  );
  assert.deepEqual(await lanesOf(gpu, "match.any.sync.b32 %r0, %r1, -1;", values), same);
  const wide = "cvt.u64.u32 %w2, %r1; shl.b64 %w2, %w2, 33; match.any.sync.b64 %r0, %w2, -1;";
  assert.deepEqual(await lanesOf(gpu, wide, values), same);
  const all = `match.all.sync.b32 %r2|%p0, %r1, -1; selp.u32 %r3, 7, 3, %p0;
  xor.b32 %r0, %r2, %r3;`;
  assert.deepEqual(await lanesOf(gpu, all, values), LANES.map(() => 3));
  assert.deepEqual(await lanesOf(gpu, all, LANES.map(() => 4)), LANES.map(() => ~7 >>> 0));
});

softwareGpuTest("redux reduces over the lanes of the mask", async (gpu) => {
  const values = LANES.map((lane) => Math.imul(lane + 1, 0x9E3779B1) >>> 0);
  const signed = values.map((value) => value | 0);
  const cases: Readonly<Record<string, number>> = {
    "add.u32": values.reduce((sum, value) => (sum + value) >>> 0, 0),
    "add.s32": values.reduce((sum, value) => (sum + value) >>> 0, 0),
    "min.u32": Math.min(...values),
    "max.u32": Math.max(...values),
    "min.s32": Math.min(...signed) >>> 0,
    "max.s32": Math.max(...signed) >>> 0,
    "and.b32": values.reduce((mask, value) => mask & value, -1) >>> 0,
    "or.b32": values.reduce((mask, value) => mask | value, 0) >>> 0,
    "xor.b32": values.reduce((mask, value) => mask ^ value, 0) >>> 0,
  };
  for (const [operation, expected] of Object.entries(cases)) {
    const result = await lanesOf(gpu, `redux.sync.${operation} %r0, %r1, -1;`, values);
    assert.deepEqual(result, LANES.map(() => expected), operation);
  }
});

softwareGpuTest("redux of floats knows absolute values and NaN", async (gpu) => {
  const floats = Float32Array.from(LANES, (lane) => lane === 4 ? NaN : (lane - 20) * 1.5);
  const values = Array.from(new Uint32Array(floats.buffer));
  const cases: Readonly<Record<string, number>> = {
    "min.f32": -30,
    "max.f32": 16.5,
    "min.abs.f32": 0,
    "max.abs.f32": 30,
    "max.NaN.f32": NaN,
    "min.abs.NaN.f32": NaN,
  };
  for (const [operation, expected] of Object.entries(cases)) {
    const result = await lanesOf(
      gpu,
      `mov.b32 %f1, %r1; redux.sync.${operation} %f0, %f1, -1; mov.b32 %r0, %f0;`,
      values,
    );
    const found = new Float32Array(Uint32Array.from(result).buffer);
    assert.deepEqual(Array.from(found), LANES.map(() => expected), operation);
  }
});

softwareGpuTest(
  "halves of a warp that name their own masks have results of their own",
  async (gpu) => {
    const masks = `setp.lt.u32 %p0, %t, 16; selp.b32 %r5, 0xffff, 0xffff0000, %p0;`;
    const sums = await lanesOf(gpu, `${masks} redux.sync.add.u32 %r0, %r1, %r5;`);
    assert.deepEqual(sums, LANES.map((lane) => lane < 16 ? 120 : 376));
    const ballots = await lanesOf(
      gpu,
      `${masks} setp.ge.u32 %p1, %t, 0; vote.sync.ballot.b32 %r0, %p1, %r5;`,
    );
    assert.deepEqual(ballots, LANES.map((lane) => lane < 16 ? 0xffff : 0xffff0000));
  },
);

softwareGpuTest("activemask and elect see the lanes that run", async (gpu) => {
  const guarded = (body: string) => `mov.u32 %r0, 99; setp.ge.u32 %p0, %t, 8; @%p0 ${body}`;
  assert.deepEqual(
    await lanesOf(gpu, guarded("activemask.b32 %r0;")),
    LANES.map((lane) => lane >= 8 ? 0xffffff00 : 99),
  );
  const leader = await lanesOf(
    gpu,
    `${guarded("elect.sync %r0|%p1, 0xffffff00;")}
  selp.u32 %r2, 100, 0, %p1;
  @%p0 add.u32 %r0, %r0, %r2;`,
  );
  assert.deepEqual(leader, LANES.map((lane) => lane < 8 ? 99 : lane === 8 ? 108 : 8));
});

softwareGpuTest("lanes on different paths meet at bar.warp.sync and at shfl", async (gpu) => {
  // Odd lanes go the long way; the shuffle needs all of them.
  const result = await lanesOf(
    gpu,
    `and.b32 %r2, %t, 1; setp.eq.u32 %p0, %r2, 0;
  mov.u32 %r3, %r1;
  @%p0 bra JOIN;
  mov.u32 %r4, 0;
LOOP:
  add.u32 %r3, %r3, 10; add.u32 %r4, %r4, 1;
  setp.lt.u32 %p1, %r4, %t;
  @%p1 bra LOOP;
JOIN:
  bar.warp.sync 0xffffffff;
  shfl.sync.bfly.b32 %r0, %r3, 1, 31, -1;`,
  );
  const moved = (lane: number) => lane % 2 === 0 ? lane : lane + 10 * lane;
  assert.deepEqual(result, LANES.map((lane) => moved(lane ^ 1)));
});

softwareGpuTest("bar.warp.sync lets lanes wait at different places", async (gpu) => {
  const result = await lanesOf(
    gpu,
    `.shared .align 4 .b8 shared[128];
  mov.u32 %r5, shared; mad.lo.u32 %r6, %t, 4, %r5;
  xor.b32 %r7, %t, 16; mad.lo.u32 %r7, %r7, 4, %r5;
  setp.lt.u32 %p0, %t, 16;
  @%p0 bra LOW;
  add.u32 %r2, %r1, 100; st.shared.u32 [%r6], %r2;
  bar.warp.sync -1;
  ld.shared.u32 %r0, [%r7];
  bra DONE;
LOW:
  add.u32 %r2, %r1, 200; st.shared.u32 [%r6], %r2;
  bar.warp.sync -1;
  ld.shared.u32 %r0, [%r7];
DONE:`,
  );
  assert.deepEqual(result, LANES.map((lane) => (lane ^ 16) + (lane < 16 ? 100 : 200)));
});

softwareGpuTest("a lane that its member mask leaves out faults", async (gpu) => {
  const y = output(new Uint32Array(32));
  const ptx = ptxKernel(1, "  shfl.sync.idx.b32 %r0, %t, 0, 31, 0xfffffffe;");
  const message = await faultOf(gpu, 715, ptx, { arguments: [y] });
  assert.match(message, /not in the member mask/);
});
