import assert from "node:assert/strict";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import {
  addressOf,
  Arguments,
  Code,
  cString,
  launch,
  ok,
  RawDriver,
  STORE,
  withContext,
  words,
} from "./raw_driver.ts";

softwareGpuTest("nothing but cuInit works before cuInit", (gpu) => {
  using driver = new RawDriver(gpu.path);
  const { cu, out } = driver;
  assert.equal(cu.cuDeviceGetCount(out), Code.NOT_INITIALIZED);
  assert.equal(cu.cuMemAlloc_v2(out, 4n), Code.NOT_INITIALIZED);
  assert.equal(driver.int(cu.cuDriverGetVersion(out)), 13000);
  assert.equal(cu.cuInit(1), Code.INVALID_VALUE);
  ok(cu.cuInit(0));
  assert.equal(driver.int(cu.cuDeviceGetCount(out)), 1);
});

softwareGpuTest("devices are as many as was configured, and no others", (gpu) => {
  gpu.control.configure({ deviceCount: 3, computeCapability: 120 });
  using driver = new RawDriver(gpu.path);
  const { cu, out } = driver;
  ok(cu.cuInit(0));
  assert.equal(driver.int(cu.cuDeviceGetCount(out)), 3);
  assert.equal(driver.int(cu.cuDeviceGet(out, 2)), 2);
  assert.equal(cu.cuDeviceGet(out, 3), Code.INVALID_DEVICE);
  assert.equal(cu.cuDeviceGet(out, -1), Code.INVALID_DEVICE);
  assert.equal(driver.int(cu.cuDeviceGetAttribute(out, 75, 0)), 12);
  assert.equal(driver.int(cu.cuDeviceGetAttribute(out, 97, 0)), 99 << 10);
  assert.equal(cu.cuDeviceGetAttribute(out, 0, 0), Code.INVALID_VALUE);
  assert.equal(cu.cuDeviceGetAttribute(out, 75, 7), Code.INVALID_DEVICE);
  assert.equal(driver.int(cu.cuDeviceGetByPCIBusId(out, cString("0000:02:00.0"))), 1);
  assert.equal(cu.cuDeviceGetByPCIBusId(out, cString("0000:09:00.0")), Code.INVALID_DEVICE);
});

softwareGpuTest("calls fail with 201 without a context, with 709 in a destroyed one", (gpu) => {
  using driver = new RawDriver(gpu.path);
  const { cu, out } = driver;
  ok(cu.cuInit(0));
  assert.equal(cu.cuMemAlloc_v2(out, 4n), Code.INVALID_CONTEXT);
  assert.equal(cu.cuCtxSetCurrent(4711n), Code.INVALID_CONTEXT);
  const first = driver.handle(cu.cuCtxCreate_v2(out, 0, 0));
  const second = driver.handle(cu.cuCtxCreate_v4(out, null, 0, 0));
  assert.equal(driver.handle(cu.cuCtxGetCurrent(out)), second);
  ok(cu.cuCtxPushCurrent_v2(first));
  ok(cu.cuCtxDestroy_v2(second));
  assert.equal(cu.cuCtxPushCurrent_v2(second), Code.CONTEXT_IS_DESTROYED);
  assert.equal(driver.handle(cu.cuCtxPopCurrent_v2(out)), first);
  assert.equal(cu.cuMemAlloc_v2(out, 4n), Code.CONTEXT_IS_DESTROYED, "it is current still");
  ok(cu.cuCtxSetCurrent(first));
  driver.alloc(4);
  ok(cu.cuCtxDestroy_v2(first));
  assert.equal(gpu.control.counter("liveAllocations"), 0, "memory goes with its context");
  assert.equal(cu.cuCtxDestroy_v2(first), Code.CONTEXT_IS_DESTROYED);
});

