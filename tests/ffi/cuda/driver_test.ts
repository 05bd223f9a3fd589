import assert from "node:assert/strict";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import {
  CudaError,
  CudaUnavailableError,
  type CudaUnavailableReason,
} from "../../../ffi/cuda/errors.ts";
import { canFakeCuda, type FakeCuda, fakeCuda } from "../../fixtures/fake_cuda.ts";
import { withFolder } from "../../fixtures/with_folder.ts";

const LIBC = "libc.so.6";
const DRIVER = import.meta.resolve("../../../ffi/cuda/driver.ts");

function assertUnavailable(path: string, reason: CudaUnavailableReason, message: RegExp): void {
  assert.throws(() => openDriver(path), (error) => {
    assert.ok(error instanceof CudaUnavailableError, String(error));
    assert.equal(error.reason, reason, error.message);
    assert.match(error.message, message);
    assert.ok(!error.message.includes("\n"), "one line");
    return true;
  });
}

/** Runs a program in a process of its own and returns what it prints. */
async function run(
  folder: string,
  program: string,
  permission: string,
  env: Record<string, string> = {},
): Promise<string> {
  await Deno.writeTextFile(`${folder}/program.ts`, program);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--quiet", permission, `${folder}/program.ts`],
    env,
  }).output();
  const decoder = new TextDecoder();
  return decoder.decode(stdout) || decoder.decode(stderr);
}

/** A test with a library that stands in for a driver. */
function fakeTest(name: string, fake: FakeCuda, test: (path: string) => void): void {
  Deno.test({
    name,
    ignore: !canFakeCuda,
    fn: () => withFolder(async (folder) => test(await fakeCuda(folder, fake))),
  });
}

Deno.test("openDriver() says that a file is not there", () => {
  assertUnavailable(
    "/no/such/libcuda.so.1",
    "not installed",
    /^CUDA driver \/no\/such\/libcuda\.so\.1: Could not open library: \/no\/such\/libcuda\.so\.1: /,
  );
});

fakeTest("openDriver() says that a file is cut off, or for another processor", {}, (path) => {
  const library = Deno.readFileSync(path);
  Deno.writeFileSync(`${path}.cut`, library.subarray(0, 4096));
  assertUnavailable(`${path}.cut`, "wrong library", /cut off: of \d+ bytes there are 4096/);
  library[0x12] ^= 1;
  Deno.writeFileSync(`${path}.other`, library);
  assertUnavailable(`${path}.other`, "wrong library", /another processor/);
});

