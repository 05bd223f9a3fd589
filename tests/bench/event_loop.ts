/**
 * How long the gateway's event loop ever stands still. The gateway runs in this process, beside a
 * timer; the client is a process of its own.
 *
 * @module
 */
import { join } from "node:path";
import { resolveConfig } from "../../server/config.ts";
import { startGateway } from "../../server/main.ts";
import type { BenchRun } from "./bench_run.ts";
import { judge, median, type Verdict } from "./figures.ts";
import { BENCH_OUT, type BenchModels, type RequestFile } from "./models.ts";
import { type Section, verdictCell } from "./report.ts";
import { runWrk } from "./wrk.ts";

const GOAL_MILLIS = 20;
const WARM_UP_SECONDS = 2;
/** Rows of peer_mlp, 8 KB of JSON each: bodies on both sides of the size parsed off the loop. */
const JSON_ROWS = [1, 8, 16, 32];

interface Load {
  readonly title: string;
  readonly model: string;
  readonly connections: number;
  readonly request: RequestFile;
  readonly judged: boolean;
}

/** The largest gap under each load, and the median of the runs' largest. */
export async function measureEventLoop(
  { models: { repository, models }, seconds, runs, progress }: BenchRun,
): Promise<Section> {
  const loads = await writeLoads(models);
  const gateway = await startGateway(
    resolveConfig({ repository, port: 0, quiet: true }),
    (message) => progress(message),
  );
  const rows: string[][] = [];
  const all: Verdict[] = [];
  const data: Record<string, readonly number[]> = {};
  try {
    for (const { title, model, connections, request, judged } of loads) {
      const url = `${gateway.url}/v2/models/${model}/infer`;
      const gaps: number[] = [];
      progress(`event loop: ${title}`);
      await runWrk({ url, request, connections, seconds: Math.min(WARM_UP_SECONDS, seconds) });
      for (let run = 0; run < runs; run++) {
        using probe = new GapProbe();
        await runWrk({ url, request, connections, seconds });
        gaps.push(probe.largestMillis);
      }
      const largest = Math.max(...gaps);
      const verdicts = judged ? [judge(title, "gap ms", largest, "at most", GOAL_MILLIS)] : [];
      all.push(...verdicts);
      data[title] = gaps;
      const { size } = await Deno.stat(request.path);
      rows.push([
        title,
        `${(size / 1000).toFixed(0)} KB`,
        largest.toFixed(1),
        median(gaps).toFixed(1),
        verdictCell(verdicts),
      ]);
    }
  } finally {
    await gateway.shutdown();
  }
  return {
    table: {
      title: "Event loop",
      columns: ["load", "body", "largest gap ms", "median of runs", "goal"],
      rows,
    },
    verdicts: all,
    data,
  };
}

/** Watches a timer of one millisecond from its making to its disposal. */
class GapProbe implements Disposable {
  static readonly #PERIOD_MILLIS = 1;
  /** By how much the timer was ever late. */
  largestMillis = 0;
  #last = performance.now();
  readonly #timer = setInterval(() => {
    const now = performance.now();
    this.largestMillis = Math.max(this.largestMillis, now - this.#last - GapProbe.#PERIOD_MILLIS);
    this.#last = now;
  }, GapProbe.#PERIOD_MILLIS);

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

async function writeLoads(models: BenchModels["models"]): Promise<Load[]> {
  const { binary } = models.get("peer_wide")!.requests;
  const loads: Load[] = [1, 8].map((connections) => ({
    title: `peer_wide, binary, connections: ${connections}`,
    model: "peer_wide",
    connections,
    request: binary,
    judged: true,
  }));
  for (const rows of JSON_ROWS) {
    loads.push({
      title: `peer_mlp, JSON, rows: ${rows}, connections: 8`,
      model: "peer_mlp",
      connections: 8,
      request: await writeRows(models.get("peer_mlp")!.requests.json, rows),
      judged: false,
    });
  }
  loads.push({
    title: "peer_wide, JSON, connections: 1",
    model: "peer_wide",
    connections: 1,
    request: models.get("peer_wide")!.requests.json,
    judged: false,
  });
  return loads;
}

/** The same request with its one row repeated. */
async function writeRows({ path, headers }: RequestFile, rows: number): Promise<RequestFile> {
  const { inputs: [input] } = JSON.parse(await Deno.readTextFile(path));
  const body = {
    inputs: [{
      ...input,
      shape: [rows, ...input.shape.slice(1)],
      data: Array.from({ length: rows }, () => input.data).flat(),
    }],
  };
  const target = join(BENCH_OUT, "requests", `peer_mlp_${rows}_rows.json`);
  await Deno.writeTextFile(target, JSON.stringify(body));
  return { path: target, headers };
}
