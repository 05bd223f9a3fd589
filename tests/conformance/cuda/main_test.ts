import assert from "node:assert/strict";
import { softwareGpu } from "../../fixtures/software_gpu.ts";
import { RecordedIo } from "../../server/commands/recorded_io.ts";
import { testCuda } from "./main.ts";

Deno.test("test:cuda counts what passed on the software GPU and what cannot run elsewhere", async () => {
  const io = new RecordedIo();
  const code = await testCuda(["--verbose", "--only", "what is captured does not run"], io);
  const lines = io.stdout.trimEnd().split("\n");
  assert.equal(code, 0, io.stdout);
  assert.match(lines.at(-1)!, /^[0-2] passed, 0 failed, [0-2] skipped$/);
  const first = softwareGpu === undefined ? /^software GPU: 1 checks skipped: / : /: ok$/;
  assert.match(lines[0], first);
});

Deno.test("test:cuda fails when the driver that was named is none", async () => {
  const io = new RecordedIo();
  const code = await testCuda(["--only", "no such check", "--cuda-driver", "/no/such.so"], io);
  assert.equal(code, 1);
  assert.match(
    io.stdout,
    /^\/no\/such\.so: openDriver\(\): FAILED: .*\n0 passed, 1 failed, 0 skipped\n$/,
  );
});
