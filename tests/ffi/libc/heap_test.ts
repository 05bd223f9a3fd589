import assert from "node:assert/strict";
import { openHeap } from "../../../ffi/libc/heap.ts";

Deno.test({
  name: "usedBytes() grows with what native code allocates, and falls when it is freed",
  ignore: Deno.build.os !== "linux",
  fn() {
    using heap = openHeap();
    const before = heap?.usedBytes();
    if (heap === undefined || before === undefined) return; // not glibc, or an old one
    const libc = Deno.dlopen("libc.so.6", {
      malloc: { parameters: ["usize"], result: "pointer" },
      free: { parameters: ["pointer"], result: "void" },
    });
    try {
      const size = 64 << 20;
      const block = libc.symbols.malloc(BigInt(size));
      const during = heap.usedBytes() ?? 0;
      libc.symbols.free(block);
      heap.trim();
      const after = heap.usedBytes() ?? 0;
      assert.ok(during - before >= size / 2, `${during - before}`);
      assert.ok(during - after >= size / 2, `${during - after}`);
    } finally {
      libc.close();
    }
  },
});
