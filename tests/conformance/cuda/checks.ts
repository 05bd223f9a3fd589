/**
 * All that can be checked on any CUDA driver: the conformance suite and the kernel suite.
 *
 * @module
 */
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { CudaGpu } from "../../kernels/cuda_gpu.ts";
import type { KernelCase } from "../../kernels/kernel_case.ts";
import { shippedModules } from "../../kernels/shipped.ts";
import { SUITE } from "../../kernels/suite.ts";
import { runCase } from "./case.ts";
import { CASES } from "./suite.ts";

/** Something that every driver does, given a device that can. */
export interface DriverCheck {
  /** What it does. */
  readonly name: string;
  /** Compute capability that its PTX is for, e.g. 90 for 9.0; absent when it is not about kernels. */
  readonly target?: number;
  /**
   * Shows that it does, and leaves nothing behind.
   *
   * @returns Why this device cannot do it, if it cannot.
   */
  run(context: Context): Promise<string | void>;
}

/** Every check. */
export function driverChecks(): DriverCheck[] {
  return [
    ...CASES.map((each): DriverCheck => ({
      name: each.name,
      run: (context) => runCase(each, context),
    })),
    ...SUITE.map((each): DriverCheck => ({
      name: each.name,
      target: each.target,
      run: async (context) => runKernelCase(each, await Deno.readTextFile(each.ptx), context),
    })),
    ...shippedModules().flatMap(({ cases, ptx }) =>
      cases.map((each): DriverCheck => ({
        name: `shipped: ${each.name}`,
        target: architecture(ptx).target,
        run: (context) => runKernelCase(each, ptx, context),
      }))
    ),
  ];
}

/** Runs a check with a driver and a context of its own: neither closes while anything is left. */
export async function runCheck(check: DriverCheck, library?: string): Promise<string | void> {
  using driver = openDriver(library);
  using context = new Context(new CudaDevice(driver, 0));
  return await check.run(context);
}

async function runKernelCase(
  each: KernelCase,
  ptx: string,
  context: Context,
): Promise<string | void> {
  const { major, minor } = context.device.computeCapability;
  const { target, only } = architecture(ptx);
  const capability = major * 10 + minor;
  if (only ? capability !== target : capability < target) {
    return `it needs sm_${target}${only}, the device is ${major}.${minor}`;
  }
  await each.run(new CudaGpu(context), ptx);
}

/** What PTX was compiled for; some of it, marked by an `a`, runs on no later architecture. */
function architecture(ptx: string): { target: number; only: string } {
  const [, target, only] = ptx.match(/^\.target sm_(\d+)(a?)/m)!;
  return { target: Number(target), only };
}
