/**
 * Two models on two lanes, against each alone on one: what lanes give.
 *
 * @module
 */
import { join } from "node:path";
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
  /** Runs per second of a bare loop in a process of its own, by model: alone, and both at once. */
  readonly bareAlone: readonly number[];
  readonly bareTogether: readonly number[];
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
  const bareRate = ({ name, inputs }: LoopedModel) =>
    callAfresh("bareRate", join(STARTER_REPOSITORY, name, "1", "model.onnx"), inputs, {
      threads: THREADS,
      inPlace: true,
      seconds,
    });
  const samples: Sample[] = [];
  for (let run = 1; run <= runs; run++) {
    progress(`two models together: run ${run} of ${runs}`);
    const alone: number[] = [];
    for (const model of models) alone.push(...await rates([model], 1));
    const together: number[][] = [];
    for (const policy of POLICIES) together.push(await rates(models, 2, policy));
    const bareAlone: number[] = [];
    for (const model of models) bareAlone.push(await bareRate(model));
    const bareTogether = await Promise.all(models.map(bareRate));
    samples.push({ alone, together, bareAlone, bareTogether });
  }
  const rows: string[][] = [];
  const verdicts: Verdict[] = [];
  const addRow = (title: string, together: (sample: Sample) => readonly number[], bare = false) => {
    const ratios = samples.map((sample) => {
      const alone = bare ? sample.bareAlone : sample.alone;
      return together(sample).map((rate, model) => rate / alone[model]);
    });
    const throughput = median(ratios.map((both) => both.reduce((sum, ratio) => sum + ratio)));
    const judged = bare ? [] : [judge(title, "throughput", throughput, "at least", GOAL)];
    verdicts.push(...judged);
    const shares = NAMES.map((_, model) => median(ratios.map((both) => both[model])).toFixed(2));
    rows.push([title, ...shares, throughput.toFixed(2), verdictCell(judged)]);
  };
  for (const [i, policy] of POLICIES.entries()) addRow(policy, ({ together }) => together[i]);
  addRow("bare loops in two processes", ({ bareTogether }) => bareTogether, true);
  return {
    table: {
      title: "Two models together, each as a share of its rate alone on one lane",
      columns: ["", ...NAMES, "both", "goal"],
      rows,
    },
    verdicts,
    data: samples,
  };
}
