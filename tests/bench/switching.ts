/**
 * What it costs to go from one model to another.
 *
 * @module
 */
import { STARTERS } from "../../models/starter/starters.ts";
import type { BenchRun } from "./bench_run.ts";
import type { LoopedModel } from "./engine_loop.ts";
import { callAfresh } from "./fresh_process.ts";
import { judge, median, significant, type Verdict } from "./figures.ts";
import { type Section, verdictCell } from "./report.ts";
import { ensureStarters, STARTER_REPOSITORY } from "./starters.ts";
import type { Gaps, SwitchFigures } from "./switch_loop.ts";

/** Runs in place, and runs on a thread. */
const PAIRS = [["digits", "wine"], ["ocr_angle", "ocr_recogniser"]];
const GOAL_MICROS = 50;

/** Each pair on one lane, in a fresh process, in turns. */
export async function measureSwitching({ seconds, runs, progress }: BenchRun): Promise<Section> {
  await ensureStarters(progress);
  const samples = PAIRS.map((): SwitchFigures[] => []);
  for (let run = 1; run <= runs; run++) {
    for (const [index, names] of PAIRS.entries()) {
      progress(`switching: run ${run} of ${runs}, ${names.join(" and ")}`);
      const options = { threads: navigator.hardwareConcurrency, seconds };
      const models = names.map(starter);
      samples[index].push(await callAfresh("switchGaps", STARTER_REPOSITORY, models, options));
    }
  }
  const rows: string[][] = [];
  const all: Verdict[] = [];
  for (const [index, names] of PAIRS.entries()) {
    const title = names.join(" and ");
    const own = samples[index];
    const of = (figure: (sample: SwitchFigures) => number) => median(own.map(figure));
    const more = (key: keyof Gaps) => of(({ same, different }) => different[key] - same[key]);
    const verdict = judge(title, "more at p99 us", more("p99"), "at most", GOAL_MICROS);
    all.push(verdict);
    rows.push([
      title,
      significant(of(({ same }) => same.p50)),
      significant(of(({ different }) => different.p50)),
      significant(of(({ same }) => same.p99)),
      significant(of(({ different }) => different.p99)),
      significant(more("p99")),
      verdictCell([verdict]),
    ]);
  }
  return {
    table: { title: "Gap between two iterations on one lane", columns: COLUMNS, rows },
    verdicts: all,
    data: Object.fromEntries(PAIRS.map((names, index) => [names.join(), samples[index]])),
  };
}

const COLUMNS = [
  ...["models", "same, p50 us", "different, p50 us", "same, p99 us", "different, p99 us"],
  ...["more at p99 us", "goal"],
];

function starter(name: string): LoopedModel {
  const { samples: [inputs] } = STARTERS.find((starter) => starter.name === name)!;
  return { name, inputs };
}
