/**
 * What it costs to go from one model to another.
 *
 * @module
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { STARTERS } from "../../models/starter/starters.ts";
import type { BenchRun } from "./bench_run.ts";
import type { LoopedModel } from "./engine_loop.ts";
import { callAfresh } from "./fresh_process.ts";
import { judge, median, significant, type Verdict } from "./figures.ts";
import { BENCH_OUT } from "./models.ts";
import { type Section, verdictCell } from "./report.ts";
import { ensureStarters, STARTER_REPOSITORY } from "./starters.ts";
import type { Gaps, SwitchFigures } from "./switch_loop.ts";

/** Runs in place, and runs on a thread. Each as two models, so that both do the same work. */
const NAMES = ["digits", "ocr_angle"];
const TWINS = join(BENCH_OUT, "twins");
const GOAL_MICROS = 50;

/** Each pair on one lane, in a fresh process, in turns. */
export async function measureSwitching({ seconds, runs, progress }: BenchRun): Promise<Section> {
  await ensureStarters(progress);
  const samples = new Map(NAMES.map((name): [string, SwitchFigures[]] => [name, []]));
  for (let run = 1; run <= runs; run++) {
    for (const name of NAMES) {
      progress(`switching: run ${run} of ${runs}, ${name}`);
      const options = { threads: navigator.hardwareConcurrency, seconds };
      const twins = await writeTwins(name);
      samples.get(name)!.push(await callAfresh("switchGaps", TWINS, twins, options));
    }
  }
  const rows: string[][] = [];
  const all: Verdict[] = [];
  for (const [name, own] of samples) {
    const of = (figure: (sample: SwitchFigures) => number) => median(own.map(figure));
    const more = (key: keyof Gaps) => of(({ same, different }) => different[key] - same[key]);
    const verdict = judge(
      `switching, ${name}`,
      "more at p99 us",
      more("p99"),
      "at most",
      GOAL_MICROS,
    );
    all.push(verdict);
    rows.push([
      name,
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
    data: Object.fromEntries(samples),
  };
}

const COLUMNS = [
  ...["two of", "same, p50 us", "different, p50 us", "same, p99 us", "different, p99 us"],
  ...["more at p99 us", "goal"],
];

/** Copies a starter model twice. */
async function writeTwins(name: string): Promise<LoopedModel[]> {
  const { samples: [inputs] } = STARTERS.find((starter) => starter.name === name)!;
  const twins = [`${name}_1`, `${name}_2`];
  for (const twin of twins) {
    await cp(join(STARTER_REPOSITORY, name), join(TWINS, twin), { recursive: true });
  }
  return twins.map((name) => ({ name, inputs }));
}
