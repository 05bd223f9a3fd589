/**
 * What a decision and an iteration cost under each policy, with many queues and much waiting.
 *
 * @module
 */
import { POLICIES } from "../../policies/mod.ts";
import type { BenchRun } from "./bench_run.ts";
import { callAfresh } from "./fresh_process.ts";
import { judge, median, significant, type Verdict } from "./figures.ts";
import { type Section, verdictCell } from "./report.ts";
import type { SchedulerFigures } from "./scheduler_loop.ts";

const QUEUES = 100, WAITING = 10_000;
const GOAL_P50 = 5, GOAL_P99 = 20, GOAL_ITERATION = 30;

/** Every policy in a process of its own: a gateway runs one, and code that saw many is slower. */
export async function measureScheduler({ seconds, runs, progress }: BenchRun): Promise<Section> {
  const figures = new Map<string, SchedulerFigures[]>();
  for (let run = 1; run <= runs; run++) {
    for (const policy of POLICIES.keys()) {
      progress(`scheduler: run ${run} of ${runs}, ${policy}`);
      const options = { queues: QUEUES, waiting: WAITING, seconds };
      const own = figures.get(policy) ?? [];
      figures.set(policy, [...own, await callAfresh("schedulerFigures", policy, options)]);
    }
  }
  const rows: string[][] = [];
  const all: Verdict[] = [];
  for (const [policy, own] of figures) {
    const of = (figure: keyof SchedulerFigures) => median(own.map((run) => run[figure]));
    const verdicts = [
      judge(policy, "decision p50 us", of("decisionP50"), "at most", GOAL_P50),
      judge(policy, "decision p99 us", of("decisionP99"), "at most", GOAL_P99),
      judge(policy, "iteration us", of("iterationMicros"), "at most", GOAL_ITERATION),
    ];
    all.push(...verdicts);
    rows.push([
      policy,
      significant(of("decisionP50")),
      significant(of("decisionP99")),
      significant(of("iterationMicros")),
      verdictCell(verdicts),
    ]);
  }
  return {
    table: {
      title: `Scheduler with ${QUEUES} ready queues and ${WAITING} waiting requests`,
      columns: ["policy", "decision p50 us", "decision p99 us", "iteration us", "goal"],
      rows,
    },
    verdicts: all,
    data: Object.fromEntries(figures),
  };
}
