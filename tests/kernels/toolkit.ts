/**
 * NVIDIA's compilers, run as programs: `nvcc` makes PTX of CUDA sources, `ptxas` says what a kernel
 * needs on a real card.
 *
 * @module
 */

/** What one kernel takes of a multiprocessor. */
export interface KernelUse {
  /** Registers of a thread. */
  readonly registers: number;
  /** Statically allocated shared memory of a block. */
  readonly sharedBytes: number;
  /** Bytes of registers that did not fit and go through memory. */
  readonly spillBytes: number;
}

/**
 * Makes PTX of a CUDA source.
 *
 * @throws {Error} With the compiler's own words when it refuses the source.
 */
export async function compile(source: string, target: number): Promise<string> {
  const output = await Deno.makeTempFile({ suffix: ".ptx" });
  try {
    await run("nvcc", ["-std=c++17", `-arch=compute_${target}`, "-ptx", source, "-o", output]);
    return await Deno.readTextFile(output);
  } finally {
    await Deno.remove(output);
  }
}

/**
 * What each kernel of a PTX text takes on an architecture.
 *
 * @param target Such as `90` for `sm_90`.
 * @throws {Error} With the assembler's own words when it refuses the text.
 */
export async function measure(ptx: string, target: number): Promise<Map<string, KernelUse>> {
  return usesIn(await run("ptxas", [`-arch=sm_${target}`, "-v", ptx, "-o", "/dev/null"]));
}

/** What ptxas says of each kernel when it is asked to be verbose. */
export function usesIn(report: string): Map<string, KernelUse> {
  const uses = new Map<string, KernelUse>();
  for (const part of report.split("Compiling entry function").slice(1)) {
    uses.set(part.match(/'(\w+)'/)![1], {
      registers: numberIn(part, /Used (\d+) registers/),
      sharedBytes: numberIn(part, /(\d+) bytes smem/),
      spillBytes: numberIn(part, /(\d+) bytes spill stores/),
    });
  }
  return uses;
}

function numberIn(text: string, pattern: RegExp): number {
  return Number(text.match(pattern)?.[1] ?? 0);
}

/** Runs a compiler from `$CUDA_HOME/bin`, or from the search path where CUDA_HOME is not set. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const home = Deno.env.get("CUDA_HOME");
  const path = home === undefined ? program : `${home}/bin/${program}`;
  let result: Deno.CommandOutput;
  try {
    result = await new Deno.Command(path, { args: [...args] }).output();
  } catch (cause) {
    throw new Error(
      `${path} cannot be run; put NVIDIA's ${program} on PATH, or set CUDA_HOME to the folder ` +
        "whose bin holds it",
      { cause },
    );
  }
  const report = new TextDecoder().decode(result.stdout) + new TextDecoder().decode(result.stderr);
  if (!result.success) throw new Error(`${program} refuses its input:\n${report}`);
  return report;
}
