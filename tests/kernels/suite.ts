/**
 * The kernel suite: kernels as people and compilers write them, with what must come out.
 *
 * @module
 */
import type { KernelCase } from "./kernel_case.ts";
import { SUITE_TARGETS } from "./sources.ts";
import { atomicCases } from "./suite/atomics.ts";
import { attentionCases } from "./suite/attention.ts";
import { convolutionCases } from "./suite/convolution.ts";
import { cooperativeCases } from "./suite/cooperative.ts";
import { cubCases, cubDeviceCases } from "./suite/cub.ts";
import { gemmCases } from "./suite/gemm.ts";
import { languageCases } from "./suite/language.ts";
import { matrixCases } from "./suite/matrices.ts";
import { normCases } from "./suite/norms.ts";
import { numbaCases } from "./suite/numba.ts";
import { numericCases } from "./suite/numerics.ts";
import { tritonCases } from "./suite/triton.ts";
import { warpCases } from "./suite/warps.ts";

/** A case with the PTX that it runs. */
export interface SuiteCase extends KernelCase {
  /** Architecture that the PTX is for, e.g. `90` for `sm_90`: older GPUs refuse it. */
  readonly target: number;
  /** Where the PTX is. */
  readonly ptx: URL;
}

/** Every case, for every target that its PTX was made for. */
export const SUITE: readonly SuiteCase[] = [
  ...SUITE_TARGETS.flatMap((target) =>
    [
      ...gemmCases,
      ...normCases,
      ...convolutionCases,
      ...attentionCases,
      ...atomicCases,
      ...cubCases,
      ...cooperativeCases,
      ...languageCases,
      ...warpCases,
      ...numericCases,
      ...matrixCases,
    ].map((one) => forTarget(one, target))
  ),
  ...tritonCases.map((one) => forTarget(one, one.target)),
  ...[...cubDeviceCases, ...numbaCases].map((one) => forTarget(one, 80)),
];

function forTarget(one: KernelCase, target: number): SuiteCase {
  return {
    ...one,
    name: `${one.name} (sm_${target})`,
    target,
    ptx: new URL(`ptx/${one.module}.sm_${target}.ptx`, import.meta.url),
  };
}
