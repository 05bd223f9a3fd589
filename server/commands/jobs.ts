/**
 * `deno task jobs`: shows a gateway's jobs, and pauses, resumes and cancels them.
 *
 * @module
 */
import {
  type Command,
  defineCommand,
  EXIT,
  type Run,
  runAsProcess,
  UsageError,
} from "./command.ts";
import { adminKey, DEFAULT_SERVER, GatewayClient } from "./gateway_client.ts";
import { jobTable, jobText } from "./job_text.ts";

const AFTER_HELP = `
A pause comes after the iteration that runs, with a checkpoint; the job keeps its memory on the
device. A gateway that is started anew has forgotten its jobs: go on from their checkpoints with
deno task submit --resume-from.

Examples:
  deno task jobs
  deno task jobs 3f2a9c01d4e7
  deno task jobs --pause 3f2a9c01d4e7

Exit codes: 0 done; 1 failed; 2 wrong flags.
`;

const CHANGES = ["pause", "resume", "cancel"] as const;

interface Flags extends Partial<Readonly<Record<typeof CHANGES[number], string>>> {
  readonly json?: true;
  readonly server?: string;
  readonly adminKey?: string;
}

/** Shows or changes jobs. */
export const jobs: Run = defineCommand("jobs", defineFlags, async (command, io) => {
  const flags = command.opts<Flags>();
  const [id] = command.args;
  const [change, ...others] = CHANGES.filter((name) => flags[name] !== undefined);
  if (others.length > 0 || change !== undefined && id !== undefined) {
    throw new UsageError("expected one of an id, --pause, --resume and --cancel");
  }
  if ((id ?? (change && flags[change])) === "") {
    throw new UsageError("the id of the job is empty; deno task jobs shows all of them");
  }
  const gateway = new GatewayClient(flags.server ?? DEFAULT_SERVER, adminKey(flags.adminKey, io));
  const print = <Shown>(shown: Shown, text: (shown: Shown) => string) =>
    io.out(flags.json ? JSON.stringify(shown, null, 2) + "\n" : text(shown));
  if (change !== undefined) print(await gateway.changeJob(flags[change]!, change), jobText);
  else if (id !== undefined) print(await gateway.job(id), jobText);
  else print(await gateway.jobs(), jobTable);
  return EXIT.ok;
});

function defineFlags(command: Command): Command {
  return command
    .description("Show a gateway's jobs: state, iterations, metrics, time left, checkpoints.")
    .argument("[id]", "Show all of this one.")
    .option("--pause <id>", "Pause it after the iteration that runs.")
    .option("--resume <id>", "Go on with it.")
    .option("--cancel <id>", "End it for good.")
    .option("--json", "Print JSON.")
    .option("--server <url>", `The gateway. (default: ${DEFAULT_SERVER})`)
    .option("--admin-key <key>", "The gateway's; better in the variable SLUICE_ADMIN_KEY.")
    .addHelpText("after", AFTER_HELP);
}

if (import.meta.main) await runAsProcess(jobs);
