import assert from "node:assert/strict";
import { softwareGpu, softwareGpuTest } from "../../fixtures/software_gpu.ts";

/** Prints how much memory the device of a new process has. */
const PROGRAM = `
import { CudaDevice, openDriver } from ${
  JSON.stringify(import.meta.resolve("../../../ffi/cuda/mod.ts"))
};
using driver = openDriver(${JSON.stringify(softwareGpu?.path)});
console.log(new CudaDevice(driver, 0).memoryBytes);`;

async function run(env: Record<string, string>) {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", PROGRAM],
    env: { ...env, NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { success, out: decoder.decode(stdout), errors: decoder.decode(stderr) };
}

softwareGpuTest("the environment decides what the device is like", async () => {
  const { out, errors } = await run({
    SOFTWARE_GPU_MEMORY: `${64 << 20}`,
    SOFTWARE_GPU_THREADS: "2",
    SOFTWARE_GPU_SEED: "7",
    SOFTWARE_GPU_CHECKS: "races,uninitialised",
  });
  assert.equal(out, `${64 << 20}\n`, errors);
});

const WRONG = [
  ["MEMORY", "64MiB", "a number of bytes"],
  ["MEMORY", "99999999999999999999", "a number of bytes"],
  ["THREADS", "0", "1 to 256"],
  ["SEED", "-1", "a whole number"],
  ["CHECKS", "races,bounds", "races, uninitialised, or both with a comma"],
] as const;

for (const [suffix, value, expected] of WRONG) {
  softwareGpuTest(`cuInit() refuses SOFTWARE_GPU_${suffix}=${value}, and says so`, async () => {
    const variable = `SOFTWARE_GPU_${suffix}`;
    const { success, errors } = await run({ [variable]: value });
    assert.ok(!success);
    assert.equal(errors.split("\n")[0], `${variable} is "${value}"; expected ${expected}`);
  });
}
