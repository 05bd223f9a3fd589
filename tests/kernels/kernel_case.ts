/**
 * A case of the kernel suite: inputs for one kernel, and what must come out.
 *
 * @module
 */
import type { Gpu } from "./gpu.ts";

/** Runs on any GPU that does what PTX says. */
export interface KernelCase {
  /** What is run, and on which shape. */
  readonly name: string;
  /** Name of the PTX that holds the kernel, without folder, target and ending. */
  readonly module: string;
  /**
   * Launches and compares.
   *
   * @throws {Error} When the answer is wrong, or the GPU fails.
   */
  run(gpu: Gpu, ptx: string): Promise<void>;
}

/**
 * Runs cases that share their PTX.
 *
 * @throws {Error} When one fails: its name, and what it says.
 */
export async function runAll(cases: Iterable<KernelCase>, gpu: Gpu, ptx: string): Promise<void> {
  for (const one of cases) {
    try {
      await one.run(gpu, ptx);
    } catch (cause) {
      throw new Error(`${one.name}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
  }
}
