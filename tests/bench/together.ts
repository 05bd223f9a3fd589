/**
 * Two models on two lanes, against each alone on one: what lanes give.
 *
 * @module
 */
import { STARTERS } from "../../models/starter/starters.ts";
import type { EngineLoopOptions, LoopedModel } from "./engine_loop.ts";
import type { BenchRun } from "./bench_run.ts";
import { callAfresh } from "./fresh_process.ts";
import { judge, median, significant } from "./figures.ts";
import { type Section, verdictCell } from "./report.ts";
import { ensureStarters, STARTER_REPOSITORY } from "./starters.ts";

/** Two that keep a core busy for milliseconds. */
const NAMES = ["ocr_angle", "ocr_recogniser"];
/** One core per run, so that the second lane has one to itself. */
const THREADS = 1;
const GOAL = 1.7;

/** Alone, alone, together, in turns. */
export async function measureTogether({ seconds, runs, progress }: BenchRun): Promise<Section> {
  await ensureStarters(progress);
  const models = NAMES.map((name): LoopedModel => {
    const starter = STARTERS.find((starter) => starter.name === name);
    if (starter === undefined) throw new Error(`There is no starter model ${name}`);
    return { name, inputs: starter.samples[0] };
  });
  const length = { threads: THREADS, seconds };
  const rates = (models: readonly LoopedModel[], options: EngineLoopOptions) =>
    callAfresh("engineRates", STARTER_REPOSITORY, models, options);
  const samples: { alone: number[]; together: number[]; throughput: number }[] = [];
  for (let run = 1; run <= runs; run++) {
    progress(`two models together: run ${run} of ${runs}`);
    const alone: number[] = [];
    for (const model of models) alone.push(...await rates([model], { ...length, lanes: 1 }));
    const together = await rates(models, { ...length, lanes: 2 });
    const throughput = together.reduce((sum, rate, i) => sum + rate / alone[i], 0);
    samples.push({ alone, together, throughput });
  }
  const throughput = median(samples.map(({ throughput }) => throughput));
  const verdicts = [judge(NAMES.join(" and "), "throughput", throughput, "at least", GOAL)];
  const rows = models.map(({ name }, i) => {
    const alone = median(samples.map((sample) => sample.alone[i]));
    const together = median(samples.map((sample) => sample.together[i]));
    return [name, significant(alone), significant(together), (together / alone).toFixed(2), ""];
  });
  rows.push(["both", "", "", throughput.toFixed(2), verdictCell(verdicts)]);
  const columns = ["model", "alone, one lane, requests/s", "together, two lanes", "ratio", "goal"];
  return { table: { title: "Two models together", columns, rows }, verdicts, data: samples };
}
