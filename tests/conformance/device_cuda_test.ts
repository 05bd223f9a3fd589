import { openCudaDevice } from "../../models/cuda/mod.ts";
import { softwareGpu, softwareGpuTest } from "../fixtures/software_gpu.ts";
import { deviceCases, type DeviceSubject } from "./device.ts";

const subject: DeviceSubject = {
  name: "cuda",
  open: () => openCudaDevice({ driverPath: softwareGpu?.path, memoryBytes: 64 << 20 }),
  computes: true,
};

for (const [what, check] of deviceCases(subject)) softwareGpuTest(`cuda ${what}`, check);
