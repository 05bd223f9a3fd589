import assert from "node:assert/strict";
import { CudaDevice, deviceCount, parseDeviceName } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { fails } from "../../conformance/cuda/case.ts";

Deno.test("parseDeviceName() reads the number of a device", () => {
  assert.equal(parseDeviceName("cuda"), 0);
  assert.equal(parseDeviceName("cuda:0"), 0);
  assert.equal(parseDeviceName("cuda:12"), 12);
  for (const other of ["cpu", "cuda:", "cuda:-1", "cuda:01", "cuda:1.5", "cuda:1000", "CUDA:1"]) {
    assert.equal(parseDeviceName(other), undefined, other);
  }
});

softwareGpuTest("CudaDevice says what the device is", (gpu) => {
  gpu.control.configure({ memoryBytes: 64 << 20, computeCapability: 90, deviceCount: 2 });
  using driver = openDriver(gpu.path);
  assert.equal(deviceCount(driver), 2);
  const [first, second] = [new CudaDevice(driver, 0), new CudaDevice(driver, 1)];
  assert.match(first.name, /Software GPU/);
  assert.equal(first.memoryBytes, 64 << 20);
  assert.deepEqual(first.computeCapability, { major: 9, minor: 0 });
  assert.equal(first.attribute("warpSize"), 32);
  assert.notEqual(first.uuid, second.uuid);
  assert.notEqual(first.pciBusId, second.pciBusId);
});

softwareGpuTest("CudaDevice refuses a number that no device has", (gpu) => {
  using driver = openDriver(gpu.path);
  for (const ordinal of [1, -1, 0.5, NaN]) {
    fails(101, "cuDeviceGet", () => new CudaDevice(driver, ordinal));
  }
});
