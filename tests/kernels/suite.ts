/**
 * The kernel suite: kernels as people write them, for three targets, with what must come out.
 *
 * @module
 */
import type { KernelCase } from "./kernel_case.ts";
import { SUITE_TARGETS } from "./sources.ts";
import { atomicCases } from "./suite/atomics.ts";
import { attentionCases } from "./suite/attention.ts";
import { convolutionCases } from "./suite/convolution.ts";
import { gemmCases } from "./suite/gemm.ts";
import { normCases } from "./suite/norms.ts";

/** Every case, for one target after another. */
export const SUITE: readonly (KernelCase & { readonly ptx: URL })[] = SUITE_TARGETS.flatMap(
  (target) =>
    [...gemmCases, ...normCases, ...convolutionCases, ...attentionCases, ...atomicCases].map(
      (one) => ({
        ...one,
        name: `${one.name} (sm_${target})`,
        ptx: new URL(`ptx/${one.module}.sm_${target}.ptx`, import.meta.url),
      }),
    ),
);