softwareGpuTest("the primary context lives while somebody retains it", (gpu) => {
  using driver = new RawDriver(gpu.path);
  const { cu, out } = driver;
  ok(cu.cuInit(0));
  assert.equal(cu.cuDevicePrimaryCtxRelease_v2(0), Code.INVALID_CONTEXT);
  const context = driver.handle(cu.cuDevicePrimaryCtxRetain(out, 0));
  assert.equal(driver.handle(cu.cuDevicePrimaryCtxRetain(out, 0)), context);
  assert.equal(cu.cuCtxDestroy_v2(context), Code.INVALID_CONTEXT);
  ok(cu.cuDevicePrimaryCtxRelease_v2(0));
  const active = new Uint8Array(4);
  ok(cu.cuDevicePrimaryCtxGetState(0, out, active));
  assert.equal(active[0], 1);
  ok(cu.cuDevicePrimaryCtxRelease_v2(0));
  ok(cu.cuDevicePrimaryCtxGetState(0, out, active));
  assert.equal(active[0], 0);
  assert.equal(cu.cuCtxSetCurrent(context), Code.CONTEXT_IS_DESTROYED);
});

softwareGpuTest(
  "limits of a context are kept, unknown ones refused",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      ok(cu.cuCtxSetLimit(0, 1000n));
      assert.equal(driver.handle(cu.cuCtxGetLimit(out, 0)), 1008n, "rounded up to 16");
      assert.equal(cu.cuCtxSetLimit(0, 1n << 40n), Code.INVALID_VALUE);
      assert.equal(cu.cuCtxGetLimit(out, 5), Code.UNSUPPORTED_LIMIT);
    }),
);

softwareGpuTest("memory: sizes, budget and addresses are checked", (gpu) => {
  gpu.control.configure({ memoryBytes: 1 << 20 });
  withContext(gpu, (driver) => {
    const { cu, out } = driver;
    assert.equal(cu.cuMemAlloc_v2(out, 0n), Code.INVALID_VALUE);
    assert.equal(cu.cuMemAlloc_v2(out, (1n << 20n) + 1n), Code.OUT_OF_MEMORY);
    assert.equal(cu.cuMemAlloc_v2(out, 1n << 63n), Code.OUT_OF_MEMORY);
    const memory = driver.alloc(1000);
    const total = new Uint8Array(8);
    assert.equal(driver.handle(cu.cuMemGetInfo_v2(out, total)), (1n << 20n) - 1024n);
    assert.equal(memory % 512n, 0n);
    assert.equal(cu.cuMemFree_v2(memory + 4n), Code.INVALID_VALUE);
    const host = new Uint8Array(1001);
    assert.equal(cu.cuMemcpyHtoD_v2(memory, host, 1001n), Code.INVALID_VALUE);
    assert.equal(cu.cuMemcpyDtoH_v2(host, memory + 1n, 1000n), Code.INVALID_VALUE);
    assert.equal(cu.cuMemcpyDtoD_v2(memory, memory - 1n, 2n), Code.INVALID_VALUE);
    assert.equal(cu.cuMemcpyHtoD_v2(memory, null, 4n), Code.INVALID_VALUE);
    ok(cu.cuMemcpyHtoD_v2(memory, host, 0n));
    assert.equal(driver.handle(cu.cuMemGetAddressRange_v2(out, total, memory + 999n)), memory);
    ok(cu.cuMemFree_v2(memory));
    assert.equal(cu.cuMemFree_v2(memory), Code.INVALID_VALUE, "a second time");
    assert.equal(cu.cuMemcpyDtoH_v2(host, memory, 4n), Code.INVALID_VALUE, "after it was freed");
    assert.equal(cu.cuMemGetAddressRange_v2(out, total, memory), Code.NOT_FOUND);
    ok(cu.cuMemFree_v2(0n));
  });
});

softwareGpuTest(
  "an allocation beyond the largest free block fails although memory is left",
  (gpu) => {
    gpu.control.configure({ memoryBytes: 1 << 20, largestFreeBlock: 4096 });
    withContext(gpu, (driver) => {
      assert.equal(driver.cu.cuMemAlloc_v2(driver.out, 8192n), Code.OUT_OF_MEMORY);
      const pieces = [driver.alloc(4096), driver.alloc(4096)];
      for (const piece of pieces) ok(driver.cu.cuMemFree_v2(piece));
    });
  },
);

