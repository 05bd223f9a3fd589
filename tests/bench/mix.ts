/**
 * A large model that is always asked and a small one that is asked now and then, on one server.
 *
 * @module
 */
import type { Report } from "../load/report.ts";
import type { BenchRun } from "./bench_run.ts";
import { judge, median, pairedRatio, significant, type Verdict } from "./figures.ts";
import { inferUrl } from "./drive.ts";
import { generatorCell, sendLoad } from "./load_run.ts";
import { type Section, verdictCell } from "./report.ts";
import { SERVER_TITLES, type ServerName, startServer } from "./servers.ts";
import { runWrk, type WrkRun } from "./wrk.ts";

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

/** What both clients saw. The large model's is wrk, which takes little of the processor. */
interface Sample {
  readonly large: WrkRun;
  readonly small: Report;
}

/** Each server alone, in turns. */
export async function measureMix(
  { servers, models, seconds, runs, progress }: BenchRun,
): Promise<Section> {
  const contestants = CONTESTANTS.filter(({ server }) => servers.includes(server));
  const samples = new Map(contestants.map((each): [Contestant, Sample[]] => [each, []]));
  for (let run = 1; run <= runs; run++) {
    for (const contestant of contestants) {
      progress(`mix: run ${run} of ${runs}, ${contestant.title}`);
      const { server: name, flags } = contestant;
      await using server = await startServer(name, models.repository, ...flags);
      const [large, small] = await Promise.all([
        runWrk({
          url: inferUrl(server, LARGE),
          request: models.models.get(LARGE)!.requests.binary,
          connections: CLIENTS,
          seconds,
        }),
        sendLoad({
          url: server.url,
          durationSeconds: seconds,
          models: [{
            name: SMALL,
            arrivals: { kind: "poisson", rate: PER_SECOND },
            shapes: { x: [1, 4] },
          }],
        }),
      ]);
      samples.get(contestant)!.push({ large, small });
    }
  }
  return section(samples);
}

const throughput = ({ large }: Sample) => large.perSecond;
const p99 = ({ small: { models: [model] } }: Sample) => model.intended.p99;

function section(all: ReadonlyMap<Contestant, readonly Sample[]>): Section {
  const rows: string[][] = [];
  const verdicts: Verdict[] = [];
  const plain = [...all].filter(([{ server }]) => server !== "sluice");
  for (const [{ title, server }, samples] of all) {
    const judged = server !== "sluice" ? [] : plain.flatMap(([{ title: other }, theirs]) => {
      const ratio = (figure: (sample: Sample) => number) =>
        pairedRatio(samples.map(figure), theirs.map(figure));
      const subject = `mix, ${title} against ${other}`;
      return [
        judge(subject, `p99 ÷ ${other}'s`, ratio(p99), "at most", GOAL_P99),
        judge(subject, `throughput ÷ ${other}'s`, ratio(throughput), "at least", GOAL_THROUGHPUT),
      ];
    });
    verdicts.push(...judged);
    rows.push([
      title,
      significant(median(samples.map(throughput))),
      significant(median(samples.map(({ small: { models: [model] } }) => model.throughput))),
      significant(median(samples.map(({ small: { models: [model] } }) => model.intended.p50))),
      significant(median(samples.map(p99))),
      generatorCell((samples.find(({ small }) => !small.verdict.valid) ?? samples[0]).small),
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
    data: Object.fromEntries(Array.from(all, ([{ title }, samples]) => [title, samples])),
  };
}

const COLUMNS = [
  ...["server", `${LARGE}/s`, `${SMALL}/s`, `${SMALL} p50 ms`, `${SMALL} p99 ms`],
  ...["generator", "goal"],
];
