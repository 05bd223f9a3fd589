/**
 * A large model that is always asked and a small one that is asked now and then, on one server.
 *
 * @module
 */
import type { Report } from "../load/report.ts";
import type { BenchRun } from "./bench_run.ts";
import { judge, median, pairedRatio, significant, type Verdict } from "./figures.ts";
import { generatorCell, sendLoad } from "./load_run.ts";
import { type Section, verdictCell } from "./report.ts";
import { SERVER_TITLES, type ServerName, startServer } from "./servers.ts";

const LARGE = "peer_cnn", SMALL = "peer_small";
const CLIENTS = 8;
const PER_SECOND = 100;
const GOAL_P99 = 0.25, GOAL_THROUGHPUT = 0.98;

interface Contestant {
  readonly title: string;
  readonly server: ServerName;
  readonly flags: readonly string[];
}

/**
 * First come, first served; the default; the default on one lane, which is sooner free for what is
 * short; and the plain servers.
 */
const CONTESTANTS: readonly Contestant[] = [
  { title: "Sluice, fifo", server: "sluice", flags: ["--policy", "fifo"] },
  { title: "Sluice, fair", server: "sluice", flags: ["--policy", "fair"] },
  {
    title: "Sluice, fair, one lane",
    server: "sluice",
    flags: ["--policy", "fair", "--lanes", "1"],
  },
  { title: SERVER_TITLES.deno, server: "deno", flags: [] },
  { title: SERVER_TITLES.fastify, server: "fastify", flags: [] },
];

/** Each server alone, in turns. */
export async function measureMix(
  { servers, models, seconds, runs, progress }: BenchRun,
): Promise<Section> {
  const contestants = CONTESTANTS.filter(({ server }) => servers.includes(server));
  const reports = new Map(contestants.map((each): [Contestant, Report[]] => [each, []]));
  for (let run = 1; run <= runs; run++) {
    for (const contestant of contestants) {
      progress(`mix: run ${run} of ${runs}, ${contestant.title}`);
      const { server: name, flags } = contestant;
      await using server = await startServer(name, models.repository, ...flags);
      reports.get(contestant)!.push(
        await sendLoad({
          url: server.url,
          durationSeconds: seconds,
          models: [
            { name: LARGE, closed: { concurrency: CLIENTS }, shapes: { x: [1, 3, 224, 224] } },
            { name: SMALL, arrivals: { kind: "poisson", rate: PER_SECOND }, shapes: { x: [1, 4] } },
          ],
        }),
      );
    }
  }
  return section(reports);
}

const throughput = ({ models: [large] }: Report) => large.throughput;
const p99 = ({ models: [, small] }: Report) => small.intended.p99;

function section(all: ReadonlyMap<Contestant, readonly Report[]>): Section {
  const rows: string[][] = [];
  const verdicts: Verdict[] = [];
  const plain = [...all].filter(([{ server }]) => server !== "sluice");
  for (const [{ title, server }, reports] of all) {
    const judged = server !== "sluice" ? [] : plain.flatMap(([{ title: other }, theirs]) => {
      const ratio = (figure: (report: Report) => number) =>
        pairedRatio(reports.map(figure), theirs.map(figure));
      const subject = `mix, ${title} against ${other}`;
      return [
        judge(subject, `p99 ÷ ${other}'s`, ratio(p99), "at most", GOAL_P99),
        judge(subject, `throughput ÷ ${other}'s`, ratio(throughput), "at least", GOAL_THROUGHPUT),
      ];
    });
    verdicts.push(...judged);
    rows.push([
      title,
      significant(median(reports.map(throughput))),
      significant(median(reports.map(({ models: [, small] }) => small.throughput))),
      significant(median(reports.map(({ models: [, small] }) => small.intended.p50))),
      significant(median(reports.map(p99))),
      generatorCell(reports.find(({ verdict }) => !verdict.valid) ?? reports[0]),
      verdictCell(judged),
    ]);
  }
  return {
    table: {
      title: `${LARGE} from ${CLIENTS} clients, ${SMALL} ${PER_SECOND} times a second`,
      columns: COLUMNS,
      rows,
    },
    verdicts,
    data: Object.fromEntries(Array.from(all, ([{ title }, reports]) => [title, reports])),
  };
}

const COLUMNS = [
  ...["server", `${LARGE}/s`, `${SMALL}/s`, `${SMALL} p50 ms`, `${SMALL} p99 ms`],
  ...["generator", "goal"],
];
