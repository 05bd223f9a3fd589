/**
 * Two models on two lanes, against each alone on one: what lanes give.
 *
 * @module
 */
import { STARTERS } from "../../models/starter/starters.ts";
import type { LoopedModel } from "./engine_loop.ts";
import type { BenchRun } from "./bench_run.ts";
import { callAfresh } from "./fresh_process.ts";
import { judge, median, type Verdict } from "./figures.ts";
import { type Section, verdictCell } from "./report.ts";
import { ensureStarters, STARTER_REPOSITORY } from "./starters.ts";

/** Two that keep a core busy for milliseconds. */
const NAMES = ["ocr_angle", "ocr_recogniser"];
/** One core per run, so that the second lane has one to itself. */
const THREADS = 1;
/** fifo lets the model with the longer runs fill both lanes; fair gives each its half. */
const POLICIES = ["fifo", "fair"];
const GOAL = 1.7;

interface Sample {
  /** Requests per second by model, each alone on one lane. */
  readonly alone: readonly number[];
  /** The same on two lanes, by policy. */
  readonly together: readonly (readonly number[])[];
}

/** Alone, alone, together under each policy, in turns. */
export async function measureTogether({ seconds, runs, progress }: BenchRun): Promise<Section> {
  await ensureStarters(progress);
  const models = NAMES.map((name): LoopedModel => {
    const starter = STARTERS.find((starter) => starter.name === name);
    if (starter === undefined) throw new Error(`There is no starter model ${name}`);
    return { name, inputs: starter.samples[0] };
  });
  const rates = (models: readonly LoopedModel[], lanes: number, policy?: string) =>
    callAfresh("engineRates", STARTER_REPOSITORY, models, {
      threads: THREADS,
      lanes,
      policy,
      seconds,
    });
  const samples: Sample[] = [];
  for (let run = 1; run <= runs; run++) {
    progress(`two models together: run ${run} of ${runs}`);
    const alone: number[] = [];
    for (const model of models) alone.push(...await rates([model], 1));
    const together: number[][] = [];
    for (const policy of POLICIES) together.push(await rates(models, 2, policy));
    samples.push({ alone, together });
  }
  const rows: string[][] = [];
  const verdicts: Verdict[] = [];
  for (const [i, policy] of POLICIES.entries()) {
    const ratios = samples.map(({ alone, together }) => together[i].map((r, m) => r / alone[m]));
    const throughput = median(ratios.map((both) => both.reduce((sum, ratio) => sum + ratio)));
    const verdict = judge(`two models under ${policy}`, "throughput", throughput, "at least", GOAL);
    verdicts.push(verdict);
    rows.push([
      policy,
      ...NAMES.map((_, m) => median(ratios.map((both) => both[m])).toFixed(2)),
      throughput.toFixed(2),
      verdictCell([verdict]),
    ]);
  }
  return {
    table: {
      title: "Two models together, each as a share of its rate alone on one lane",
      columns: ["policy", ...NAMES, "both", "goal"],
      rows,
    },
    verdicts,
    data: samples,
  };
}
