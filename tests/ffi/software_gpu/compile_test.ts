import assert from "node:assert/strict";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { CudaGpu } from "../../kernels/cuda_gpu.ts";
import { output } from "../../kernels/gpu.ts";
import { elementAddress, ptxKernel } from "./ptx_kernel.ts";
import { randomProgram } from "./random_program.ts";

const THREADS = 32;
const PROGRAMS = 300;

softwareGpuTest("registers keep their values wherever the threads of a warp go", async (gpu) => {
  using driver = openDriver(gpu.path);
  using context = new Context(new CudaDevice(driver, 0));
  const device = new CudaGpu(context);
  for (let seed = 1; seed <= PROGRAMS; seed++) {
    const program = randomProgram(seed);
    const store = `${elementAddress("%w0", "%a0", 4)}\n  st.global.u32 [%w0], %r0;`;
    const result = output(new Uint32Array(THREADS));
    // Registers that nobody wrote are no zeros then.
    gpu.control.configure({ adversarialSeed: seed });
    await device.run(ptxKernel(1, `{${program.body}\n}\n  ${store}`), [
      { kernel: "kernel", grid: [1], block: [THREADS], arguments: [result] },
    ]);
    const expected = Array.from({ length: THREADS }, (_, thread) => program.resultOf(thread));
    assert.deepEqual(Array.from(result.data), expected, `Program of seed ${seed}`);
  }
});
