/**
 * How the software GPU runs the kernel suite: in order, and as adversely as PTX allows.
 *
 * @module
 */
import type { SoftwareGpuOptions } from "../../ffi/software_gpu/control.ts";

/** Beyond what any case takes; a kernel that does not end is stopped here. */
const INSTRUCTIONS = 20_000_000;

const CHECKS = { checkUninitialised: true, checkRaces: true, instructionBudget: INSTRUCTIONS };

/** By name; all with the checks on, which a real GPU does not have. */
export const MODES: Readonly<Record<string, SoftwareGpuOptions>> = {
  functional: CHECKS,
  "adversarial, seed 1": { ...CHECKS, adversarialSeed: 1 },
  "adversarial, seed 2": { ...CHECKS, adversarialSeed: 2 },
  "adversarial, seed 3": { ...CHECKS, adversarialSeed: 3 },
};
