import assert from "node:assert/strict";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { output } from "../../kernels/gpu.ts";
import { elementAddress, ptxKernel, run } from "./ptx_kernel.ts";
import { randomProgram } from "./random_program.ts";

const THREADS = 32;
const PROGRAMS = 40;

softwareGpuTest("registers keep their values wherever the threads of a warp go", async (gpu) => {
  for (let seed = 1; seed <= PROGRAMS; seed++) {
    const program = randomProgram(seed);
    const store = `${elementAddress("%w0", "%a0", 4)}\n  st.global.u32 [%w0], %r0;`;
    const result = output(new Uint32Array(THREADS));
    // Registers that nobody wrote are no zeros then.
    gpu.control.configure({ adversarialSeed: seed });
    await run(gpu, ptxKernel(1, `{${program.body}\n}\n  ${store}`), {
      arguments: [result],
      threads: THREADS,
    });
    const expected = Array.from({ length: THREADS }, (_, thread) => program.resultOf(thread));
    assert.deepEqual(Array.from(result.data), expected, `Program of seed ${seed}`);
  }
});
