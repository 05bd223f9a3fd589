import assert from "node:assert/strict";
import { openDevice } from "../../server/devices.ts";

const NO_DRIVER = { threads: 1, cudaDriver: "/nowhere/libcuda.so.1" };

Deno.test("openDevice() takes the cpu for auto where there is no GPU, and says so once", async () => {
  const lines: string[] = [];
  await using device = await openDevice("auto", NO_DRIVER, (line) => lines.push(line));
  assert.equal(device.name, "cpu");
  assert.equal(lines.length, 1);
  assert.match(
    lines[0],
    /^Models run on the cpu\. [^\n]*\/nowhere\/libcuda\.so\.1[^\n]+$/,
  );
});

Deno.test("openDevice() fails for cuda where there is no driver", async () => {
  await assert.rejects(openDevice("cuda", NO_DRIVER), {
    name: "CudaUnavailableError",
    reason: "not installed",
  });
});

Deno.test("openDevice() says nothing of CUDA for devices that were named", async () => {
  for (const name of ["cpu", "simulated"]) {
    const lines: string[] = [];
    await using device = await openDevice(name, NO_DRIVER, (line) => lines.push(line));
    assert.equal(device.name, name);
    assert.deepEqual(lines, []);
  }
});
