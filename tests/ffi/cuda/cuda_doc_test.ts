import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { withFolder } from "../../fixtures/with_folder.ts";

const ROOT = new URL("../../../", import.meta.url);

softwareGpuTest("the program in docs/cuda.md is right", async ({ path }) => {
  const text = await Deno.readTextFile(new URL("docs/cuda.md", ROOT));
  const [, program] = text.match(/^```ts\n(.+?)^```/ms)!;
  const [, printed] = program.match(/console\.log\(.+\); \/\/ (.+)\n/)!;
  await withFolder(async (folder) => {
    const file = `${folder}/program.ts`;
    await Deno.writeTextFile(file, program.replace('"./ffi/', `"${ROOT}ffi/`));
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--check", "--allow-ffi", "--allow-read", file, path],
      cwd: fileURLToPath(ROOT),
    }).output();
    const decoder = new TextDecoder();
    assert.equal(decoder.decode(stdout), `${printed}\n`, decoder.decode(stderr));
  });
});
