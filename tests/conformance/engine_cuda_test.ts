import { setImmediate } from "node:timers/promises";
import { SystemClock } from "../../models/clock.ts";
import { openCudaDevice } from "../../models/cuda/mod.ts";
import { softwareGpu, softwareGpuTest } from "../fixtures/software_gpu.ts";
import { engineSuite } from "./engine.ts";

engineSuite({
  name: "the cuda device",
  clock: new SystemClock(),
  open: () => openCudaDevice({ driverPath: softwareGpu?.path, memoryBytes: 64 << 20 }),
  elapse: () => setImmediate(),
  plainOnly: true,
  test: softwareGpuTest,
});
