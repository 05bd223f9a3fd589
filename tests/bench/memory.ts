/**
 * Memory of each server with nine copies of `peer_mlp`, after load on every copy.
 *
 * @module
 */
import { inferUrl } from "./drive.ts";
import type { BenchRun } from "./bench_run.ts";
import { judge, median } from "./figures.ts";
import type { BenchModels } from "./models.ts";
import { type TreeMemory, treeMemory } from "./process_tree.ts";
import { type Section, verdictCell } from "./report.ts";
import { SERVER_TITLES, type ServerName, startServer } from "./servers.ts";
import { runWrk } from "./wrk.ts";

/** Megabytes that nine copies may take in all. */
const GOAL_MEGABYTES = 146;
const CONNECTIONS = 8;
const SECONDS_PER_COPY = 1;

/** One server at a time, so that none shares pages with another, and in turns. */
export async function measureMemory(
  { servers, models, runs, progress }: BenchRun,
): Promise<Section> {
  const samples = new Map(servers.map((name): [ServerName, TreeMemory[]] => [name, []]));
  for (let run = 1; run <= runs; run++) {
    for (const name of servers) {
      progress(`memory: run ${run} of ${runs}, ${SERVER_TITLES[name]}`);
      samples.get(name)!.push(await measureOnce(name, models));
    }
  }
  const rows: string[][] = [];
  const all = [];
  for (const [name, memory] of samples) {
    const pss = memory.map(({ pssBytes }) => pssBytes / 1e6);
    const verdicts = name === "sluice"
      ? [judge("nine copies of peer_mlp", "PSS MB", median(pss), "at most", GOAL_MEGABYTES)]
      : [];
    all.push(...verdicts);
    rows.push([
      SERVER_TITLES[name],
      `${memory[0].processes}`,
      `${median(pss).toFixed(0)} (${Math.min(...pss).toFixed(0)}–${Math.max(...pss).toFixed(0)})`,
      median(memory.map(({ rssBytes }) => rssBytes / 1e6)).toFixed(0),
      verdictCell(verdicts),
    ]);
  }
  return {
    table: {
      title: "Memory with nine copies of peer_mlp",
      columns: ["server", "processes", "PSS MB", "RSS MB", "goal"],
      rows,
    },
    verdicts: all,
    data: Object.fromEntries(samples),
  };
}

async function measureOnce(
  name: ServerName,
  { copies, copyNames, models }: BenchModels,
): Promise<TreeMemory> {
  await using server = await startServer(name, copies);
  for (const copy of copyNames) {
    await runWrk({
      url: inferUrl(server, copy),
      request: models.get("peer_mlp")!.requests.json,
      connections: CONNECTIONS,
      seconds: SECONDS_PER_COPY,
    });
  }
  return treeMemory(server.pid);
}