Deno.test("openDriver() says that a file is no library", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/libcuda.so.1`, "no library");
    assertUnavailable(`${folder}/libcuda.so.1`, "wrong library", /libcuda\.so\.1/);
  });
});

Deno.test({
  name: "openDriver() says that a library is no driver",
  ignore: Deno.build.os !== "linux",
  fn: () => assertUnavailable(LIBC, "wrong library", /cuDriverGetVersion|cuInit/),
});

Deno.test({
  name: "openDriver() says that it is not permitted",
  permissions: { ffi: false },
  fn: () => assertUnavailable(LIBC, "not permitted", /--allow-ffi/),
});

Deno.test({
  name: "openDriver() finds the driver that the system has, by its usual name",
  ignore: !canFakeCuda || Deno.build.os !== "linux",
  fn: () =>
    withFolder(async (folder) => {
      await Deno.rename(await fakeCuda(folder), `${folder}/libcuda.so.1`);
      const program = `import { openDriver } from ${JSON.stringify(DRIVER)};
        using driver = openDriver();
        console.log(driver.path, driver.version);`;
      const env = { LD_LIBRARY_PATH: folder };
      assert.equal(await run(folder, program, "--allow-ffi", env), "libcuda.so.1 13000\n");
    }),
});

Deno.test("openDriver() says that a permission for one path is not enough", async () => {
  const program = `import { openDriver } from ${JSON.stringify(DRIVER)};
    try { openDriver("/no/such/libcuda.so"); } catch (error) { console.log(error.reason); }`;
  await withFolder(async (folder) => {
    const output = await run(folder, program, "--allow-ffi=/no/such/libcuda.so");
    assert.equal(output, "not permitted\n");
  });
});

fakeTest(
  "openDriver() says that a driver is too old by its version",
  { version: 11_080 },
  (path) => assertUnavailable(path, "too old", /supports CUDA 11\.8, and 12\.0 is needed/),
);

fakeTest(
  "openDriver() says that a driver is too old by a function that it lacks",
  { version: 12_010, without: ["cuGraphExecUpdate_v2"] },
  (path) => assertUnavailable(path, "too old", /CUDA 12\.1, but lacks .*cuGraphExecUpdate_v2/),
);

fakeTest(
  "openDriver() does without optional functions",
  { without: ["cuFuncGetName", "cuFuncGetParamInfo"] },
  (path) => {
    using driver = openDriver(path);
    assert.equal(driver.version, 13_000);
    assert.equal(driver.path, path);
    assert.equal(driver.symbols.cuFuncGetName, null);
  },
);

fakeTest(
  "openDriver() tells the toolkit's stub, which knows no version",
  { results: { cuDriverGetVersion: 34, cuInit: 34 } },
  (path) => assertUnavailable(path, "a stub", /to link against/),
);

fakeTest(
  "openDriver() tells a stub that does not start",
  { results: { cuInit: 34 } },
  (path) => assertUnavailable(path, "a stub", /to link against/),
);

fakeTest(
  "openDriver() says that there is no device",
  { results: { cuInit: 100 } },
  (path) => assertUnavailable(path, "no device", /finds no GPU/),
);

fakeTest(
  "openDriver() says that all devices are hidden",
  { devices: 0 },
  (path) => assertUnavailable(path, "no device", /CUDA_VISIBLE_DEVICES/),
);

fakeTest(
  "openDriver() says why a driver does not start",
  { results: { cuInit: 803 } },
  (path) => assertUnavailable(path, "failed", /cuInit failed with CUDA_ERROR_FAKE \(803\)/),
);

fakeTest("check() throws what the driver says about a status", {}, (path) => {
  using driver = openDriver(path);
  driver.check("cuMemFree_v2", 0);
  assert.throws(() => driver.check("cuMemFree_v2", 1), (error) => {
    assert.ok(error instanceof CudaError);
    assert.equal(error.call, "cuMemFree_v2");
    assert.equal(error.code, 1);
    assert.equal(error.name, "CUDA_ERROR_FAKE");
    assert.equal(error.text, "a fake");
    return true;
  });
});

fakeTest(
  "check() copes with a status that the driver does not know",
  { results: { cuGetErrorName: 1, cuGetErrorString: 1 } },
  (path) => {
    using driver = openDriver(path);
    assert.throws(() => driver.check("cuInit", 4711), /cuInit failed with CUDA_ERROR_4711/);
  },
);

fakeTest("check() tells listeners once about a fault and keeps it", {}, (path) => {
  using driver = openDriver(path);
  const told: CudaError[] = [];
  driver.onFault((fault) => told.push(fault));
  const remove = driver.onFault(() => assert.fail("was removed"));
  remove();
  assert.throws(() => driver.check("cuStreamQuery", 1));
  assert.equal(driver.fault, undefined);
  assert.throws(() => driver.check("cuStreamQuery", 700));
  assert.throws(() => driver.check("cuMemFree_v2", 719));
  assert.equal(told.length, 1);
  assert.equal(driver.fault, told[0]);
  assert.equal(told[0].code, 700);
  driver.onFault((fault) => told.push(fault));
  assert.equal(told.length, 2, "a late listener is told at once");
});

fakeTest("a listener that throws hides the fault from nobody", {}, (path) => {
  using driver = openDriver(path);
  const mistake = new Error("a mistake");
  let told = false;
  driver.onFault(() => {
    throw mistake;
  });
  driver.onFault(() => told = true);
  assert.throws(() => driver.check("cuStreamQuery", 700), { code: 700 });
  assert.ok(told);
  assert.throws(() => driver.raiseDeferred(), mistake);
});

fakeTest("CudaDriver makes no calls once it is closed", {}, (path) => {
  const driver = openDriver(path);
  const device = new CudaDevice(driver, 0);
  driver[Symbol.dispose]();
  driver[Symbol.dispose]();
  for (
    const [call, run] of [
      ["cuDeviceTotalMem_v2", () => device.memoryBytes],
      ["cuDevicePrimaryCtxRetain", () => new Context(device)],
    ] as const
  ) {
    assert.throws(run, (error) => {
      assert.ok(error instanceof CudaError);
      assert.equal(error.call, call);
      assert.match(error.text, /^the driver .* has been disposed$/);
      return true;
    });
  }
});
