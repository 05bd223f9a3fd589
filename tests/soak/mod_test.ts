import assert from "node:assert/strict";
import { EXIT } from "../../server/commands/command.ts";
import { softwareGpu } from "../fixtures/software_gpu.ts";
import { RecordedIo } from "../server/commands/recorded_io.ts";
import { soak } from "./mod.ts";

Deno.test({
  name: "soak() does a part of the standard amount, and says what it has done",
  ignore: softwareGpu === undefined,
  fn: async () => {
    const io = new RecordedIo();
    assert.equal(await soak(["--only", "mapping", "--times", "0.0015"], io), EXIT.ok, io.stderr);
    assert.match(io.stdout, /^mapping: 1500 steps, of which \d+ succeeded, as the model says\n$/);
  },
});

Deno.test("soak() refuses parts that there are none of, and amounts that are none", async () => {
  for (
    const [flags, error] of [
      [["--only", "mapping,memroy"], /"memroy"; expected mapping, /],
      [["--times", "0"], /--times is "0"; expected a number above 0/],
      [["--seed", "x"], /--seed is "x"/],
    ] as const
  ) {
    const io = new RecordedIo();
    assert.equal(await soak(flags, io), EXIT.usage);
    assert.match(io.stderr, error);
  }
});
