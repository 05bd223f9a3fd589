/**
 * Text through the gateway, against the same steps in a bare loop.
 *
 * @module
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import type { Tensor } from "../../models/tensor.ts";
import type { Report } from "../load/report.ts";
import type { BenchRun } from "./bench_run.ts";
import { callAfresh } from "./fresh_process.ts";
import { median, pairedRatio, significant } from "./figures.ts";
import { generatorCell, sendLoad } from "./load_run.ts";
import { BENCH_OUT } from "./models.ts";
import type { Section } from "./report.ts";
import { startServer } from "./servers.ts";
import { ensureStarters, STARTER_REPOSITORY } from "./starters.ts";

const NAME = "storyteller";
const REPOSITORY = join(BENCH_OUT, "generation");
/** Texts at once. */
const TEXTS = [1, 8];
const PROMPT = "The harbour";
const TOKENS = 200;
/** Of the cache: `[rows, 3, 768, 32]`, half full in the bare loop. */
const CACHE = [3, 768, 32], POSITION = 384n;

interface Sample {
  readonly report: Report;
  /** Steps of as many rows per second. */
  readonly bareSteps: number;
}

/** One text after the other, and several at once, in turns with the bare loop. */
export async function measureGeneration(
  { seconds, runs, progress }: BenchRun,
): Promise<Section> {
  await ensureStarters(progress);
  await cp(join(STARTER_REPOSITORY, NAME), join(REPOSITORY, NAME), { recursive: true });
  const path = join(STARTER_REPOSITORY, NAME, "1", "model.onnx");
  const options = { threads: navigator.hardwareConcurrency, seconds, inPlace: true };
  const samples = new Map(TEXTS.map((texts): [number, Sample[]] => [texts, []]));
  for (let run = 1; run <= runs; run++) {
    for (const texts of TEXTS) {
      progress(`generation: run ${run} of ${runs}, ${texts} at once`);
      const report = await generate(texts, seconds);
      const bareSteps = await callAfresh("bareRate", path, step(texts), options);
      samples.get(texts)!.push({ report, bareSteps });
    }
  }
  return section(samples);
}

/** The server rests while the bare loop runs. */
async function generate(texts: number, durationSeconds: number): Promise<Report> {
  await using server = await startServer("sluice", REPOSITORY);
  const generate = { prompt: PROMPT, maxTokens: TOKENS };
  const models = [{ name: NAME, closed: { concurrency: texts }, generate }];
  return await sendLoad({ url: server.url, durationSeconds, models });
}

/** Inputs of one step of so many texts. */
function step(rows: number): Tensor[] {
  const int64 = (name: string, shape: number[], value: bigint): Tensor => {
    const data = new Uint8Array(new BigInt64Array(rows).fill(value).buffer);
    return { name, datatype: "INT64", shape, data };
  };
  const elements = CACHE.reduce((product, dim) => product * dim, rows);
  return [
    int64("tokens", [rows, 1], BigInt(PROMPT.charCodeAt(0))),
    int64("position", [rows], POSITION),
    { name: "past", datatype: "FP32", shape: [rows, ...CACHE], data: new Uint8Array(4 * elements) },
  ];
}

function section(samples: ReadonlyMap<number, readonly Sample[]>): Section {
  const rows = Array.from(samples, ([texts, own]) => {
    const model = ({ report: { models: [model] } }: Sample) => model;
    const tokens = own.map((sample) => model(sample).tokensPerSecond!);
    const bare = own.map(({ bareSteps }) => texts * bareSteps);
    const overhead = own.map((sample) => model(sample).tokens!.tbt.mean - 1000 / sample.bareSteps);
    return [
      `${texts}`,
      significant(median(tokens)),
      significant(median(own.map((sample) => model(sample).tokens!.ttft.p50))),
      significant(median(own.map((sample) => model(sample).tokens!.tbt.mean))),
      significant(median(own.map((sample) => model(sample).tokens!.tbt.p99))),
      significant(median(bare)),
      pairedRatio(tokens, bare).toFixed(2),
      significant(median(overhead) * 1000),
      generatorCell((own.find(({ report }) => !report.verdict.valid) ?? own[0]).report),
    ];
  });
  return {
    table: { title: `Text by ${NAME}`, columns: COLUMNS, rows },
    verdicts: [],
    data: Object.fromEntries(samples),
  };
}

const COLUMNS = [
  ...["texts at once", "tokens/s", "first token p50 ms", "between tokens, mean ms", "p99 ms"],
  ...["bare loop tokens/s", "÷ bare", "more than a bare step us", "generator"],
];
