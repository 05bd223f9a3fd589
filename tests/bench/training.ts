/**
 * A small model that is asked now and then, alone and beside a training that never ends.
 *
 * @module
 */
import { train } from "../acceptance/jobs_client.ts";
import { trainingRepository } from "../acceptance/training_repository.ts";
import type { Report } from "../load/report.ts";
import type { BenchRun } from "./bench_run.ts";
import { judge, median, significant, type Verdict } from "./figures.ts";
import { generatorCell, sendLoad } from "./load_run.ts";
import { type Section, verdictCell } from "./report.ts";
import { startServer } from "./servers.ts";

const POLICIES = ["fifo", "fair", "srtf", "edf"];
const MODEL = "digits_trained";
const PER_SECOND = 50;
const FOR_EVER = 1e9;
/** Of the job: how much later the 99th percentile may be. */
const GOAL_ITERATIONS = 1;

interface Sample {
  readonly alone: Report;
  readonly beside: Report;
  /** The job's iterations, on average. */
  readonly iterationMillis: number;
}

/** Under each policy, without the job and with it, on one server. */
export async function measureTraining({ seconds, runs, progress }: BenchRun): Promise<Section> {
  const samples = new Map(POLICIES.map((policy): [string, Sample[]] => [policy, []]));
  for (let run = 1; run <= runs; run++) {
    for (const policy of POLICIES) {
      progress(`training: run ${run} of ${runs}, ${policy}`);
      samples.get(policy)!.push(await measure(policy, seconds));
    }
  }
  return section(samples);
}

async function measure(policy: string, durationSeconds: number): Promise<Sample> {
  await using repository = await trainingRepository();
  await using server = await startServer("sluice", repository.path, "--policy", policy);
  const arrivals = { kind: "poisson", rate: PER_SECOND } as const;
  const models = [{ name: MODEL, shapes: { pixels: [1, 64] }, arrivals }];
  const send = () => sendLoad({ url: server.url, durationSeconds, models });
  const alone = await send();
  await train(server.url, 0.01, FOR_EVER, { checkpoint_every: 0 });
  const beside = await send();
  const stats = await (await fetch(`${server.url}/v2/models/digits_training/stats`)).json();
  const [{ compute_infer: { ns, count } }] = stats.model_stats[0].batch_stats;
  return { alone, beside, iterationMillis: ns / count / 1e6 };
}

const p99 = ({ models: [model] }: Report) => model.intended.p99;

function section(all: ReadonlyMap<string, readonly Sample[]>): Section {
  const verdicts: Verdict[] = [];
  const rows = Array.from(all, ([policy, samples]) => {
    const of = (figure: (sample: Sample) => number) => median(samples.map(figure));
    const later = of(({ alone, beside, iterationMillis }) =>
      (p99(beside) - p99(alone)) / iterationMillis
    );
    const verdict = judge(
      `training, ${policy}`,
      "p99 later by iterations",
      later,
      "at most",
      GOAL_ITERATIONS,
    );
    verdicts.push(verdict);
    const worst = samples.find(({ beside }) => !beside.verdict.valid) ?? samples[0];
    return [
      policy,
      significant(of(({ alone }) => p99(alone))),
      significant(of(({ beside }) => p99(beside))),
      significant(of(({ iterationMillis }) => iterationMillis)),
      later.toFixed(2),
      generatorCell(worst.beside),
      verdictCell([verdict]),
    ];
  });
  return {
    table: {
      title: `${MODEL} ${PER_SECOND} times a second, alone and beside a training`,
      columns: COLUMNS,
      rows,
    },
    verdicts,
    data: Object.fromEntries(all),
  };
}

const COLUMNS = [
  ...["policy", "p99 ms alone", "p99 ms beside", "an iteration ms", "later by iterations"],
  ...["generator", "goal"],
];
