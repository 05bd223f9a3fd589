/**
 * What a gateway costs that nobody asks anything.
 *
 * @module
 */
import type { BenchRun } from "./bench_run.ts";
import { judge, median, significant } from "./figures.ts";
import { cpuSeconds } from "./process_tree.ts";
import { type Section, verdictCell } from "./report.ts";
import { startServer } from "./servers.ts";

const GOAL_PERCENT = 1;
/** What the start has left behind: garbage, connections that close. */
const SETTLE_MILLIS = 2000;

/** Processor time of the gateway with the benchmark models loaded, in percent of one core. */
export async function measureIdle(
  { models, seconds, runs, progress }: BenchRun,
): Promise<Section> {
  await using server = await startServer("sluice", models.repository);
  const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis));
  await pause(SETTLE_MILLIS);
  const percent: number[] = [];
  for (let run = 1; run <= runs; run++) {
    progress(`idle: run ${run} of ${runs}`);
    const before = cpuSeconds(server.pid), started = performance.now();
    await pause(seconds * 1000);
    const elapsed = (performance.now() - started) / 1000;
    percent.push((cpuSeconds(server.pid) - before) / elapsed * 100);
  }
  const verdict = judge("idle gateway", "CPU %", median(percent), "at most", GOAL_PERCENT);
  return {
    table: {
      title: "Processor time with nothing to do",
      columns: ["server", "models loaded", "CPU % of a core", "goal"],
      rows: [[
        "Sluice",
        `${models.models.size}`,
        significant(median(percent)),
        verdictCell([verdict]),
      ]],
    },
    verdicts: [verdict],
    data: percent,
  };
}
