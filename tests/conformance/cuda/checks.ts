/**
 * All that can be checked on any CUDA driver: the conformance suite and the kernel suite.
 *
 * @module
 */
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { CudaGpu } from "../../kernels/cuda_gpu.ts";
import { SUITE, type SuiteCase } from "../../kernels/suite.ts";
import { runCase } from "./case.ts";
import { CASES } from "./suite.ts";

/** Something that every driver does, given a device that can. */
export interface DriverCheck {
  /** What it does. */
  readonly name: string;
  /** Compute capability that it needs, e.g. 90 for 9.0; any when absent. */
  readonly capability?: number;
  /**
   * Shows that it does, and leaves nothing behind.
   *
   * @returns Why this device cannot do it, if it cannot.
   */
  run(context: Context): Promise<string | void>;
}

/** Every check. */
export const DRIVER_CHECKS: readonly DriverCheck[] = [
  ...CASES.map((each): DriverCheck => ({
    name: each.name,
    run: (context) => runCase(each, context),
  })),
  ...SUITE.map((each): DriverCheck => ({
    name: each.name,
    capability: each.target,
    run: (context) => runSuiteCase(each, context),
  })),
];

/** Runs a check with a driver and a context of its own: neither closes while anything is left. */
export async function runCheck(check: DriverCheck, library?: string): Promise<string | void> {
  using driver = openDriver(library);
  using context = new Context(new CudaDevice(driver, 0));
  return await check.run(context);
}

async function runSuiteCase(each: SuiteCase, context: Context): Promise<string | void> {
  const ptx = await Deno.readTextFile(each.ptx);
  const { major, minor } = context.device.computeCapability;
  const [, target, specific] = ptx.match(/^\.target sm_(\d+)(a?)/m)!;
  const capability = major * 10 + minor;
  // What is specific to an architecture runs on no later one.
  if (specific ? capability !== Number(target) : capability < Number(target)) {
    return `it needs sm_${target}${specific}, the device is ${major}.${minor}`;
  }
  await each.run(new CudaGpu(context), ptx);
}
