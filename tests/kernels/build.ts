/**
 * `deno task kernels`: makes all PTX anew from the CUDA sources, and checks what the shipped kernels
 * take on real cards against a budget.
 *
 * @module
 */
import { defineCommand, EXIT, type Run, runAsProcess } from "../../server/commands/command.ts";
import { overBudget } from "./budget.ts";
import { type KernelSource, shippedSources, sourceHeader, suiteSources } from "./sources.ts";
import { compile, measure } from "./toolkit.ts";

/** Cards whose use of registers and shared memory is checked: one of each generation. */
const CARDS = [80, 86, 89, 90, 100, 120];

/**
 * The PTX ISA that the shipped kernels declare. nvcc writes the newest it knows, which drivers older
 * than itself refuse; ptxas confirms below that the kernels need no more than this.
 */
const SHIPPED_VERSION = "7.0";

/** Compiles every source. */
export const kernels: Run = defineCommand(
  "kernels",
  (command) =>
    command.description("Compile the CUDA sources to PTX; needs nvcc on PATH or CUDA_HOME."),
  async (_, io) => {
    for (const source of suiteSources()) await write(source, await compileToText(source));
    const over: string[] = [];
    for (const source of shippedSources()) {
      const text = await compileToText(source);
      await write(source, text.replace(/^\.version .*$/m, `.version ${SHIPPED_VERSION}`));
      for (const card of CARDS) over.push(...overBudget(card, await measure(source.ptx, card)));
    }
    for (const line of over) io.err(`${line}\n`);
    return over.length === 0 ? EXIT.ok : EXIT.failed;
  },
);

/** PTX with the hash of its source, without remarks about the compiler that made it. */
async function compileToText({ source, target }: KernelSource): Promise<string> {
  const text = await compile(source, target);
  return sourceHeader(source) + text.slice(text.indexOf("\n.version"));
}

async function write({ ptx }: KernelSource, text: string): Promise<void> {
  await Deno.writeTextFile(ptx, text);
}

if (import.meta.main) await runAsProcess(kernels);
