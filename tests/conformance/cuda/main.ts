/**
 * `deno task test:cuda`: what a CUDA driver has to do, on the software GPU and on a real one.
 *
 * @module
 */
import { openDriver } from "../../../ffi/cuda/driver.ts";
import { CudaError, CudaUnavailableError } from "../../../ffi/cuda/errors.ts";
import type { SoftwareGpuOptions } from "../../../ffi/software_gpu/control.ts";
import { messageOf } from "../../../models/errors.ts";
import { defineCommand, EXIT, type Run, runAsProcess } from "../../../server/commands/command.ts";
import type { Io } from "../../../server/commands/io.ts";
import { softwareGpu, withFreshDevice } from "../../fixtures/software_gpu.ts";
import { MODES } from "../../kernels/modes.ts";
import { type DriverCheck, driverChecks, runCheck } from "./checks.ts";
import { FAILURE_CASES } from "./failures.ts";

const AFTER_HELP = `
Every check runs on the software GPU, which is built first and needs g++ or clang++, and then on a
real driver: the system's, or the one that --cuda-driver names. After each nothing may be left of
what it made. On the software GPU kernels run in adversarial order as well, and every function of
the driver is told to fail once, and once to meet a fault.

Exit codes: 0 no check failed, though some may have been skipped; 1 some failed; 2 wrong flags.
`;

/** Runs the checks and counts them. */
export const testCuda: Run = defineCommand(
  "test:cuda",
  (command) =>
    command.description("Check the CUDA binding on the software GPU and on a real driver.")
      .option("--cuda-driver <path>", "the driver's library, instead of the system's")
      .option("--only <text>", "checks whose name contains this")
      .option("--verbose", "name the checks that passed, too")
      .addHelpText("after", AFTER_HELP),
  async (command, io) => {
    const options = command.opts<{ cudaDriver?: string; only?: string; verbose?: true }>();
    const tally = new Tally(io, options.only ?? "", options.verbose ?? false);
    const checks = driverChecks();
    await onSoftwareGpu(tally, checks);
    await onDriver(tally, checks, options.cudaDriver);
    return tally.finish();
  },
);

async function onSoftwareGpu(tally: Tally, checks: readonly DriverCheck[]): Promise<void> {
  const where = "software GPU";
  const gpu = softwareGpu;
  if (gpu === undefined) {
    const names = [...checks, ...FAILURE_CASES].map(({ name }) => name);
    return tally.skipAll(where, names, "there is no C++ compiler to build it with");
  }
  for (const check of checks) {
    for (const [mode, options] of modesOf(check)) {
      await tally.count(
        `${where}${mode}`,
        check.name,
        () =>
          withFreshDevice(gpu, ({ control, path }) => {
            control.configure(options);
            return runCheck(check, path);
          }),
      );
    }
  }
  for (const each of FAILURE_CASES) {
    await tally.count(where, each.name, () => withFreshDevice(gpu, each.run));
  }
}

/** Kernels run in every mode, on a device of the kind that they were compiled for. */
function modesOf({ target }: DriverCheck): [mode: string, options: SoftwareGpuOptions][] {
  if (target === undefined) return [["", {}]];
  return Object.entries(MODES).map(([mode, options]) => [
    `, ${mode}`,
    { ...options, computeCapability: target },
  ]);
}

async function onDriver(
  tally: Tally,
  checks: readonly DriverCheck[],
  library: string | undefined,
): Promise<void> {
  const where = library ?? "system's driver";
  try {
    openDriver(library)[Symbol.dispose]();
  } catch (error) {
    if (library !== undefined) return tally.fail(where, "openDriver()", error);
    if (!(error instanceof CudaUnavailableError)) throw error;
    return tally.skipAll(where, checks.map(({ name }) => name), error.message);
  }
  for (const [index, check] of checks.entries()) {
    const error = await tally.count(where, check.name, () => runCheck(check, library));
    if (!(error instanceof CudaError) || !error.sticky) continue;
    const rest = checks.slice(index + 1).map(({ name }) => name);
    return tally.skipAll(where, rest, "after a fault nothing works in this process");
  }
}

/** Counts what came of the checks and says so. */
class Tally {
  readonly #io: Io;
  readonly #only: string;
  readonly #verbose: boolean;
  #passed = 0;
  #failed = 0;
  #skipped = 0;

  constructor(io: Io, only: string, verbose: boolean) {
    this.#io = io;
    this.#only = only;
    this.#verbose = verbose;
  }

  /**
   * Runs a check.
   *
   * @param run Returns why it was skipped, if it was.
   * @returns What it failed with, if it did.
   */
  async count(where: string, name: string, run: () => Promise<string | void>): Promise<unknown> {
    if (!name.includes(this.#only)) return undefined;
    try {
      const reason = await run();
      if (typeof reason === "string") {
        this.#skipped++;
        this.#io.out(`${where}: ${name}: skipped: ${reason}\n`);
      } else {
        this.#passed++;
        if (this.#verbose) this.#io.out(`${where}: ${name}: ok\n`);
      }
      return undefined;
    } catch (error) {
      const root = rootOf(error);
      this.fail(where, name, root);
      return root;
    }
  }

  /** A check that failed. */
  fail(where: string, name: string, error: unknown): void {
    this.#failed++;
    this.#io.out(`${where}: ${name}: FAILED: ${messageOf(error)}\n`);
  }

  /** Checks that cannot run, all for one reason. */
  skipAll(where: string, names: readonly string[], reason: string): void {
    const count = names.filter((name) => name.includes(this.#only)).length;
    this.#skipped += count;
    if (count > 0) this.#io.out(`${where}: ${count} checks skipped: ${reason}\n`);
  }

  /** Says how many; the exit code. */
  finish(): number {
    this.#io.out(
      `${this.#passed} passed, ${this.#failed} failed, ${this.#skipped} skipped\n`,
    );
    return this.#failed === 0 ? EXIT.ok : EXIT.failed;
  }
}

/** What went wrong first: what could not be disposed then only follows from it. */
function rootOf(error: unknown): unknown {
  return error instanceof SuppressedError ? rootOf(error.suppressed) : error;
}

if (import.meta.main) await runAsProcess(testCuda);