softwareGpuTest(
  "fills want their element's alignment and fill all of it",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const memory = driver.alloc(8);
      assert.equal(cu.cuMemsetD32_v2(memory + 2n, 1, 1n), Code.INVALID_VALUE);
      assert.equal(cu.cuMemsetD16_v2(memory + 1n, 1, 1n), Code.INVALID_VALUE);
      assert.equal(cu.cuMemsetD32_v2(memory, 1, 3n), Code.INVALID_VALUE);
      ok(cu.cuMemsetD32_v2(memory, 0x04030201, 2n));
      ok(cu.cuMemsetD16_v2(memory + 2n, 0x0b0a, 1n));
      ok(cu.cuMemsetD8_v2(memory + 7n, 0xff, 1n));
      assert.deepEqual([...driver.read(memory, 8)], [1, 2, 0x0a, 0x0b, 1, 2, 3, 0xff]);
      ok(cu.cuMemFree_v2(memory));
    }),
);

softwareGpuTest(
  "cuMemcpy2D copies rows out of a pitched allocation",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      const pitch = new Uint8Array(8);
      const memory = driver.handle(cu.cuMemAllocPitch_v2(out, pitch, 3n, 2n, 4));
      const step = new DataView(pitch.buffer).getBigUint64(0, true);
      ok(cu.cuMemcpyHtoD_v2(memory, Uint8Array.of(1, 2, 3), 3n));
      ok(cu.cuMemcpyHtoD_v2(memory + step, Uint8Array.of(4, 5, 6), 3n));
      const host = new Uint8Array(6);
      const copy = words(
        0n,
        0n,
        2n,
        0n,
        memory,
        0n,
        step,
        0n,
        0n,
        1n,
        addressOf(host),
        0n,
        0n,
        3n,
        3n,
      );
      const described = words(...new BigUint64Array(copy.buffer), 2n);
      ok(cu.cuMemcpy2D_v2(described));
      assert.deepEqual([...host], [1, 2, 3, 4, 5, 6]);
      ok(cu.cuMemFree_v2(memory));
    }),
);

softwareGpuTest(
  "host memory is registered once and known as host memory",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      const host = new Uint8Array(4096);
      ok(cu.cuMemHostRegister_v2(host, 4096n, 0));
      const again = cu.cuMemHostRegister_v2(host, 16n, 0);
      assert.equal(again, Code.HOST_MEMORY_ALREADY_REGISTERED);
      assert.equal(driver.int(cu.cuPointerGetAttribute(out, 2, addressOf(host))), 1);
      ok(cu.cuMemHostUnregister(host));
      assert.equal(cu.cuMemHostUnregister(host), Code.HOST_MEMORY_NOT_REGISTERED);
      const pinned = driver.handle(cu.cuMemHostAlloc(out, 64n, 0));
      assert.equal(cu.cuMemFree_v2(pinned), Code.INVALID_VALUE, "it is no device memory");
      const memory = driver.alloc(64);
      assert.equal(cu.cuMemFreeHost(memory), Code.INVALID_VALUE, "it is no host memory");
      assert.equal(driver.int(cu.cuPointerGetAttribute(out, 2, memory + 3n)), 2);
      ok(cu.cuMemFreeHost(pinned));
      ok(cu.cuMemFree_v2(memory));
      assert.equal(cu.cuPointerGetAttribute(out, 2, memory), Code.INVALID_VALUE);
    }),
);

