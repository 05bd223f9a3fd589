/**
 * `deno task bench`: measures Sluice against plain servers over the same models, and against ONNX
 * Runtime alone. `docs/benchmarks.md` says how each figure is taken.
 *
 * @module
 */
import { Option } from "commander";
import yoctoSpinner from "yocto-spinner";
import {
  defineCommand,
  EXIT,
  type Run,
  runAsProcess,
  UsageError,
} from "../../server/commands/command.ts";
import type { BenchRun } from "./bench_run.ts";
import { measureCuda } from "./cuda.ts";
import { measureHttp } from "./drive.ts";
import { measureEventLoop } from "./event_loop.ts";
import { significant } from "./figures.ts";
import { measureGeneration } from "./generation.ts";
import { HTTP_CELLS } from "./http_cells.ts";
import { measureIdle } from "./idle.ts";
import { machine } from "./machine.ts";
import { measureMemory } from "./memory.ts";
import { measureMix } from "./mix.ts";
import { writeModels } from "./models.ts";
import { measureOverload } from "./overload.ts";
import { renderMarkdown, renderText, type Section } from "./report.ts";
import { measureScheduler } from "./scheduler.ts";
import { measureSearch } from "./search.ts";
import { SERVER_NAMES, type ServerName } from "./servers.ts";
import { measureStarters } from "./starters.ts";
import { measureSwitching } from "./switching.ts";
import { measureTogether } from "./together.ts";
import { measureTraining } from "./training.ts";
import { requireWrk } from "./wrk.ts";

type Part = (run: BenchRun) => Promise<Section>;

/** What is measured besides the HTTP cells, by the name that `--only` takes. */
const PARTS: Readonly<Record<string, Part>> = {
  memory: measureMemory,
  starters: measureStarters,
  together: measureTogether,
  event_loop: measureEventLoop,
  scheduler: measureScheduler,
  switching: measureSwitching,
  idle: measureIdle,
  overload: measureOverload,
  mix: measureMix,
  generation: measureGeneration,
  training: measureTraining,
  search: measureSearch,
  cuda: measureCuda,
};

const NAMES = [...HTTP_CELLS.map(({ name }) => name), ...Object.keys(PARTS)];

/** Measures, prints tables and the goals that were missed. Its exit code says nothing of those. */
export const bench: Run = defineCommand(
  "bench",
  (command) =>
    command
      .description("Measures Sluice against plain servers and against ONNX Runtime alone.")
      .option("--only <names>", "parts to run, by name or the name's beginning, with commas", list)
      .addOption(
        new Option("--servers <names>", "servers to run, with commas")
          .default(SERVER_NAMES, SERVER_NAMES.join()).argParser(servers),
      )
      .option("--seconds <n>", "length of a run", positiveInteger("--seconds"), 5)
      .option("--runs <n>", "runs of each cell; medians are shown", positiveInteger("--runs"), 3)
      .option("--json <file>", "write every run's figures to a file")
      .option("--markdown", "print the tables as Markdown")
      .addHelpText("after", `\nNames: ${NAMES.join(", ")}`),
  async (command, io) => {
    const options = command.opts<{
      only?: string[];
      servers: readonly ServerName[];
      seconds: number;
      runs: number;
      json?: string;
      markdown?: true;
    }>();
    const selected = select(options.only);
    const { servers, seconds, runs } = options;
    await requireWrk();
    const spinner = io.interactive ? yoctoSpinner().start() : undefined;
    const progress = (what: string) => {
      if (spinner) spinner.text = what;
      else io.err(`${what}\n`);
    };
    const sections: Section[] = [];
    const failures: string[] = [];
    try {
      progress("writing the models");
      const run: BenchRun = { servers, models: await writeModels(), seconds, runs, progress };
      for (const [name, measure] of parts(selected)) {
        try {
          sections.push(await measure(run));
        } catch (error) {
          // The other parts' figures are good all the same.
          failures.push(`${name}: ${error instanceof Error ? error.message : error}`);
        }
      }
    } finally {
      spinner?.stop();
    }

    const about = { ...await machine(), seconds, runs };
    const render = options.markdown ? renderMarkdown : renderText;
    io.out(`${Object.entries(about).map(([key, value]) => `${key} ${value}`).join(", ")}\n\n`);
    for (const { table } of sections) io.out(`${render(table)}\n`);
    const verdicts = sections.flatMap(({ verdicts }) => verdicts);
    const missed = verdicts.filter(({ met }) => !met);
    io.out(`${verdicts.length - missed.length} of ${verdicts.length} goals met\n`);
    for (const { subject, goal, figure } of missed) {
      io.out(`Missed: ${subject}: ${significant(figure)}, goal ${goal}\n`);
    }
    if (options.json !== undefined) {
      const results = sections.map(({ table: { title }, data, verdicts }) => (
        { title, data, verdicts }
      ));
      await Deno.writeTextFile(options.json, JSON.stringify({ ...about, results }, null, 2) + "\n");
    }
    if (failures.length === 0) return EXIT.ok;
    throw new Error(`Not measured: ${failures.join("; ")}`);
  },
);

/** One part per model over HTTP, then the others. */
function parts(selected: ReadonlySet<string>): [name: string, part: Part][] {
  const cells = HTTP_CELLS.filter(({ name }) => selected.has(name));
  const byModel = Map.groupBy(cells, ({ model }) => model);
  return [
    ...Array.from(byModel, ([model, cells]): [string, Part] => [
      model,
      (run) => measureHttp(model, cells, run),
    ]),
    ...Object.entries(PARTS).filter(([name]) => selected.has(name)),
  ];
}

function select(only: readonly string[] | undefined): Set<string> {
  if (only === undefined) return new Set(NAMES);
  const selected = new Set<string>();
  for (const prefix of only) {
    const names = NAMES.filter((name) => name.startsWith(prefix));
    if (names.length === 0) {
      throw new UsageError(
        `--only names ${prefix}, expected a name that --help shows or its beginning`,
      );
    }
    for (const name of names) selected.add(name);
  }
  return selected;
}

function list(text: string): string[] {
  return text.split(",").map((name) => name.trim()).filter((name) => name !== "");
}

function servers(text: string): ServerName[] {
  return list(text).map((name) => {
    const known = SERVER_NAMES.find((server) => server === name);
    if (known) return known;
    throw new UsageError(`--servers: unknown ${name}, expected ${SERVER_NAMES.join(", ")}`);
  });
}

function positiveInteger(flag: string): (text: string) => number {
  return (text) => {
    if (/^[1-9]\d*$/.test(text)) return Number(text);
    throw new UsageError(`${flag} is ${text}, expected a positive integer`);
  };
}

if (import.meta.main) await runAsProcess(bench);
