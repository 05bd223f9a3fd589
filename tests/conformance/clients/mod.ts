/**
 * `deno task conformance`: runs clients as their makers publish them against a gateway of its own.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import yoctoSpinner from "yocto-spinner";
import {
  defineCommand,
  EXIT,
  type Run,
  runAsProcess,
  UsageError,
} from "../../../server/commands/command.ts";
import { type ClientChecks, Unavailable } from "./client.ts";
import { curlChecks } from "./curl.ts";
import { startClientGateway } from "./fixtures.ts";
import { perfAnalyzerChecks } from "./perf_analyzer.ts";
import { tritonChecks } from "./triton/compare.ts";
import { tritonclientChecks } from "./tritonclient.ts";

const CLIENTS: ReadonlyMap<string, ClientChecks> = new Map([
  ["curl", curlChecks],
  ["tritonclient", tritonclientChecks],
  ["perf_analyzer", perfAnalyzerChecks],
  ["triton", tritonChecks],
]);

/** Runs only where it is named: it is a server itself, and large. */
const ONLY_NAMED = "triton";

/** Nothing failed, but a client could not be had. */
const EXIT_UNAVAILABLE = 3;

const INSTALL_FOLDER = fileURLToPath(new URL("../../../.venv/clients", import.meta.url));

const AFTER_HELP = `
Clients: ${[...CLIENTS.keys()].join(", ")}. Those in Python need python3 and a package index; they
are installed into .venv/clients, which may be deleted at any time. triton runs only where --only
names it: it starts a real Triton and compares its answers with the gateway's.

Exit codes: 0 all checks passed; 1 some failed; 2 wrong flags; 3 none failed, but a client could not
be had.
`;

/** Runs the clients' checks and counts them. */
export const conformance: Run = defineCommand(
  "conformance",
  (command) =>
    command.description("Run unmodified clients of Triton against the gateway.")
      .option("--only <names>", "clients to run, with commas", selection)
      .option("--verbose", "name the checks that passed, too")
      .addHelpText("after", AFTER_HELP),
  async (command, io) => {
    const options = command.opts<{ only?: readonly string[]; verbose?: true }>();
    const spinner = io.interactive ? yoctoSpinner().start() : undefined;
    const progress = (what: string) => {
      if (spinner) spinner.text = what;
      else io.err(`${what}\n`);
    };
    let failed = 0, missing = 0;
    const report: string[] = [];
    try {
      progress("Starting the gateway");
      await using gateway = await startClientGateway();
      const setting = { address: gateway.address, installFolder: INSTALL_FOLDER, progress };
      for (const [name, checks] of CLIENTS) {
        if (options.only ? !options.only.includes(name) : name === ONLY_NAMED) continue;
        const counts = { passed: 0, failed: 0 };
        try {
          for await (const { name: what, problem } of checks(setting)) {
            counts[problem === undefined ? "passed" : "failed"]++;
            if (problem !== undefined) report.push(`${name}: ${what}: ${problem}`);
            else if (options.verbose) report.push(`${name}: ${what}: ok`);
          }
          report.push(`${name}: ${counts.passed} passed, ${counts.failed} failed`);
        } catch (error) {
          if (!(error instanceof Unavailable)) throw error;
          missing++;
          report.push(`${name}: not run: ${error.message}`);
        }
        failed += counts.failed;
      }
    } finally {
      spinner?.stop();
    }
    io.out(report.join("\n") + "\n");
    if (failed > 0) return EXIT.failed;
    return missing > 0 ? EXIT_UNAVAILABLE : EXIT.ok;
  },
);

function selection(text: string): string[] {
  return text.split(",").map((name) => {
    if (CLIENTS.has(name)) return name;
    throw new UsageError(`--only: unknown ${name}, expected ${[...CLIENTS.keys()].join(", ")}`);
  });
}

if (import.meta.main) await runAsProcess(conformance);
