import assert from "node:assert/strict";
import { compile, usesIn } from "./toolkit.ts";

Deno.test("usesIn() reads what ptxas says of each kernel", () => {
  const report = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for first
    0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 512 bytes smem, 380 bytes cmem[0]
ptxas info    : Compiling entry function 'second' for 'sm_80'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 0 barriers, 388 bytes cmem[0]
`;
  assert.deepEqual(
    usesIn(report),
    new Map([
      ["first", { registers: 40, sharedBytes: 512, spillBytes: 8 }],
      ["second", { registers: 14, sharedBytes: 0, spillBytes: 0 }],
    ]),
  );
});

Deno.test("compile() says what to do when nvcc cannot be run", async () => {
  const before = Deno.env.get("CUDA_HOME");
  Deno.env.set("CUDA_HOME", "nowhere");
  try {
    await assert.rejects(compile("kernel.cu", 80), /^Error: nowhere\/bin\/nvcc cannot be run; put/);
  } finally {
    if (before === undefined) Deno.env.delete("CUDA_HOME");
    else Deno.env.set("CUDA_HOME", before);
  }
});
