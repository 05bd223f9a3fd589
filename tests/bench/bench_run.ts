/**
 * What every part of the benchmarks is given.
 *
 * @module
 */
import type { BenchModels } from "./models.ts";
import type { ServerName } from "./servers.ts";

/** One call of `deno task bench`. */
export interface BenchRun {
  /** In the order in which they take turns. */
  readonly servers: readonly ServerName[];
  /** What they serve. */
  readonly models: BenchModels;
  /** Length of a run. */
  readonly seconds: number;
  /** Runs of everything; medians are shown. */
  readonly runs: number;
  /** Shows what is going on. */
  progress(what: string): void;
}