softwareGpuTest(
  "a handle that is stale, made up or of another kind is refused",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const stream = driver.stream(), event = driver.event();
      assert.equal(cu.cuStreamSynchronize(event), Code.INVALID_HANDLE);
      assert.equal(cu.cuEventQuery(stream), Code.INVALID_HANDLE);
      assert.equal(cu.cuEventQuery(0xdeadbeefn), Code.INVALID_HANDLE);
      assert.equal(cu.cuModuleUnload(stream), Code.INVALID_HANDLE);
      assert.equal(cu.cuGraphDestroy(event), Code.INVALID_HANDLE);
      ok(cu.cuStreamDestroy_v2(stream));
      ok(cu.cuEventDestroy_v2(event));
      assert.equal(cu.cuStreamDestroy_v2(stream), Code.INVALID_HANDLE);
      assert.equal(cu.cuEventDestroy_v2(event), Code.INVALID_HANDLE);
      assert.equal(cu.cuStreamDestroy_v2(0n), Code.INVALID_HANDLE, "the default stream stays");
    }),
);

/** An image, what loading it yields, and what the log says. */
const BAD_IMAGES: readonly [string, Uint8Array<ArrayBuffer>, number, RegExp][] = [
  ["no PTX", cString("hello"), Code.INVALID_PTX, /^error: /],
  ["an unknown instruction", cString(STORE.replace("mad.lo", "mud.lo")), Code.INVALID_PTX, /mud/],
  ["a newer target", cString(STORE.replace("sm_80", "sm_90")), Code.INVALID_PTX, /sm_90/],
  ["another's target", cString(STORE.replace("sm_80", "sm_75a")), Code.INVALID_PTX, /sm_75a/],
  ["newer PTX", cString(STORE.replace("8.0", "9.9")), Code.UNSUPPORTED_PTX_VERSION, /9\.9/],
  ["machine code", cString("\x7fELF and more"), Code.NO_BINARY_FOR_GPU, /machine code/],
  ["neither", Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), Code.INVALID_IMAGE, /neither/],
];

for (const [what, image, code, message] of BAD_IMAGES) {
  softwareGpuTest(
    `cuModuleLoadDataEx refuses ${what} and says why`,
    (gpu) =>
      withContext(gpu, (driver) => {
        const log = new Uint8Array(512);
        const options = new Uint8Array(new Uint32Array([5, 6]).buffer);
        const values = words(addressOf(log), 512n);
        assert.equal(driver.cu.cuModuleLoadDataEx(driver.out, image, 2, options, values), code);
        const written = Number(new BigUint64Array(values.buffer)[1]);
        assert.match(new TextDecoder().decode(log.subarray(0, written)), message);
        assert.equal(gpu.control.counter("liveAllocations"), 0);
      }),
  );
}

softwareGpuTest("a log that is too short is cut, and ends", (gpu) =>
  withContext(gpu, (driver) => {
    const log = new Uint8Array(16).fill(0x55);
    const options = new Uint8Array(new Uint32Array([5, 6]).buffer);
    const values = words(addressOf(log), 8n);
    const image = cString(STORE.replace("mad.lo", "mud.lo"));
    assert.equal(
      driver.cu.cuModuleLoadDataEx(driver.out, image, 2, options, values),
      Code.INVALID_PTX,
    );
    assert.equal(new TextDecoder().decode(log.subarray(0, 7)), "error: ");
    assert.deepEqual([...log.subarray(7, 10)], [0, 0x55, 0x55]);
  }));

/** A fat binary with one image. */
function fatBinary(kind: number, text: string, architecture: number, flags = 0n) {
  const payload = cString(text);
  const file = new Uint8Array(16 + 80 + payload.length);
  const view = new DataView(file.buffer);
  view.setUint32(0, 0xba55ed50, true);
  view.setUint16(4, 1, true);
  view.setUint16(6, 16, true);
  view.setBigUint64(8, BigInt(80 + payload.length), true);
  view.setUint16(16, kind, true);
  view.setUint32(20, 80, true);
  view.setBigUint64(24, BigInt(payload.length), true);
  view.setUint32(44, architecture, true);
  view.setBigUint64(56, flags, true);
  file.set(payload, 96);
  return file;
}

