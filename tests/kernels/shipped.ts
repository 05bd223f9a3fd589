/**
 * The cases of the kernels that the cuda device runs.
 *
 * @module
 */
import type { KernelCase } from "./kernel_case.ts";
import { elementwiseCases } from "./shipped/elementwise.ts";
import { gemmCases } from "./shipped/gemm.ts";
import { rowCases } from "./shipped/rows.ts";
import { shippedSources } from "./sources.ts";

/** A module of shipped kernels. */
export interface ShippedModule {
  /** Its name. */
  readonly name: string;
  /** Its text, as it is shipped. */
  readonly ptx: string;
  /** What its kernels have to get right. */
  readonly cases: readonly KernelCase[];
}

/** All modules with their cases. */
export function shippedModules(): ShippedModule[] {
  const cases = [...gemmCases, ...elementwiseCases, ...rowCases];
  return shippedSources().map(({ ptx }) => {
    const name = ptx.slice(ptx.lastIndexOf("/") + 1, -".ptx".length);
    return {
      name,
      ptx: Deno.readTextFileSync(ptx),
      cases: cases.filter(({ module }) => module === name),
    };
  });
}
