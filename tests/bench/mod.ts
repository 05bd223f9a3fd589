/**
 * `deno task bench`: measures Sluice against plain servers over the same models, and against ONNX
 * Runtime alone. `docs/benchmarks.md` says how each figure is taken.
 *
 * @module
 */
import { Option } from "commander";
import spinner from "yocto-spinner";
import {
  defineCommand,
  EXIT,
  type Run,
  runAsProcess,
  UsageError,
} from "../../server/commands/command.ts";
import { measureHttp, type RunLength } from "./drive.ts";
import { HTTP_CELLS } from "./http_cells.ts";
import { machine } from "./machine.ts";
import { measureMemory } from "./memory.ts";
import { type BenchModels, writeModels } from "./models.ts";
import { renderMarkdown, renderText, type Section } from "./report.ts";
import { SERVER_NAMES, type ServerName } from "./servers.ts";
import { requireWrk } from "./wrk.ts";

interface Surroundings {
  readonly servers: readonly ServerName[];
  readonly models: BenchModels;
  readonly length: RunLength;
  progress(what: string): void;
}

/** What is measured besides the HTTP cells, by the name that `--only` takes. */
const PARTS: Readonly<Record<string, (around: Surroundings) => Promise<Section[]>>> = {
  memory: async ({ servers, models, length, progress }) => [
    await measureMemory(servers, models, length, progress),
  ],
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
    const cells = HTTP_CELLS.filter(({ name }) => selected.has(name));
    await requireWrk();
    const spinning = spinner({ text: "writing the models" }).start();
    const sections: Section[] = [];
    const around: Surroundings = {
      servers: options.servers,
      models: await writeModels(),
      length: { seconds: options.seconds, runs: options.runs },
      progress: (what) => void (spinning.text = what),
    };
    const { models, length, progress } = around;
    try {
      if (cells.length > 0) {
        sections.push(...await measureHttp(cells, options.servers, models, length, progress));
      }
      for (const [name, measure] of Object.entries(PARTS)) {
        if (selected.has(name)) sections.push(...await measure(around));
      }
    } finally {
      spinning.stop();
    }

    const about = { ...await machine(), ...length };
    const render = options.markdown ? renderMarkdown : renderText;
    io.out(`${Object.entries(about).map(([key, value]) => `${key} ${value}`).join(", ")}\n\n`);
    for (const { table } of sections) io.out(`${render(table)}\n`);
    const verdicts = sections.flatMap(({ verdicts }) => verdicts);
    const met = verdicts.filter(({ met }) => met).length;
    io.out(`${met} of ${verdicts.length} goals met\n`);
    if (options.json !== undefined) {
      const results = sections.map(({ table: { title }, data, verdicts }) => (
        { title, data, verdicts }
      ));
      await Deno.writeTextFile(options.json, JSON.stringify({ ...about, results }, null, 2) + "\n");
    }
    return EXIT.ok;
  },
);

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