softwareGpuTest(
  "a fat binary's PTX is loaded, unless it is for others or compressed",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      const module = driver.handle(cu.cuModuleLoadData(out, fatBinary(1, STORE, 80)));
      driver.function(module, "store");
      ok(cu.cuModuleUnload(module));
      for (
        const refused of [
          fatBinary(2, STORE, 80),
          fatBinary(1, STORE, 90),
          fatBinary(1, STORE, 80, 0x2000n),
        ]
      ) {
        assert.equal(cu.cuModuleLoadData(out, refused), Code.NO_BINARY_FOR_GPU);
      }
    }),
);

softwareGpuTest(
  "functions and variables of a module go with it",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      const module = driver.load(
        STORE.replace(".visible", ".visible .global .align 4 .b32 words[2] = {7, 9};\n.visible"),
      );
      const store = driver.function(module, "store");
      assert.equal(cu.cuModuleGetFunction(out, module, cString("load")), Code.NOT_FOUND);
      const bytes = new Uint8Array(8);
      const variable = driver.handle(
        cu.cuModuleGetGlobal_v2(out, bytes, module, cString("words")),
      );
      assert.equal(bytes[0], 8);
      assert.deepEqual(driver.readWords(variable, 2), [7, 9]);
      assert.equal(cu.cuMemFree_v2(variable), Code.INVALID_VALUE, "it is the module's");
      ok(cu.cuModuleUnload(module));
      assert.equal(cu.cuModuleUnload(module), Code.INVALID_HANDLE);
      assert.equal(launch(driver, store, 0n, new Arguments(0n, 0)), Code.INVALID_HANDLE);
      assert.equal(cu.cuMemcpyDtoH_v2(bytes, variable, 8n), Code.INVALID_VALUE);
    }),
);

/** Sizes of a launch, and what becomes of it. */
const LAUNCHES: readonly [Parameters<typeof launch>[4], number][] = [
  [{ block: [1024] }, 0],
  [{ block: [0] }, Code.INVALID_VALUE],
  [{ grid: [0] }, Code.INVALID_VALUE],
  [{ block: [1025] }, Code.INVALID_VALUE],
  [{ block: [32, 33] }, Code.INVALID_VALUE],
  [{ block: [1, 1, 65] }, Code.INVALID_VALUE],
  [{ grid: [1, 65536] }, Code.INVALID_VALUE],
  [{ sharedBytes: 48 << 10 }, 0],
  [{ sharedBytes: (48 << 10) + 1 }, Code.INVALID_VALUE],
];

for (const [size, code] of LAUNCHES) {
  softwareGpuTest(
    `a launch of ${JSON.stringify(size)} yields ${code}`,
    (gpu) =>
      withContext(gpu, (driver) => {
        const module = driver.load(STORE);
        const memory = driver.alloc(4096);
        const store = driver.function(module, "store");
        assert.equal(launch(driver, store, 0n, new Arguments(memory, 1), size), code);
        ok(driver.cu.cuCtxSynchronize());
        assert.equal(gpu.control.counter("launches"), code === 0 ? 1 : 0);
        ok(driver.cu.cuMemFree_v2(memory));
        ok(driver.cu.cuModuleUnload(module));
      }),
  );
}

softwareGpuTest(
  "more shared memory has to be asked for, up to what the device has",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      const module = driver.load(STORE);
      const store = driver.function(module, "store"), memory = driver.alloc(4);
      assert.equal(cu.cuFuncSetAttribute(store, 8, (163 << 10) + 1), Code.INVALID_VALUE);
      ok(cu.cuFuncSetAttribute(store, 8, 163 << 10));
      assert.equal(driver.int(cu.cuFuncGetAttribute(out, 8, store)), 163 << 10);
      ok(launch(driver, store, 0n, new Arguments(memory, 1), { sharedBytes: 163 << 10 }));
      const blocks = cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(out, store, 256, 0n);
      assert.equal(driver.int(blocks), 8);
      const few = cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(out, store, 256, 100n << 10n);
      assert.equal(driver.int(few), 1);
      ok(cu.cuMemFree_v2(memory));
      ok(cu.cuModuleUnload(module));
    }),
);

