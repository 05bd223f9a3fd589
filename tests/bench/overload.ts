/**
 * A model that is asked for three times what it can do.
 *
 * @module
 */
import { join } from "node:path";
import { slowModel } from "../fixtures/onnx.ts";
import type { Report } from "../load/report.ts";
import type { ScenarioInput } from "../load/scenario.ts";
import type { BenchRun } from "./bench_run.ts";
import { judge, median, significant } from "./figures.ts";
import { generatorCell, sendLoad } from "./load_run.ts";
import { BENCH_OUT } from "./models.ts";
import { residentBytes } from "./process_tree.ts";
import { type Section, verdictCell } from "./report.ts";
import { startServer } from "./servers.ts";

/**
 * A chain of products that takes some 50 ms a row, on a request of a kilobyte: three times what it can
 * do costs the generator, and the gateway that refuses most of it, little.
 */
const NAME = "chain";
const PRODUCTS = 8000, WIDTH = 256;
const REPOSITORY = join(BENCH_OUT, "overload");
const FACTOR = 3;
const DEADLINE_MILLIS = 2000;
/** Requests that may wait: what can be done well within the deadline. */
const QUEUE = 32;
/** In the closed loop: as many as wait and run in the open one. */
const CLIENTS = 48;
/** Runs of the usual length; 30 s where that is 5. */
const LENGTHS = 6;
const SAMPLE_MILLIS = 1000;

const GOODPUT = 0.9, RETRY_AFTER = 1, GROWTH = 1.1;

interface Sample {
  readonly capacity: number;
  readonly report: Report;
  /** Largest memory of the last third of the run over that of the first. */
  readonly growth: number;
}

/** What it can do in a closed loop, then three times as much in an open one. */
export async function measureOverload({ seconds, runs, progress }: BenchRun): Promise<Section> {
  await Deno.mkdir(join(REPOSITORY, NAME, "1"), { recursive: true });
  const file = join(REPOSITORY, NAME, "1", "model.onnx");
  await Deno.writeFile(file, slowModel(PRODUCTS, WIDTH));
  const flags = ["--max-queue-requests", `${QUEUE}`];
  await using server = await startServer("sluice", REPOSITORY, ...flags);
  const send = (load: Partial<ScenarioInput["models"][number]>, durationSeconds: number) =>
    sendLoad({
      url: server.url,
      durationSeconds,
      models: [{ name: NAME, shapes: { x: [1, WIDTH] }, ...load }],
    });
  const samples: Sample[] = [];
  for (let run = 1; run <= runs; run++) {
    progress(`overload: run ${run} of ${runs}, capacity`);
    const { models: [alone] } = await send({ closed: { concurrency: CLIENTS } }, seconds);
    const capacity = alone.throughput;
    progress(`overload: run ${run} of ${runs}, ${FACTOR} times as much`);
    using memory = new MemoryCurve(server.pid);
    const arrivals = { kind: "poisson", rate: FACTOR * capacity } as const;
    const load = { arrivals, deadlineMs: DEADLINE_MILLIS };
    const report = await send(load, LENGTHS * seconds);
    samples.push({ capacity, report, growth: memory.growth() });
  }
  return section(samples);
}

/** Memory of a server over time. */
class MemoryCurve implements Disposable {
  readonly #bytes: number[] = [];
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(pid: number) {
    this.#timer = setInterval(() => this.#bytes.push(residentBytes(pid)), SAMPLE_MILLIS);
  }

  growth(): number {
    const third = Math.ceil(this.#bytes.length / 3);
    return Math.max(...this.#bytes.slice(-third)) / Math.max(...this.#bytes.slice(0, third));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function section(samples: readonly Sample[]): Section {
  const of = (figure: (sample: Sample) => number) => median(samples.map(figure));
  const goodput = of(({ capacity, report: { models: [model] } }) => model.goodput / capacity);
  // Nothing refused is nothing to complain of.
  const retryAfter = of(({ report: { models: [{ retryAfter, outcomes: { queue_full } }] } }) =>
    queue_full === 0 ? 1 : retryAfter / queue_full
  );
  const p99 = of(({ report: { models: [model] } }) => model.actual.p99);
  const growth = of((sample) => sample.growth);
  const verdicts = [
    judge("overload", "goodput ÷ capacity", goodput, "at least", GOODPUT),
    judge("overload", "refusals with Retry-After", retryAfter, "at least", RETRY_AFTER),
    judge("overload", "p99 ms of the answered", p99, "at most", DEADLINE_MILLIS),
    judge("overload", "memory, last third ÷ first", growth, "at most", GROWTH),
  ];
  const part = (kind: "queue_full" | "deadline") =>
    of(({ report: { models: [{ sent, outcomes }] } }) => outcomes[kind] / sent);
  const { report } = samples.find((sample) => !sample.report.verdict.valid) ?? samples[0];
  return {
    table: {
      title: `A model of 50 ms asked for ${FACTOR} times what it can do`,
      columns: COLUMNS,
      rows: [[
        significant(of((sample) => sample.capacity)),
        significant(of((sample) => sample.report.models[0].goodput)),
        significant(part("queue_full") * 100),
        significant(part("deadline") * 100),
        significant(p99),
        growth.toFixed(2),
        generatorCell(report),
        verdictCell(verdicts),
      ]],
    },
    verdicts,
    data: samples,
  };
}

const COLUMNS = [
  ...["capacity/s", "goodput/s", "refused %", "too late %", "p99 ms", "memory, last third ÷ first"],
  ...["generator", "goal"],
];
