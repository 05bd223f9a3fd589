/**
 * `deno task soak`: what takes longer than a test may. Everything is seeded; a failure names the
 * seed that shows it again.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import {
  defineCommand,
  EXIT,
  type Run,
  runAsProcess,
  UsageError,
  wholeNumber,
} from "../../server/commands/command.ts";
import { withProgress } from "../../server/commands/progress.ts";
import { runMapping } from "./mapping.ts";
import { buildUnder, runProgram, type Sanitizer } from "./sanitizers.ts";
import { runRanges } from "./ranges.ts";

/** How much is done, as a multiple of the standard amount. */
interface Amount {
  /** 1: some minutes in all. Anything above 0. */
  readonly times: number;
  /** Where random choices begin. */
  readonly seed: number;
}

/** What can be soaked, by the name that `--only` takes; each gives a line for the report. */
const PARTS: Readonly<Record<string, (amount: Amount) => Promise<string>>> = {
  mapping: ({ times, seed }) => runMapping(Math.ceil(1_000_000 * times), seed),
  ranges: ({ times, seed }) => runRanges(Math.ceil(1_000_000 * times), seed),
  parser: async ({ times, seed }) => {
    const program = await buildUnder("address", "ptx_fuzz");
    const inputs = Math.ceil(20_000 * times);
    return await runProgram(program, [seed, 0, inputs, 0, ...await ptxFiles()]);
  },
  address: (amount) => runDriver("address", amount),
  thread: (amount) => runDriver("thread", amount),
};

const DRIVER_SEEDS = 6;
const DRIVER_STEPS = 300;
const DRIVER_THREADS = 4;

/** Threads that use the driver at once; every other seed in adversarial mode. */
async function runDriver(sanitizer: Sanitizer, { times, seed }: Amount): Promise<string> {
  const program = await buildUnder(sanitizer, "driver_soak");
  const seeds = Math.ceil(DRIVER_SEEDS * times);
  for (let i = 0; i < seeds; i++) {
    await runProgram(program, [seed + i, DRIVER_STEPS, DRIVER_THREADS]);
  }
  return `${seeds} seeds of ${DRIVER_STEPS} steps on ${DRIVER_THREADS} threads`;
}

/** Real PTX that the fuzzer mutates. */
async function ptxFiles(): Promise<string[]> {
  const files: string[] = [];
  for (const folder of ["../kernels/ptx", "../../models/cuda/kernels"]) {
    const path = fileURLToPath(new URL(folder, import.meta.url));
    for await (const { name } of Deno.readDir(path)) {
      if (name.endsWith(".ptx")) files.push(`${path}/${name}`);
    }
  }
  return files.sort();
}

/** Runs the parts, one after the other, and says what each has done. */
export const soak: Run = defineCommand(
  "soak",
  (command) =>
    command
      .description("Run the software GPU for minutes: random memory, broken PTX, sanitizers.")
      .option("--only <names>", `parts to run, with commas: ${Object.keys(PARTS).join(", ")}`)
      .option("--times <n>", "how often the standard amount; 0.1 is a tenth", "1")
      .option("--seed <n>", "where random choices begin", "1"),
  async (command, io) => {
    const { only, times, seed } = command.opts<{ only?: string; times: string; seed: string }>();
    const amount = { times: positive("--times", times), seed: wholeNumber("--seed", seed) };
    const names = only?.split(",") ?? Object.keys(PARTS);
    for (const name of names) {
      if (name in PARTS) continue;
      throw new UsageError(`--only names "${name}"; expected ${Object.keys(PARTS).join(", ")}`);
    }
    let failed = 0;
    for (const name of names) {
      try {
        io.out(`${name}: ${await withProgress(io, name, PARTS[name](amount))}\n`);
      } catch (error) {
        failed++;
        io.err(`${name}: ${error instanceof Error ? error.message : error}\n`);
      }
    }
    return failed === 0 ? EXIT.ok : EXIT.failed;
  },
);

function positive(flag: string, text: string): number {
  const number = Number(text);
  if (number > 0 && number < Infinity) return number;
  throw new UsageError(`${flag} is "${text}"; expected a number above 0`);
}

if (import.meta.main) await runAsProcess(soak);