softwareGpuTest(
  "a block larger than the kernel was compiled for lacks resources",
  (gpu) =>
    withContext(gpu, (driver) => {
      const module = driver.load(STORE.replace("value)\n", "value)\n.maxntid 64, 1, 1\n"));
      const store = driver.function(module, "store"), memory = driver.alloc(256);
      const args = new Arguments(memory, 1);
      ok(launch(driver, store, 0n, args, { block: [64] }));
      const more = launch(driver, store, 0n, args, { block: [65] });
      assert.equal(more, Code.LAUNCH_OUT_OF_RESOURCES);
      ok(driver.cu.cuMemFree_v2(memory));
      ok(driver.cu.cuModuleUnload(module));
    }),
);

softwareGpuTest(
  "a cooperative launch has to be resident at once",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const module = driver.load(STORE);
      const store = driver.function(module, "store"), memory = driver.alloc(1 << 20);
      const { pointers } = new Arguments(memory, 1);
      const cooperative = (blocks: number) =>
        cu.cuLaunchCooperativeKernel(store, blocks, 1, 1, 1024, 1, 1, 0, 0n, pointers);
      ok(cooperative(16));
      assert.equal(cooperative(17), Code.COOPERATIVE_LAUNCH_TOO_LARGE);
      ok(cu.cuMemFree_v2(memory));
      ok(cu.cuModuleUnload(module));
    }),
);

softwareGpuTest(
  "arguments come as pointers or as a buffer of the right size",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu } = driver;
      const module = driver.load(STORE);
      const store = driver.function(module, "store"), memory = driver.alloc(4);
      const buffer = words(memory, 5n), size = words(12n);
      const extra = words(1n, addressOf(buffer), 2n, addressOf(size), 0n);
      const go = (pointers: Uint8Array<ArrayBuffer> | null, more: Uint8Array<ArrayBuffer> | null) =>
        cu.cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, 0n, pointers, more);
      ok(go(null, extra));
      assert.deepEqual(driver.readWords(memory, 1), [5]);
      size.set(words(8n));
      assert.equal(go(null, extra), Code.INVALID_VALUE);
      size.set(words(24n));
      assert.equal(go(null, extra), Code.INVALID_VALUE);
      assert.equal(go(null, null), Code.INVALID_VALUE);
      assert.equal(go(new Arguments(memory, 5).pointers, extra), Code.INVALID_VALUE);
      ok(cu.cuMemFree_v2(memory));
      ok(cu.cuModuleUnload(module));
    }),
);

softwareGpuTest(
  "cuLaunchKernelEx launches kernels of a library",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      const library = driver.handle(
        cu.cuLibraryLoadData(out, cString(STORE), null, null, 0, null, null, 0),
      );
      const kernel = driver.handle(cu.cuLibraryGetKernel(out, library, cString("store")));
      const memory = driver.alloc(8);
      const config = new Uint8Array(56);
      config.set(new Uint8Array(new Uint32Array([1, 1, 1, 2, 1, 1]).buffer));
      ok(cu.cuLaunchKernelEx(config, kernel, new Arguments(memory, 3).pointers, null));
      assert.deepEqual(driver.readWords(memory, 2), [3, 3]);
      ok(cu.cuMemFree_v2(memory));
      ok(cu.cuLibraryUnload(library));
      assert.equal(cu.cuLibraryUnload(library), Code.INVALID_HANDLE);
    }),
);

const CALLER = `.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 result) twice(.param .b32 value);
.visible .entry call(.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %a;
  ld.param.u64 %a, [out];
  mov.u32 %r0, 21;
  {
    .param .b32 argument;
    .param .b32 answer;
    st.param.b32 [argument], %r0;
    call (answer), twice, (argument);
    ld.param.b32 %r1, [answer];
  }
  st.global.u32 [%a], %r1;
  ret;
}
`;
const CALLEE = `.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b32 result) twice(.param .b32 value)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r0, [value];
  add.u32 %r1, %r0, %r0;
  st.param.b32 [result], %r1;
  ret;
}
`;

