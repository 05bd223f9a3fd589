import assert from "node:assert/strict";
import { mutantsOf } from "./mutants.ts";

/** Names of the mutants of a kernel k with this body, and how each changes it. */
function mutants(body: string): [name: string, changed: string][] {
  const before = [".visible .entry k()", "{", ...body.split("\n"), "}"];
  return mutantsOf(before.join("\n")).map(({ name, ptx }) => {
    const changed = ptx.split("\n").filter((line) => !before.includes(line));
    return [name, changed.join("").trim()];
  });
}

Deno.test("mutantsOf() leaves out barriers, waits for copies and ends of groups", () => {
  assert.deepEqual(mutants("\tbar.sync \t0;"), [["k: bar.sync 1 left out", ""]]);
  assert.deepEqual(mutants("\tcp.async.wait_all;"), [["k: cp.async.wait_all 1 left out", ""]]);
  assert.deepEqual(mutants("\tcp.async.commit_group;"), [
    ["k: cp.async.commit_group 1 left out", ""],
  ]);
  assert.deepEqual(mutants("\tcp.async.wait_group 1;"), [
    ["k: cp.async.wait_group 1 left out", ""],
    ["k: cp.async.wait_group 1 for 2 pending", "cp.async.wait_group 2;"],
  ]);
});

Deno.test("mutantsOf() changes a shuffle's mode, offset and mask", () => {
  assert.deepEqual(mutants("\tshfl.sync.bfly.b32 \t%r1|%p1, %r2, %r3, 31, -1;"), [
    ["k: shfl.sync.bfly.b32 1 in mode down", "shfl.sync.down.b32 %r1|%p1, %r2, %r3, 31, -1;"],
    ["k: shfl.sync.bfly.b32 1 with offset 0", "shfl.sync.bfly.b32 %r1|%p1, %r2, 0, 31, -1;"],
    [
      "k: shfl.sync.bfly.b32 1 without lane 31",
      "shfl.sync.bfly.b32 %r1|%p1, %r2, %r3, 31, 0x7fffffff;",
    ],
  ]);
});

Deno.test("mutantsOf() moves accesses of shared memory by one element and keeps their guard", () => {
  assert.deepEqual(mutants("\t@%p1 ld.shared.f32 \t%f1, [%r1+-8];"), [
    ["k: ld.shared.f32 1 4 bytes further", "@%p1 ld.shared.f32 \t%f1, [%r1+-4];"],
  ]);
  assert.deepEqual(mutants("\tst.shared.v4.f32 \t[%r1], {%f1, %f2, %f3, %f4};"), [
    [
      "k: st.shared.v4.f32 1 16 bytes further",
      "st.shared.v4.f32 \t[%r1+16], {%f1, %f2, %f3, %f4};",
    ],
  ]);
  assert.deepEqual(mutants("\tcp.async.cg.shared.global [%r1], [%rd1], 16, %r2;"), [
    [
      "k: cp.async.cg.shared.global 1 16 bytes further",
      "cp.async.cg.shared.global [%r1+16], [%rd1], 16, %r2;",
    ],
  ]);
});

Deno.test("mutantsOf() counts instructions of a kernel by opcode and leaves others alone", () => {
  assert.deepEqual(
    mutants("\tbar.sync 0;\n\tadd.s32 %r1, %r2, 4;\n\tld.global.f32 %f1, [%rd1];\n\tbar.sync 0;")
      .map(([name]) => name),
    ["k: bar.sync 1 left out", "k: bar.sync 2 left out"],
  );
});

Deno.test("mutantsOf() moves the addresses of shared variables, not of others", () => {
  assert.deepEqual(
    mutants("\t.shared .align 4 .b8 tile[64];\n\tmov.u32 \t%r1, tile;\n\tmov.u32 \t%r2, %tid.x;"),
    [["k: mov.u32 1 16 bytes further", "mov.u32 \t%r1, tile+16;"]],
  );
});
