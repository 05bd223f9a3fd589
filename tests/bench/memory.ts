/**
 * Memory of each server with nine copies of `peer_mlp`, after load on every copy.
 *
 * @module
 */
import { inferUrl, type RunLength } from "./drive.ts";
import { judge } from "./figures.ts";
import type { BenchModels } from "./models.ts";
import { treeMemory } from "./process_tree.ts";
import { type Section, verdictCell } from "./report.ts";
import { SERVER_TITLES, type ServerName, startServer } from "./servers.ts";
import { runWrk } from "./wrk.ts";

/** Megabytes that nine copies may take in all. */
const GOAL_MEGABYTES = 146;
const CONNECTIONS = 8;

/** One server at a time, so that none of them shares pages with another. */
export async function measureMemory(
  servers: readonly ServerName[],
  { copies, copyNames, models }: BenchModels,
  { seconds }: RunLength,
  progress: (what: string) => void,
): Promise<Section> {
  const request = models.get("peer_mlp")!.requests.json;
  const results = [];
  for (const name of servers) {
    progress(`memory: ${SERVER_TITLES[name]}`);
    await using server = await startServer(name, copies);
    for (const copy of copyNames) {
      const url = inferUrl(server, copy);
      await runWrk({
        url,
        request,
        connections: CONNECTIONS,
        seconds: Math.min(1, seconds),
        pid: server.pid,
      });
    }
    results.push({ name, ...treeMemory(server.pid) });
  }
  const judged = results.map((result) => ({
    ...result,
    verdicts: result.name === "sluice"
      ? [judge("PSS MB", result.pssBytes / 1e6, "at most", GOAL_MEGABYTES)]
      : [],
  }));
  return {
    table: {
      title: "Memory with nine copies of peer_mlp",
      columns: ["server", "processes", "PSS MB", "RSS MB", "goal"],
      rows: judged.map(({ name, processes, pssBytes, rssBytes, verdicts }) => [
        SERVER_TITLES[name],
        `${processes}`,
        (pssBytes / 1e6).toFixed(0),
        (rssBytes / 1e6).toFixed(0),
        verdictCell(verdicts),
      ]),
    },
    verdicts: judged.flatMap(({ verdicts }) => verdicts),
    data: results,
  };
}
