import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compiler } from "../../fixtures/compiler.ts";
import { softwareGpu } from "../../fixtures/software_gpu.ts";
import { withFolder } from "../../fixtures/with_folder.ts";

const SOURCE = fileURLToPath(new URL("../../soak/ptx_fuzz.cpp", import.meta.url));
const KERNELS = fileURLToPath(new URL("../../kernels/ptx", import.meta.url));
const INPUTS = 3000;

function inKernels(name: string): string {
  return join(KERNELS, name);
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args: [...args] }).output();
  const decoder = new TextDecoder();
  assert.ok(success, `${command}: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

Deno.test({
  name: "broken PTX becomes a program that ends or faults, or an error",
  ignore: softwareGpu === undefined,
  fn: () =>
    withFolder(async (folder) => {
      // The library does not export its compiler: the objects that it was linked from have it.
      const build = dirname(softwareGpu!.path);
      const objects = (await Deno.readTextFile(join(build, "inputs"))).split("\n");
      const program = join(folder, "ptx_fuzz");
      const link = ["-pthread", "-ldl", "-o", program];
      await run(compiler!, ["-std=c++17", "-O1", SOURCE, ...objects, ...link]);

      const names = (await Array.fromAsync(Deno.readDir(KERNELS))).map(({ name }) => name);
      const texts = names.filter((name) => name.endsWith(".ptx")).sort();
      const printed = await run(program, ["1", "0", `${INPUTS}`, "0", ...texts.map(inKernels)]);

      const [, programs, refused] = printed.match(/(\d+) programs, (\d+) refused\n$/)!.map(Number);
      assert.equal(programs + refused, INPUTS);
      assert.ok(programs > INPUTS / 50, `Only ${programs} of the texts were still programs`);
      assert.ok(refused > INPUTS / 2, `Only ${refused} of the texts were refused`);
    }),
});
