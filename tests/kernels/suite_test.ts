import { cudaTest } from "../fixtures/cuda.ts";
import { CudaGpu } from "./cuda_gpu.ts";
import { runAll } from "./kernel_case.ts";
import { MODES } from "./modes.ts";
import { SUITE } from "./suite.ts";

const modules = Map.groupBy(SUITE, ({ ptx }) => ptx.href);

for (const [mode, options] of Object.entries(MODES)) {
  for (const [ptx, cases] of modules) {
    const { module, target } = cases[0];
    cudaTest(
      `kernel suite: ${module} for sm_${target}, ${mode}`,
      async (context) => {
        const text = await Deno.readTextFile(new URL(ptx));
        await runAll(cases, new CudaGpu(context), text);
      },
      { ...options, computeCapability: target },
    );
  }
}
