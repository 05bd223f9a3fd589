import assert from "node:assert/strict";
import { cpuSeconds, processTree, residentBytes, treeMemory } from "./process_tree.ts";

const linux = { ignore: Deno.build.os !== "linux" };

Deno.test("processTree() has the root first, then what it started", linux, async () => {
  const child = new Deno.Command("cat", { stdin: "piped", stdout: "null" }).spawn();
  try {
    const tree = processTree(Deno.pid);
    assert.equal(tree[0], Deno.pid);
    assert(tree.includes(child.pid));
  } finally {
    await child.stdin.close();
    await child.status;
  }
  assert(!processTree(Deno.pid).includes(child.pid));
});

Deno.test("treeMemory() counts the pages of this executable in full", linux, () => {
  const { processes, pssBytes, rssBytes } = treeMemory(Deno.pid);
  assert(processes >= 1);
  assert(pssBytes > 20e6 && pssBytes <= rssBytes, `${pssBytes} of ${rssBytes}`);
});

Deno.test("cpuSeconds() throws when the process has ended", linux, async () => {
  const child = new Deno.Command("true").spawn();
  await child.status;
  assert(cpuSeconds(Deno.pid) > 0);
  assert.throws(() => cpuSeconds(child.pid), /has ended/);
});

Deno.test("residentBytes() grows with what a process holds", linux, () => {
  const before = residentBytes(Deno.pid);
  const held = new Uint8Array(64 * 2 ** 20).fill(1);
  assert.ok(residentBytes(Deno.pid) - before > held.length / 2);
});
