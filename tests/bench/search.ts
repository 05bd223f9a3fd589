/**
 * A search for hyper-parameters: many short trainings and a few long ones at once, under one policy
 * after another.
 *
 * @module
 */
import { seededRandom } from "../../models/random.ts";
import { jobEnded, type JobJson, train } from "../acceptance/jobs_client.ts";
import { trainingRepository } from "../acceptance/training_repository.ts";
import type { BenchRun } from "./bench_run.ts";
import { median, significant } from "./figures.ts";
import type { Section } from "./report.ts";
import { startServer } from "./servers.ts";

const POLICIES = ["fifo", "fair", "srtf", "las_2d"];
const JOBS = 30;
/** One in five is long. */
const SHORT_ITERATIONS = 60, LONG_ITERATIONS = 600;
const SEED = 4;

interface Trial {
  readonly learningRate: number;
  readonly iterations: number;
}

/** Rates from 0.003 to 0.3, evenly on a logarithmic scale, in no order. */
function trials(): Trial[] {
  const random = seededRandom(SEED);
  return Array.from({ length: JOBS }, (_, i) => ({
    order: random(),
    learningRate: Number((0.003 * 100 ** (i / (JOBS - 1))).toPrecision(3)),
    iterations: i % 5 === 2 ? LONG_ITERATIONS : SHORT_ITERATIONS,
  })).sort((a, b) => a.order - b.order);
}

interface Sample {
  /** Seconds from submission to the end of the last iteration, of every job. */
  readonly completion: readonly number[];
  /** The same of the short ones. */
  readonly short: readonly number[];
  /** The best accuracy, and the rate that gave it. */
  readonly best: Trial & { readonly accuracy: number };
}

/** The whole search under each policy, in turns. */
export async function measureSearch({ runs, progress }: BenchRun): Promise<Section> {
  const samples = new Map(POLICIES.map((policy): [string, Sample[]] => [policy, []]));
  for (let run = 1; run <= runs; run++) {
    for (const policy of POLICIES) {
      progress(`search: run ${run} of ${runs}, ${policy}`);
      samples.get(policy)!.push(await search(policy));
    }
  }
  return section(samples);
}

async function search(policy: string): Promise<Sample> {
  await using repository = await trainingRepository();
  await using server = await startServer("sluice", repository.path, "--policy", policy);
  const submitted: { trial: Trial; job: JobJson }[] = [];
  for (const trial of trials()) {
    const { learningRate, iterations } = trial;
    submitted.push({ trial, job: await train(server.url, learningRate, iterations) });
  }
  const ended = await Promise.all(submitted.map(async ({ trial, job }) => {
    const { state, error, created_ms, ended_ms, metrics } = await jobEnded(server.url, job, 200);
    if (state !== "completed") throw new Error(`A job ${state}: ${error}`);
    return { ...trial, seconds: (ended_ms! - created_ms) / 1000, accuracy: metrics.accuracy };
  }));
  const short = ended.filter(({ iterations }) => iterations === SHORT_ITERATIONS);
  return {
    completion: ended.map(({ seconds }) => seconds),
    short: short.map(({ seconds }) => seconds),
    best: ended.reduce((best, one) => one.accuracy > best.accuracy ? one : best),
  };
}

const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one) / values.length;

function section(all: ReadonlyMap<string, readonly Sample[]>): Section {
  const rows = Array.from(all, ([policy, samples]) => {
    const of = (figure: (sample: Sample) => number) => significant(median(samples.map(figure)));
    const [{ best }] = samples;
    return [
      policy,
      of(({ completion }) => mean(completion)),
      of(({ completion }) => median(completion)),
      of(({ short }) => mean(short)),
      of(({ completion }) => Math.max(...completion)),
      `${best.learningRate}: ${(best.accuracy * 100).toFixed(1)} %`,
    ];
  });
  return {
    table: {
      title: `${JOBS} trainings at once, of ${SHORT_ITERATIONS} or ${LONG_ITERATIONS} iterations`,
      columns: COLUMNS,
      rows,
    },
    verdicts: [],
    data: Object.fromEntries(all),
  };
}

const COLUMNS = [
  ...["policy", "mean completion s", "median s", "mean of the short s", "last s"],
  "best rate: accuracy",
];
