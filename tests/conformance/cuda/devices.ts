/**
 * Cases of the conformance suite: errors, versions, devices, contexts.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice, DEVICE_ATTRIBUTES, deviceCount } from "../../../ffi/cuda/device.ts";
import { CudaError } from "../../../ffi/cuda/errors.ts";
import { MINIMUM_VERSION } from "../../../ffi/cuda/symbols.ts";
import type { ConformanceCase } from "./case.ts";

const INVALID_VALUE = 1;
const INVALID_DEVICE = 101;
const INVALID_CONTEXT = 201;

/** What needs no context, and contexts. */
export const DEVICE_CASES: readonly ConformanceCase[] = [
  {
    name: "cuInit may be called again, without flags",
    run({ driver: { symbols } }) {
      assert.equal(symbols.cuInit(0), 0);
      assert.equal(symbols.cuInit(1), INVALID_VALUE);
    },
  },
  {
    name: "cuGetErrorName and cuGetErrorString know the codes that cuda.h has, and no others",
    run({ driver }) {
      const names: Readonly<Record<number, string>> = {
        1: "CUDA_ERROR_INVALID_VALUE",
        2: "CUDA_ERROR_OUT_OF_MEMORY",
        100: "CUDA_ERROR_NO_DEVICE",
        201: "CUDA_ERROR_INVALID_CONTEXT",
        400: "CUDA_ERROR_INVALID_HANDLE",
        600: "CUDA_ERROR_NOT_READY",
        999: "CUDA_ERROR_UNKNOWN",
      };
      for (const [code, name] of Object.entries(names)) {
        assert.equal(driver.failure("cuInit", Number(code)).name, name);
        assert.notEqual(driver.failure("cuInit", Number(code)).text, "");
      }
      const { symbols, out } = driver;
      assert.equal(symbols.cuGetErrorName(987_654, out.bytes), INVALID_VALUE);
      assert.equal(symbols.cuGetErrorString(987_654, out.bytes), INVALID_VALUE);
    },
  },
  {
    name: "CudaError gives codes that are found without the driver the driver's names",
    run({ driver }) {
      for (const code of [1, 2, 101, 201, 400, 401, 500]) {
        const { name } = new CudaError("cuInit", code, "a failure");
        assert.equal(name, driver.failure("cuInit", code).name);
      }
    },
  },
  {
    name: "cuDriverGetVersion is the one that the driver was opened with",
    run({ driver }) {
      driver.check("cuDriverGetVersion", driver.symbols.cuDriverGetVersion(driver.out.bytes));
      assert.equal(driver.out.i32, driver.version);
      assert.ok(driver.version >= MINIMUM_VERSION);
    },
  },
  {
    name: "cuDeviceGet knows as many devices as cuDeviceGetCount says",
    run({ driver }) {
      const { symbols, out } = driver;
      const count = deviceCount(driver);
      for (let ordinal = 0; ordinal < count; ordinal++) {
        assert.equal(symbols.cuDeviceGet(out.bytes, ordinal), 0);
      }
      assert.equal(symbols.cuDeviceGet(out.bytes, count), INVALID_DEVICE);
      assert.equal(symbols.cuDeviceGet(out.bytes, -1), INVALID_DEVICE);
    },
  },
  {
    name: "a device has a name, memory, a place and an identity",
    run({ device, driver }) {
      assert.match(device.name, /\S/);
      assert.ok(device.memoryBytes > 2 ** 20);
      assert.match(device.pciBusId, /^[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]$/);
      assert.match(device.uuid, /^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      const devices = Array.from({ length: deviceCount(driver) }, (_, ordinal) => ordinal)
        .map((ordinal) => new CudaDevice(driver, ordinal));
      assert.equal(new Set(devices.map(({ uuid }) => uuid)).size, devices.length);
    },
  },
  {
    name: "cuDeviceGetName writes no more than it is allowed to, and ends with a zero",
    run({ driver, device }) {
      const { symbols } = driver;
      const name = new Uint8Array(16).fill(0xaa);
      driver.check("cuDeviceGetName", symbols.cuDeviceGetName(name, 4, device.handle));
      assert.equal(name[3], 0);
      assert.equal(new TextDecoder().decode(name.subarray(0, 3)), device.name.slice(0, 3));
      assert.ok(name.subarray(4).every((byte) => byte === 0xaa));
    },
  },
  {
    name: "cuDeviceGetAttribute answers every attribute that is asked here",
    run({ driver, device }) {
      for (const name of Object.keys(DEVICE_ATTRIBUTES) as (keyof typeof DEVICE_ATTRIBUTES)[]) {
        assert.ok(device.attribute(name) >= 0, name);
      }
      assert.equal(device.attribute("warpSize"), 32);
      assert.equal(device.attribute("unifiedAddressing"), 1);
      assert.equal(device.attribute("virtualMemory"), 1);
      const { major, minor } = device.computeCapability;
      assert.ok(major >= 5 && minor >= 0 && minor <= 9);
      const { symbols, out } = driver;
      assert.equal(symbols.cuDeviceGetAttribute(out.bytes, 9999, device.handle), INVALID_VALUE);
      assert.equal(symbols.cuDeviceGetAttribute(out.bytes, 10, 9999), INVALID_DEVICE);
    },
  },
  {
    name: "cuDevicePrimaryCtxRetain gives the same context every time",
    run(context) {
      using again = new Context(context.device);
      assert.equal(again.live("test"), context.live("test"));
    },
  },
  {
    name: "cuCtxGetCurrent tells what cuCtxSetCurrent has set, and without one calls fail",
    run(context) {
      const { symbols, out } = context.makeCurrent();
      const current = () => {
        assert.equal(symbols.cuCtxGetCurrent(out.bytes), 0);
        return out.u64;
      };
      const handle = context.live("test");
      assert.equal(current(), handle);
      assert.equal(symbols.cuCtxSetCurrent(0n), 0);
      try {
        assert.equal(current(), 0n);
        assert.equal(symbols.cuMemAlloc_v2(out.bytes, 4096n), INVALID_CONTEXT);
        assert.equal(symbols.cuCtxSynchronize(), INVALID_CONTEXT);
      } finally {
        assert.equal(symbols.cuCtxSetCurrent(handle), 0);
      }
    },
  },
  {
    name: "cuCtxGetLimit tells what cuCtxSetLimit has set",
    run(context) {
      const before = context.limit("stackBytes");
      try {
        context.setLimit("stackBytes", 4096);
        assert.ok(context.limit("stackBytes") >= 4096);
        assert.ok(context.limit("printfBytes") >= 0);
        assert.ok(context.limit("heapBytes") >= 0);
      } finally {
        context.setLimit("stackBytes", before);
      }
      assert.equal(context.limit("stackBytes"), before);
    },
  },
  {
    name: "cuCtxGetStreamPriorityRange puts the most urgent lowest",
    run(context) {
      const { least, greatest } = context.streamPriorities();
      assert.equal(least, 0);
      assert.ok(greatest <= 0);
    },
  },
];
