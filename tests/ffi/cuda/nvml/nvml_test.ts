import assert from "node:assert/strict";
import { openNvml } from "../../../../ffi/cuda/nvml/nvml.ts";
import { compiler } from "../../../fixtures/compiler.ts";
import { withFolder } from "../../../fixtures/with_folder.ts";

/** A library with one device. It says no to what is 0 in `SUPPORTED`, and counts who is in. */
const SOURCE = `
#include <string.h>
static int users, device;
int nvmlInit_v2(void) { return INIT ? INIT : (users++, 0); }
int nvmlShutdown(void) { users--; return 0; }
int fakeUsers(void) { return users; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out) {
  if (strcmp(id, "0000:65:00.0")) return 6;
  *out = &device;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void *d, unsigned *out) {
  if (d != &device || !SUPPORTED) return 3;
  out[0] = 73, out[1] = 41;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *out) {
  if (d != &device) return 2;
  out[0] = 24ull << 30, out[1] = 18ull << 30, out[2] = 6ull << 30;
  return 0;
}
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *out) {
  if (d != &device || sensor != 0) return 2;
  *out = 64;
  return 0;
}
int nvmlDeviceGetPowerUsage(void *d, unsigned *out) {
  if (d != &device || !SUPPORTED) return 3;
  *out = 215500;
  return 0;
}
`;

async function withLibrary(
  definitions: Readonly<Record<string, number>>,
  test: (path: string) => void,
): Promise<void> {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/nvml.c`, SOURCE);
    const path = `${folder}/libnvidia-ml.so.1`;
    const { success, stderr } = await new Deno.Command(compiler!, {
      args: [
        ...["-x", "c", "-shared", "-fPIC", "-o", path, `${folder}/nvml.c`],
        ...Object.entries(definitions).map(([name, value]) => `-D${name}=${value}`),
      ],
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    test(path);
  });
}

function nvmlTest(
  name: string,
  definitions: Readonly<Record<string, number>>,
  test: (path: string) => void,
): void {
  Deno.test({
    name,
    ignore: compiler === undefined,
    fn: () => withLibrary(definitions, test),
  });
}

/** How often the library at `path` is initialised now. */
function users(path: string): number {
  const library = Deno.dlopen(path, { fakeUsers: { parameters: [], result: "i32" } });
  try {
    return library.symbols.fakeUsers();
  } finally {
    library.close();
  }
}

nvmlTest("read() gives every figure in its unit", { INIT: 0, SUPPORTED: 1 }, (path) => {
  using nvml = openNvml(path)!;
  assert.deepEqual(nvml.read(nvml.device("0000:65:00.0")!), {
    busy: 0.73,
    memoryBusy: 0.41,
    memoryTotalBytes: 24 * 2 ** 30,
    memoryUsedBytes: 6 * 2 ** 30,
    celsius: 64,
    watts: 215.5,
  });
});

nvmlTest("read() leaves out what the device does not tell", { INIT: 0, SUPPORTED: 0 }, (path) => {
  using nvml = openNvml(path)!;
  assert.deepEqual(nvml.read(nvml.device("0000:65:00.0")!), {
    memoryTotalBytes: 24 * 2 ** 30,
    memoryUsedBytes: 6 * 2 ** 30,
    celsius: 64,
  });
});

nvmlTest("device() is undefined where there is none", { INIT: 0, SUPPORTED: 1 }, (path) => {
  using nvml = openNvml(path)!;
  assert.equal(nvml.device("0000:66:00.0"), undefined);
});

nvmlTest("dispose shuts the library down once", { INIT: 0, SUPPORTED: 1 }, (path) => {
  const open = Deno.dlopen(path, {}); // keeps it loaded
  const nvml = openNvml(path)!;
  assert.equal(users(path), 1);
  nvml[Symbol.dispose]();
  nvml[Symbol.dispose]();
  assert.equal(users(path), 0);
  open.close();
});

nvmlTest(
  "openNvml() is undefined when the library does not start",
  { INIT: 9, SUPPORTED: 1 },
  (path) => assert.equal(openNvml(path), undefined),
);

Deno.test("openNvml() is undefined without a library, or with another one", () => {
  assert.equal(openNvml("/no/such/libnvidia-ml.so.1"), undefined);
  assert.equal(openNvml("libc.so.6"), undefined);
});