softwareGpuTest(
  "cuLink* joins texts, whatever the caller calls them",
  (gpu) =>
    withContext(gpu, (driver) => {
      const { cu, out } = driver;
      const link = driver.handle(cu.cuLinkCreate_v2(0, null, null, out));
      const add = (type: number, text: string) => {
        const image = cString(text);
        const bytes = BigInt(image.length);
        return cu.cuLinkAddData_v2(link, type, image, bytes, cString("text"), 0, null, null);
      };
      ok(add(1, CALLER));
      assert.equal(cu.cuLinkComplete(link, out, null), Code.INVALID_PTX, "a function is missing");
      ok(add(0, CALLEE));
      const image = driver.handle(cu.cuLinkComplete(link, out, null));
      const bytes = new Uint8Array(
        Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(image)!, 4096),
      );
      const module = driver.handle(cu.cuModuleLoadData(out, bytes));
      ok(cu.cuLinkDestroy(link));
      const memory = driver.alloc(4);
      ok(launch(driver, driver.function(module, "call"), 0n, new Arguments(memory)));
      assert.deepEqual(driver.readWords(memory, 1), [42]);
      ok(cu.cuMemFree_v2(memory));
      ok(cu.cuModuleUnload(module));
    }),
);

/** A name, a version of CUDA, and the function that fits it. */
const LOOKUPS: readonly [string, number, string | null, number][] = [
  ["cuInit", 2000, "cuInit", 0],
  ["cuMemAlloc", 12000, "cuMemAlloc_v2", 0],
  ["cuCtxCreate", 12000, "cuCtxCreate_v3", 0],
  ["cuCtxCreate", 13000, "cuCtxCreate_v4", 0],
  ["cuGraphInstantiate", 11040, "cuGraphInstantiate_v2", 0],
  ["cuGraphInstantiate", 13000, "cuGraphInstantiateWithFlags", 0],
  ["cuStreamGetCaptureInfo", 10000, null, 2],
  ["cuNothing", 13000, null, 1],
  ["softwareGpuReset", 13000, null, 1],
];

softwareGpuTest("cuGetProcAddress finds the form that belongs to a version", (gpu) => {
  using driver = new RawDriver(gpu.path);
  const { cu, out } = driver;
  const status = new Uint8Array(4);
  const addresses = new Map<string, bigint>();
  for (const [name, version, form, found] of LOOKUPS) {
    const result = cu.cuGetProcAddress_v2(cString(name), out, version, 0n, status);
    assert.equal(status[0], found, `${name} of ${version}`);
    if (form === null) {
      assert.equal(result, Code.NOT_FOUND);
      continue;
    }
    const address = driver.handle(result);
    assert.notEqual(address, 0n);
    assert.equal(addresses.get(form) ?? address, address);
    addresses.set(form, address);
  }
  assert.equal(
    new Set(addresses.values()).size,
    addresses.size,
    "forms are functions of their own",
  );
});

softwareGpuTest("cuGetExportTable has nothing to give", (gpu) => {
  using driver = new RawDriver(gpu.path);
  driver.out.fill(0xff);
  assert.equal(driver.cu.cuGetExportTable(driver.out, new Uint8Array(16)), Code.NOT_FOUND);
  assert.deepEqual([...driver.out], Array(8).fill(0));
});

softwareGpuTest("cuGetErrorName knows what a call may return, and nothing else", (gpu) => {
  using driver = new RawDriver(gpu.path);
  const { cu, out } = driver;
  for (const code of Object.values(Code)) {
    const name = driver.handle(cu.cuGetErrorName(code, out));
    const text = Deno.UnsafePointerView.getCString(Deno.UnsafePointer.create(name)!);
    assert.match(text, /^CUDA_ERROR_/);
  }
  assert.equal(cu.cuGetErrorName(123456, out), Code.INVALID_VALUE);
});
