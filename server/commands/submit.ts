/**
 * `deno task submit`: has a gateway run a model's iterations that nobody waits for.
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
  wholeNumber,
} from "./command.ts";
import { followJob } from "./follow_job.ts";
import { adminKey, DEFAULT_SERVER, GatewayClient } from "./gateway_client.ts";
import { readInputs } from "./job_inputs.ts";
import { jobText } from "./job_text.ts";

const AFTER_HELP = `
The model's manifest.json has "carry": outputs whose values are inputs of the next iteration, weights
above all. They start from the model's own values, or from those of a checkpoint. All other inputs
are the same in every iteration. docs/jobs.md has an example from beginning to end.

Examples:
  deno task submit digits_training --iterations 500 --input learning_rate=0.1
  deno task submit digits_training --iterations 500 --input learning_rate=0.1 --checkpoint-every 100 --follow
  deno task submit digits_training --iterations 900 --input learning_rate=0.05 --resume-from digits_trained/7

Exit codes: 0 submitted, or completed with --follow; 1 refused, failed or cancelled; 2 wrong flags.
`;

interface Flags {
  readonly iterations: string;
  readonly input?: readonly string[];
  readonly version?: string;
  readonly name?: string;
  readonly priority?: string;
  readonly tenant?: string;
  readonly checkpointEvery?: string;
  readonly checkpoints: boolean;
  readonly resumeFrom?: string;
  readonly follow?: true;
  readonly json?: true;
  readonly server?: string;
  readonly adminKey?: string;
}

/** Submits a job, and may watch it to its end. */
export const submit: Run = defineCommand("submit", defineFlags, async (command, io) => {
  const flags = command.opts<Flags>();
  const [model] = command.args;
  const { version, name, tenant, resumeFrom } = flags;
  if (!flags.checkpoints && flags.checkpointEvery !== undefined) {
    throw new UsageError("--checkpoint-every and --no-checkpoints are both given; expected one");
  }
  if (version !== undefined) wholeNumber("--version", version);
  const fields = {
    model,
    version,
    name,
    tenant,
    resume_from: resumeFrom,
    iterations: wholeNumber("--iterations", flags.iterations),
    priority: optionalNumber("--priority", flags.priority),
    checkpoint_every: flags.checkpoints
      ? optionalNumber("--checkpoint-every", flags.checkpointEvery)
      : 0,
  };
  const gateway = new GatewayClient(flags.server ?? DEFAULT_SERVER, adminKey(flags.adminKey, io));
  const inputs = readInputs(flags.input ?? [], model, await gateway.model(model, version));
  const submitted = await gateway.submitJob({ ...fields, inputs });
  const show = (job: typeof submitted) =>
    io.out(flags.json ? JSON.stringify(job, null, 2) + "\n" : jobText(job));
  if (!flags.follow) {
    show(submitted);
    return EXIT.ok;
  }
  const job = await followJob(gateway, submitted, io);
  show(job);
  return job.state === "failed" || job.state === "cancelled" ? EXIT.failed : EXIT.ok;
});

function defineFlags(command: Command): Command {
  const collect = (value: string, before: readonly string[] = []) => [...before, value];
  return command
    .description("Have a gateway run a model again and again, such as a training step.")
    .argument("<model>", "Whose iterations to run.")
    .requiredOption("--iterations <n>", "How many; those before a resumption count.")
    .option(
      "--input <name=values>",
      "An input's value, or values with commas; give it once for each.",
      collect,
    )
    .option("--version <n>", "The model's version. (default: the newest)")
    .option("--name <text>", "What to call it.")
    .option("--priority <n>", "1 is most urgent. (default: the model's)")
    .option("--tenant <name>", "Whose it is, for policies that share between tenants.")
    .option(
      "--checkpoint-every <n>",
      "Iterations from checkpoint to checkpoint. (default: one at the end)",
    )
    .option("--no-checkpoints", "Write none at all.")
    .option(
      "--resume-from <model/version>",
      "A checkpoint to go on from; the newest without a version.",
    )
    .option("--follow", "Watch it to its end; a stop signal ends the watching only.")
    .option("--json", "Print JSON.")
    .option("--server <url>", `The gateway. (default: ${DEFAULT_SERVER})`)
    .option("--admin-key <key>", "The gateway's; better in the variable SLUICE_ADMIN_KEY.")
    .addHelpText("after", AFTER_HELP);
}

function optionalNumber(flag: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : wholeNumber(flag, text);
}

if (import.meta.main) await runAsProcess(submit);
