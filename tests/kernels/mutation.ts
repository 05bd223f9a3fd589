/**
 * Spoils every shipped kernel in every way that `mutants.ts` knows, one at a time, and says which of
 * these the kernels' cases let pass:
 *
 * ```sh
 * deno task mutation
 * ```
 *
 * Survivors that behave as the kernel does are listed, with the reason, in equivalent_mutants.json.
 *
 * @module
 */
import { Context } from "../../ffi/cuda/context.ts";
import { CudaDevice } from "../../ffi/cuda/device.ts";
import { openDriver } from "../../ffi/cuda/driver.ts";
import { defineCommand, EXIT, type Run, runAsProcess } from "../../server/commands/command.ts";
import { type SoftwareGpu, softwareGpu } from "../fixtures/software_gpu.ts";
import { CudaGpu } from "./cuda_gpu.ts";
import equivalents from "./equivalent_mutants.json" with { type: "json" };
import { runAll } from "./kernel_case.ts";
import { MODES } from "./modes.ts";
import { type Mutant, mutantsOf } from "./mutants.ts";
import { type ShippedModule, shippedModules } from "./shipped.ts";

/** A mutant with the module that it was made from. */
export interface ShippedMutant extends Mutant {
  /** Whose cases it has to fail. */
  readonly module: ShippedModule;
}

/** Names of the mutants that behave as the kernel does, and why. */
export const EQUIVALENTS: ReadonlyMap<string, string> = new Map(Object.entries(equivalents));

/** All mutants of all shipped kernels. */
export function shippedMutants(): ShippedMutant[] {
  return shippedModules().flatMap((module) =>
    mutantsOf(module.ptx).map((mutant) => ({ ...mutant, module }))
  );
}

/**
 * What the cases of its module say of a mutant: in which mode one fails, and how. Undefined when all
 * pass in all modes.
 */
export async function noticed(
  gpu: SoftwareGpu,
  { module, name, ptx }: ShippedMutant,
): Promise<string | undefined> {
  const kernel = name.slice(0, name.indexOf(":"));
  const cases = module.cases.filter((one) => one.name.startsWith(kernel));
  for (const [mode, options] of Object.entries(MODES)) {
    // A fault stays until then: the next mode, and the next mutant, get a device of their own.
    gpu.control.reset();
    gpu.control.configure(options);
    try {
      using driver = openDriver(gpu.path);
      using context = new Context(new CudaDevice(driver, 0));
      await runAll(cases, new CudaGpu(context), ptx);
    } catch (error) {
      return `${mode}: ${error instanceof Error ? error.message : error}`;
    } finally {
      gpu.control.reset();
    }
  }
  return undefined;
}

/** Tries every mutant. */
export const mutation: Run = defineCommand(
  "mutation",
  (command) =>
    command.description("Spoil the shipped kernels, one change at a time; their cases must notice.")
      .option("--verbose", "Show how each one is noticed."),
  async (command, io) => {
    if (softwareGpu === undefined) return EXIT.failed;
    const { verbose } = command.opts<{ verbose?: true }>();
    const mutants = shippedMutants();
    let equivalent = 0, wrong = 0;
    for (const mutant of mutants) {
      const failure = await noticed(softwareGpu, mutant);
      const reason = EQUIVALENTS.get(mutant.name);
      if (failure !== undefined && verbose) io.out(`${mutant.name}\n  ${failure}\n`);
      if (failure === undefined && reason !== undefined) {
        equivalent++;
        io.out(`Equivalent: ${mutant.name}\n  ${reason}\n`);
      } else if (failure === undefined) {
        wrong++;
        io.out(`Survives: ${mutant.name}\n`);
      } else if (reason !== undefined) {
        wrong++;
        io.out(`Listed as equivalent, but noticed: ${mutant.name}\n  ${failure}\n`);
      }
    }
    const names = new Set(mutants.map(({ name }) => name));
    for (const name of EQUIVALENTS.keys()) {
      if (names.has(name)) continue;
      wrong++;
      io.out(`Listed as equivalent, but there is no such mutant: ${name}\n`);
    }
    io.out(`${mutants.length} mutants, ${equivalent} equivalent, ${wrong} to look at\n`);
    return wrong === 0 ? EXIT.ok : EXIT.failed;
  },
);

if (import.meta.main) await runAsProcess(mutation);
