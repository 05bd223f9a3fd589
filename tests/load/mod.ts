/**
 * `deno task load`: sends a load to a server of the Open Inference Protocol, and reports.
 *
 * @module
 */
import { dirname } from "node:path";
import { SystemClock } from "../../models/clock.ts";
import { messageOf, SluiceError } from "../../models/errors.ts";
import {
  type Command,
  defineCommand,
  EXIT,
  type Run,
  runAsProcess,
  usage,
  UsageError,
} from "../../server/commands/command.ts";
import type { Io } from "../../server/commands/io.ts";
import { stopSignals } from "../../server/commands/stop_signals.ts";
import { compare } from "./compare.ts";
import { reportCsv } from "./csv.ts";
import {
  defineScenarioFlags,
  type LoadFlags,
  overrides,
  refuseBesideFile,
  scenarioOfFlags,
} from "./flags.ts";
import { reportHtml } from "./html.ts";
import { ProgressLine } from "./progress.ts";
import type { Report } from "./report.ts";
import { runLoad } from "./run.ts";
import type { Scenario } from "./scenario.ts";
import { parseJsonFile, resolveScenario, scenarioJsonSchema } from "./scenario_schema.ts";
import { reportTable } from "./table.ts";
import { broken, parseThreshold } from "./thresholds.ts";

const AFTER_HELP = `
Prints tables. docs/load-testing.md says what each figure is; the scenario file's schema is
tests/load/scenario.schema.json (--schema). Ctrl-C ends the run and reports what was measured until then.

deno task load compare A.json B.json shows two runs side by side.

Examples:
  deno task load --model digits --rate 200 --slo 20
  deno task load --model digits wine --rate 400 --arrivals gamma:3 --zipf 1.1 --alone
  deno task load --model digits --concurrency 8 --think 5 --duration 30
  deno task load --model storyteller --rate 2 --prompt Once --max-tokens 5-200 --slo-ttft 100
  deno task load --scenario mix.json --html mix.html --json mix.json --fail-if 'digits:p99>50'

Exit codes: 0 valid, and within its thresholds; 1 not, interrupted, or failed; 2 wrong flags or
scenario.
`;

interface Flags extends LoadFlags {
  readonly alone?: true;
  readonly failIf?: readonly string[];
  readonly json?: string;
  readonly csv?: string;
  readonly html?: string;
  readonly schema?: true;
}

const run: Run = defineCommand(
  "load",
  (command: Command) =>
    defineScenarioFlags(
      command.description("Send a load to an inference server and report latency and goodput."),
    )
      .option("--alone", "Run each model alone first, and report how much slower it is together.")
      .option("--fail-if <condition...>", "Fail when it holds, e.g. 'p99>50', 'digits:goodput<90'.")
      .option("--json <file>", "Write the whole report.")
      .option("--csv <file>", "Write a line for each model.")
      .option("--html <file>", "Write one page with plots.")
      .option("--schema", "Print the JSON Schema of a scenario file, and send nothing.")
      .addHelpText("after", AFTER_HELP),
  async (command, io) => {
    const flags: Flags = command.opts();
    if (flags.schema) {
      io.out(JSON.stringify(scenarioJsonSchema(), null, 2) + "\n");
      return EXIT.ok;
    }
    const scenario = await usage(readScenario(flags));
    const names = scenario.models.map(({ name }) => name);
    const thresholds = await usage(
      Promise.resolve().then(() => flags.failIf?.map((text) => parseThreshold(text, names)) ?? []),
    );
    const outputs = [
      { flag: "--json", file: flags.json, text: toJson },
      { flag: "--csv", file: flags.csv, text: reportCsv },
      { flag: "--html", file: flags.html, text: reportHtml },
    ];
    for (const { flag, file } of outputs) await checkFolder(flag, file);
    const clock = new SystemClock();
    const stop = new AbortController();
    using signals = stopSignals(io);
    signals.first.then(() => stop.abort());
    let report: Report;
    {
      using line = new ProgressLine(io, clock, scenario.warmupSeconds + scenario.durationSeconds);
      report = await runLoad(scenario, flags.alone ?? false, {
        clock,
        fetch,
        readFile,
        stop: stop.signal,
        watch: (sample) => line.add(sample),
        phase: (what) => line.begin(what),
      });
    }
    io.out(reportTable(report));
    for (const { file, text } of outputs) {
      if (file !== undefined) await Deno.writeTextFile(file, text(report));
    }
    const failures = thresholds.flatMap((threshold) => broken(threshold, report));
    for (const failure of failures) io.err(`Failed: ${failure}\n`);
    return failures.length === 0 && report.verdict.valid && !report.partial ? EXIT.ok : EXIT.failed;
  },
);

/** Sends a load, or compares two runs. */
export function load(argv: readonly string[], io: Io): Promise<number> {
  return argv[0] === "compare" ? compare(argv.slice(1), io) : run(argv, io);
}

async function readScenario(flags: Flags): Promise<Scenario> {
  if (flags.scenario === undefined) return resolveScenario(scenarioOfFlags(flags), "The flags");
  refuseBesideFile(flags);
  const given = parseJsonFile(await readFile(flags.scenario), flags.scenario);
  return resolveScenario({ ...Object(given), ...overrides(flags) }, flags.scenario);
}

function toJson(report: Report): string {
  return JSON.stringify(report, null, 2) + "\n";
}

/** A wrong path is found before the run, not after it. */
async function checkFolder(flag: string, file: string | undefined): Promise<void> {
  if (file === undefined) return;
  const folder = dirname(file);
  try {
    if ((await Deno.stat(folder)).isDirectory) return;
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
  }
  throw new UsageError(`${flag} is "${file}"; there is no folder "${folder}"`);
}

async function readFile(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    throw new SluiceError("not_found", `${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

if (import.meta.main) await runAsProcess(load);
