import assert from "node:assert/strict";
import { type SoftwareGpu, softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { output } from "../../kernels/gpu.ts";
import { elementAddress, ptxKernel, refusalOf, run } from "./ptx_kernel.ts";

/** Runs `body` on four threads and returns what each left in `%r0`. */
async function resultsOf(gpu: SoftwareGpu, body: string, declarations = ""): Promise<number[]> {
  const result = output(new Int32Array(4));
  const store = `${elementAddress("%w0", "%a0", 4)}\n  st.global.u32 [%w0], %r0;`;
  const ptx = ptxKernel(1, `${body}\n  ${store}`, { declarations });
  await run(gpu, ptx, { arguments: [result], threads: 4 });
  return Array.from(result.data);
}

/** What PTX means, by what four threads compute with it. */
const LANGUAGE: Readonly<
  Record<string, { body: string; declarations?: string; expected: number[] }>
> = {
  "expressions of constants": {
    body: `mad.lo.u32 %r0, %t, (1 << 3) + 2 * 3, -(-7) / 2 - ~0x10 & 0b111 | 010;`,
    expected: [12, 26, 40, 54],
  },
  "floats by their bits, as fractions, and rounded from doubles": {
    body: `
  cvt.rn.f32.u32 %f1, %t;
  fma.rn.f32 %f2, %f1, 1.5, 0f3F000000;
  add.f32 %f3, %f2, 0d4000000000000000;
  mul.f32 %f3, %f3, -2.0e1;
  cvt.rzi.s32.f32 %r0, %f3;`,
    expected: [-50, -80, -110, -140],
  },
  "scopes whose names hide those outside": {
    body: `
  .reg .b32 x, y<3>;
  mov.u32 x, %t;
  mov.u32 y2, 100;
  {
    .reg .b32 x, y<3>;
    mov.u32 x, 5;
    mov.u32 y2, 7;
  LOOP:
    add.u32 x, x, y2;
    setp.lt.u32 %p1, x, 20;
    @%p1 bra LOOP;
    mov.u32 %r1, x;
  }
  {
    .reg .pred y2;
    setp.eq.u32 y2, x, 1;
  LOOP:
    @!y2 bra DONE;
    add.u32 %r1, %r1, 1000;
  DONE:
  }
  add.u32 %r0, %r1, x;
  add.u32 %r0, %r0, y2;`,
    expected: [126, 1127, 128, 129],
  },
  "remarks of compilers": {
    body: `
  .loc 1 4 0, function_name $L__info_string0, inlined_at 1 9 2
  .pragma "nounroll";
  /* several
     lines */ mov.u32 %r0, 3; // and the rest of one
# 1 "kernel.cu"
  ;`,
    declarations: `
.file 1 "kernel.cu", 1700000000, 1234
.section .debug_str { $L__info_string0: .b8 107, 0 .b64 $L__info_string0+5 }
.common .global .align 4 .u32 unused;`,
    expected: [3, 3, 3, 3],
  },
  "initial values: rows, what is left out, floats, addresses, masked bytes of addresses": {
    declarations: `
.global .align 4 .u32 rows[3][2] = {{1}, {2, 3}, {4, 5}};
.global .align 4 .f32 halves[] = {0f3F000000, 1.5};
.global .align 8 .u64 places[2] = {generic(rows) + 8, rows};
.global .align 8 .b8 bytes[8] = {0xFF(rows), 0xFF00(rows), 0xFF0000(rows), 0xFF000000(rows),
  0xFF00000000(rows), 0xFF0000000000(rows), 0xFF000000000000(rows), 0xFF00000000000000(rows)};`,
    body: `
  ld.global.u64 %w1, [places];
  ld.global.u64 %w2, [places+8];
  ld.global.u64 %w3, [bytes];
  ld.global.u32 %r1, [%w1];
  ld.global.u32 %r2, [%w2];
  ld.global.u32 %r3, [%w3+5*4];
  ld.global.u32 %r4, [rows+4];
  ld.global.f32 %f1, [halves+4];
  cvt.rpi.s32.f32 %r5, %f1;
  mad.lo.u32 %r0, %r1, 10, %r2;
  mad.lo.u32 %r0, %r0, 10, %r3;
  mad.lo.u32 %r0, %r0, 10, %r4;
  mad.lo.u32 %r0, %r0, 10, %r5;`,
    expected: [21502, 21502, 21502, 21502],
  },
  "branches to one of a list": {
    body: `
  TABLE: .branchtargets A, B, C, A;
  mov.u32 %r0, 1;
  brx.idx %t, TABLE;
  A: add.u32 %r0, %r0, 10;
  B: add.u32 %r0, %r0, 100; bra C;
  C:`,
    expected: [111, 101, 1, 111],
  },
  "calls: structs, recursion with local variables, aliases, functions in tables": {
    declarations: `
.func (.param .align 8 .b8 pair[16]) make(.param .b64 first, .param .b32 second);
.func (.param .b32 result) factorial(.param .b32 n)
{
  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %w; .local .align 4 .b8 kept[8];
  ld.param.b32 %r1, [n];
  mov.u64 %w, kept;
  st.local.u32 [%w+4], %r1;
  mov.u32 %r0, 1;
  setp.lt.u32 %p, %r1, 2;
  @%p bra DONE;
  {
    .param .b32 less; .param .b32 product;
    sub.u32 %r2, %r1, 1;
    st.param.b32 [less], %r2;
    call.uni (product), factorial, (less);
    ld.param.b32 %r0, [product];
  }
  ld.local.u32 %r3, [kept+4];
  mul.lo.u32 %r0, %r0, %r3;
DONE:
  st.param.b32 [result], %r0;
  ret;
}
.func (.param .b32 result) twice(.param .b32 n)
{
  .reg .b32 %r;
  ld.param.b32 %r, [n];
  add.u32 %r, %r, %r;
  st.param.b32 [result], %r;
}
.func (.param .align 8 .b8 pair[16]) make(.param .b64 first, .param .b32 second)
{
  .reg .b32 %r; .reg .b64 %w;
  ld.param.b64 %w, [first];
  ld.param.b32 %r, [second];
  st.param.b64 [pair], %w;
  st.param.b32 [pair+8], %r;
  ret;
}
.func (.param .b32 result) double(.param .b32 n);
.alias double, twice;
.global .align 8 .u64 functions[2] = {factorial, double};`,
    body: `
  .param .b64 first; .param .b32 second; .param .align 8 .b8 pair[16];
  st.param.b64 [first], 300;
  st.param.b32 [second], %t;
  call (pair), make, (first, second);
  ld.param.b32 %r1, [pair];
  ld.param.b32 %r2, [pair+8];
  and.b32 %r3, %t, 1;
  mul.wide.u32 %w1, %r3, 8;
  mov.u64 %w2, functions;
  add.u64 %w2, %w2, %w1;
  ld.global.u64 %w2, [%w2];
  {
    .param .b32 n; .param .b32 result;
    shape: .callprototype (.param .b32 _) _ (.param .b32 _);
    add.u32 %r4, %t, 3;
    st.param.b32 [n], %r4;
    call (result), %w2, (n), shape;
    ld.param.b32 %r5, [result];
    add.u32 %r0, %r1, %r5;
  }
  mad.lo.u32 %r0, %r2, 1000, %r0;`,
    expected: [306, 1308, 2420, 3312],
  },
  "shared variables of the module, of functions and of the kernel beside each other": {
    declarations: `
.shared .align 4 .u32 common[4];
.func put(.param .b32 index)
{
  .shared .align 16 .b8 own[4];
  .reg .b32 %r<3>;
  ld.param.b32 %r0, [index];
  shl.b32 %r1, %r0, 2;
  mov.u32 %r2, common;
  add.u32 %r2, %r2, %r1;
  st.shared.u32 [%r2], %r0;
  st.shared.u32 [own], 77;
  ret;
}`,
    body: `
  .shared .align 4 .u32 mine[4];
  .param .b32 index;
  mov.u32 %r1, mine;
  mad.lo.u32 %r1, %t, 4, %r1;
  st.shared.u32 [%r1], 50;
  st.param.b32 [index], %t;
  call put, (index);
  bar.sync 0;
  ld.shared.u32 %r2, [%r1];
  ld.shared.u32 %r3, [common+12];
  add.u32 %r0, %r2, %r3;`,
    expected: [53, 53, 53, 53],
  },
  "guards: a register keeps its value in the threads that they leave out": {
    body: `
  mov.u32 %r0, 5;
  setp.gt.u32 %p1, %t, 1;
  mov.u32 %r1, 1;
  @%p1 mov.u32 %r0, 9;
  mov.u32 %r2, 2;
  @!%p1 add.u32 %r1, %r1, %r2;
  add.u32 %r0, %r0, %r1;`,
    expected: [8, 8, 10, 10],
  },
};

for (const [name, { body, declarations, expected }] of Object.entries(LANGUAGE)) {
  softwareGpuTest(`PTX is understood: ${name}`, async (gpu) => {
    assert.deepEqual(await resultsOf(gpu, body, declarations), expected);
  });
}

softwareGpuTest("PTX in a refused module is named with its line and what is wrong", async (gpu) => {
  const refusals: [body: string, reason: RegExp, below?: number][] = [
    ["frobnicate.u32 %r0, %r1;", /`frobnicate\.u32`: the instruction is not supported/],
    [
      "add.u32 %r0, %r1",
      /expected `,` or `;` behind an operand of `add\.u32`, found `ret`/,
      1,
    ],
    ["add.u32 %r0, %r999, 1;", /register `%r999` is not declared/],
    ["add.u32 %r0, %r1;", /`add\.u32`: has 2 operands where 3 are expected/],
    ["add.u64 %r0, %w1, %w2;", /`add\.u64`: register `%r0` has 32 bits where 64 are expected/],
    ["add.f32 %f0, %f1, 2;", /`add\.f32`: an integer where a float is expected/],
    ["add.u32 %tid.x, %r1, 2;", /`add\.u32`: its result cannot go there/],
    ["add.u32 %r0, -%r1, 2;", /`add\.u32`: only predicates can be negated/],
    ["@%r1 ret;", /`ret`: `%r1` is not a predicate/],
    ["bra NOWHERE;", /`bra`: label `NOWHERE` is nowhere/],
    ["{ INSIDE: } bra INSIDE;", /`bra`: label `INSIDE` is nowhere/],
    ["TWICE: TWICE:", /label `TWICE` is declared twice/],
    ["mov.u64 %w0, nothing;", /`mov\.u64`: `nothing` is defined nowhere/],
    ["call nothing;", /`call`: function `nothing` has no body/],
    [".shared .b8 x[4]; ld.global.u8 %r0, [x];", /`x` lies in shared memory, not in global/],
    [".shared .b8 x[300000];", /takes 300000 bytes of shared memory, the most is 49152/],
    [".local .b8 x[99999999999999];", /variable `x` is too large/],
    [".reg .f32 %r0;\n.reg .f33 x;", /expected a type of register.*found `\.f33`/, 1],
    ["mov.f32 %f0, 0f12;", /expected a float of 8 hexadecimal digits, found `0f12`/],
    ["mov.u32 %r0, 1 / 0;", /a constant is divided by zero/],
    ["mov.u32 %r0, 99999999999999999999;", /expected an integer of 64 bits/],
    ["{".repeat(100), /scopes are nested too deeply/],
    ["/* open", /expected `\*\/` behind a comment/],
  ];
  const first = ptxKernel(0, "BODY").split("\n").indexOf("BODY") + 1;
  for (const [body, reason, below = 0] of refusals) {
    const refusal = await refusalOf(gpu, ptxKernel(0, body));
    assert.match(refusal, reason, body);
    assert.match(refusal, new RegExp(`PTX line ${first + below}: `), body);
  }
  assert.match(await refusalOf(gpu, "int main() {}"), /line 1: expected `\.version`, found `int`/);
  assert.match(await refusalOf(gpu, ""), /expected `\.version`, found the end of the text/);
});
