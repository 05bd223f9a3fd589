/**
 * Drives the servers over HTTP, one at a time and in turns: A B C, A B C, ... so that every ratio
 * is between runs of the same minute.
 *
 * @module
 */
import type { BenchRun } from "./bench_run.ts";
import { judge, median, pairedRatio, significant, type Verdict } from "./figures.ts";
import type { GoalFigure, HttpCell } from "./http_cells.ts";
import type { BenchModel, Form } from "./models.ts";
import { cpuSeconds } from "./process_tree.ts";
import { type Section, verdictCell } from "./report.ts";
import { type Server, SERVER_TITLES, type ServerName, startServer } from "./servers.ts";
import { type CostedRun, runCosted } from "./wrk.ts";

/** All runs of one cell, by server; runs of the same index were made one after another. */
export type CellRuns = ReadonlyMap<ServerName, readonly CostedRun[]>;

const WARM_UP_SECONDS = 2;
const TITLES: Readonly<Record<GoalFigure, string>> = {
  perSecond: "requests/s",
  p99Millis: "p99",
  serverCpu: "CPU",
};

/** Starts the servers over the same models and measures the cells of one model. */
export async function measureHttp(
  model: string,
  cells: readonly HttpCell[],
  bench: BenchRun,
): Promise<Section> {
  await using running = new AsyncDisposableStack();
  const started: Server[] = [];
  for (const name of bench.servers) {
    bench.progress(`starting ${SERVER_TITLES[name]}`);
    started.push(running.use(await startServer(name, bench.models.repository)));
  }
  const results: [HttpCell, CellRuns][] = [];
  for (const cell of cells) {
    results.push([cell, await measureCell(cell, started, bench)]);
  }
  return section(model, results);
}

async function measureCell(
  { name, model: modelName, form, connections }: HttpCell,
  servers: readonly Server[],
  { models: { models }, seconds, runs, progress }: BenchRun,
): Promise<CellRuns> {
  const model = models.get(modelName)!;
  const wrk = (server: Server, seconds: number) =>
    runCosted(server.pid, {
      url: inferUrl(server, model.name),
      request: model.requests[form],
      connections,
      seconds,
    });
  for (const server of servers) {
    progress(`${name}: warming up ${SERVER_TITLES[server.name]}`);
    await checkAnswer(inferUrl(server, model.name), model, form);
    await wrk(server, Math.min(WARM_UP_SECONDS, seconds));
  }
  const results = new Map(servers.map(({ name }): [ServerName, CostedRun[]] => [name, []]));
  for (let run = 1; run <= runs; run++) {
    for (const server of servers) {
      progress(`${name}: run ${run} of ${runs}, ${SERVER_TITLES[server.name]}`);
      await untilIdle(server);
      results.get(server.name)!.push(await wrk(server, seconds));
    }
  }
  return results;
}

/** Where a server answers inference requests for a model. */
export function inferUrl(server: Server, model: string): string {
  return `${server.url}/v2/models/${model}/infer`;
}

/** Sends one request and throws unless every value of the answer is ONNX Runtime's own. */
export async function checkAnswer(url: string, model: BenchModel, form: Form): Promise<void> {
  const { path, headers } = model.requests[form];
  const response = await fetch(url, { method: "POST", headers, body: await Deno.readFile(path) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  const values = form === "json"
    ? Float32Array.from((await response.json()).outputs[0].data)
    : binaryValues(
      await response.arrayBuffer(),
      Number(response.headers.get("inference-header-content-length")),
    );
  const { expected } = model;
  const scale = expected.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  const wrong = expected.findIndex((value, i) => !(Math.abs(values[i] - value) <= 1e-5 * scale));
  if (values.length !== expected.length || wrong >= 0) {
    throw new Error(
      `${url} gave ${values.length} values with ${values[wrong]} at ${wrong}, ` +
        `expected ${expected.length} with ${expected[wrong]}`,
    );
  }
}

function binaryValues(body: ArrayBuffer, headerLength: number): Float32Array {
  return new Float32Array(body.slice(headerLength));
}

/** Waits until a server has finished what the last run left behind, for three seconds at most. */
async function untilIdle({ pid }: Server): Promise<void> {
  for (let i = 0; i < 10; i++) {
    const before = cpuSeconds(pid);
    await new Promise((resolve) => setTimeout(resolve, 300));
    if (cpuSeconds(pid) - before <= 0.02) return;
  }
}

function section(model: string, results: readonly [HttpCell, CellRuns][]): Section {
  const rows: string[][] = [];
  const all: Verdict[] = [];
  for (const [{ name, form, connections, goals }, runs] of results) {
    for (const [server, own] of runs) {
      const ratio = (figure: GoalFigure) =>
        pairedRatio(runs.get("sluice")!.map((run) => run[figure]), own.map((run) => run[figure]));
      const verdicts = goals.filter(({ against }) => against === server && runs.has("sluice"))
        .map(({ figure, bound, ratio: value }) =>
          judge(
            `${name} against ${SERVER_TITLES[server]}`,
            TITLES[figure],
            ratio(figure),
            bound,
            value,
          )
        );
      all.push(...verdicts);
      const compared = server !== "sluice" && runs.has("sluice");
      rows.push([
        form,
        `${connections}`,
        SERVER_TITLES[server],
        spread(own.map((run) => run.perSecond)),
        significant(median(own.map((run) => run.p50Millis))),
        spread(own.map((run) => run.p99Millis)),
        spread(own.map((run) => run.serverCpu)),
        `${Math.round(Math.max(...own.map((run) => run.otherLoad)) * 100)} %`,
        compared ? ratio("perSecond").toFixed(2) : "",
        compared ? ratio("p99Millis").toFixed(2) : "",
        compared ? ratio("serverCpu").toFixed(2) : "",
        verdictCell(verdicts),
      ]);
    }
  }
  return {
    table: { title: model, columns: COLUMNS, rows },
    verdicts: all,
    data: results.map(([cell, runs]) => ({ cell: cell.name, runs: Object.fromEntries(runs) })),
  };
}

/** The last four are of the plain servers' rows: Sluice's figure over theirs, and the goals. */
const COLUMNS = [
  ...["request", "connections", "server", "requests/s", "p50 ms", "p99 ms", "CPU s / 1000"],
  ...["other load", "÷ requests/s", "÷ p99", "÷ CPU", "goal"],
];

function spread(values: readonly number[]): string {
  const middle = significant(median(values));
  if (values.length === 1) return middle;
  return `${middle} (${significant(Math.min(...values))}–${significant(Math.max(...values))})`;
}
