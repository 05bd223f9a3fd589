/**
 * The flags of `deno task register`.
 *
 * @module
 */
import type { Addition } from "../../models/repository.ts";
import { checkModelName } from "../../models/repository/names.ts";
import { DEFAULT_REPOSITORY } from "../main.ts";
import { type Command, UsageError, wholeNumber } from "./command.ts";

const AFTER_HELP = `
SOURCE is a file, a folder (of Triton's layout, or with one .onnx file in it), a path in an npm
package (npm:package@version/path), or an https URL with --sha256. Of a folder of Triton's layout
all versions come and keep their numbers, or the one that --version names.

Settings are the model's: --max-batch, --priority, --weight, --pin, --carry, --max-idle,
--checkpoint, samples, labels and config.pbtxt hold for all its versions, also for those that were
there before.

With --carry the model runs in sequences: the value of an output is an input of the same sequence's
next iteration, and stays on the device in between. Both have one shape; a free dimension is the one
that sequences are joined along.

The model is loaded and run once, on its samples or on zeros of its shapes, and it is found out
whether requests may be joined. A model that does not load is refused, and nothing is changed; one
that does not run on zeros is taken with a warning. A gateway that is running already does not see
what comes into its repository: have it load the model, or use --server. What is uploaded so takes
the place of all versions of the model that the gateway serves, and of their settings.

Examples:
  deno task register digits ./digits.onnx
  deno task register vad npm:@ricky0123/vad-web@0.0.31/dist/silero_vad_v5.onnx --priority 1
  deno task register vad ./vad.onnx --carry stateN=state --max-idle 10
  deno task register wine https://example.org/wine.onnx --sha256 9f86d0... --max-batch 64
  deno task register digits ./digits.onnx --server http://127.0.0.1:8000

Exit codes: 0 registered; 1 refused or failed, nothing changed; 2 wrong flags.
`;

interface Flags {
  readonly version?: string;
  readonly maxBatch?: string;
  readonly priority?: string;
  readonly weight?: string;
  readonly pin?: true;
  readonly carry?: readonly string[];
  readonly maxIdle?: string;
  readonly checkpoint?: string;
  readonly sha256?: string;
  readonly repository?: string;
  readonly server?: string;
  readonly adminKey?: string;
  readonly trial: boolean;
}

/** Adds arguments, flags and their explanation. */
export function defineFlags(command: Command): Command {
  return command
    .description("Fetch, check and add a model to a repository, or to a running gateway.")
    .argument("<name>", "What it shall be called: letters, digits, '.', '_' and '-'.")
    .argument("<source>", "Where it comes from; see below.")
    .option(
      "--version <n>",
      "Its version; of a folder with versions, the one to take. Without it: the next, or all.",
    )
    .option("--max-batch <n>", "Rows that an iteration may join.")
    .option("--priority <n>", "Priority of its requests that name none; 1 is most urgent.")
    .option("--weight <n>", "Share of device time under fair policies. (default: 1)")
    .option("--pin", "Keep it on the device when models are evicted; none is so far.")
    .option(
      "--carry <output=input>",
      "An output that carries over to an input; give it once for each.",
      (pair: string, before: readonly string[] = []) => [...before, pair],
    )
    .option("--max-idle <s>", "Seconds that a sequence may wait for its client. (default: 60)")
    .option(
      "--checkpoint <name>",
      "Model whose versions its jobs' checkpoints are. (default: itself)",
    )
    .option("--sha256 <hex>", "Hash that its file must have; needed for URLs.")
    .option("--repository <dir>", `Folder to add it to. (default: ${DEFAULT_REPOSITORY})`)
    .option("--server <url>", "Upload it to the gateway there instead, which serves it at once.")
    .option("--admin-key <key>", "The gateway's; better in the variable SLUICE_ADMIN_KEY.")
    .option("--no-trial", "Do not load and run it first.")
    .addHelpText("after", AFTER_HELP);
}

/** What the flags ask for. */
export interface Registration extends Required<Pick<Addition, "settings">> {
  /** The number that it shall have, or the one to take of a folder with several. */
  readonly version?: number;
  /** Hash that the file must have. */
  readonly sha256?: string;
  /** Folder of the repository. */
  readonly repository?: string;
  /** Where the gateway is that shall have it instead. */
  readonly server?: string;
  /** The gateway's. */
  readonly adminKey?: string;
  /** Whether it is loaded and run first. */
  readonly trial: boolean;
}

/**
 * What the flags say.
 *
 * @throws {UsageError} A flag's value is none that it takes, or two flags exclude one another.
 */
export function readFlags(command: Command): Registration {
  const { version, maxBatch, priority, weight, pin, carry, maxIdle, checkpoint, ...rest } = command
    .opts<Flags>();
  const { sha256, repository, server } = rest;
  if (repository !== undefined && server !== undefined) {
    throw new UsageError("--repository and --server are both given; expected one of them");
  }
  if (checkpoint !== undefined) checkModelName(checkpoint);
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw new UsageError(`--sha256 is "${sha256}"; expected 64 hexadecimal digits`);
  }
  return {
    ...rest,
    version: version === undefined ? undefined : wholeNumber("--version", version),
    settings: {
      ...maxBatch !== undefined && { maxBatch: wholeNumber("--max-batch", maxBatch) },
      ...priority !== undefined && { priority: wholeNumber("--priority", priority) },
      ...weight !== undefined && { weight: positive("--weight", weight) },
      ...pin && { pin },
      ...carry !== undefined && { carry: carryOf(carry) },
      ...maxIdle !== undefined && { maxIdleSeconds: positive("--max-idle", maxIdle) },
      ...checkpoint !== undefined && { checkpoint },
    },
  };
}

function positive(flag: string, text: string): number {
  const value = Number(text);
  if (value > 0 && value < Infinity) return value;
  throw new UsageError(`${flag} is "${text}"; expected a number above 0`);
}

/** Names may have any character; the first "=" behind one parts them. */
function carryOf(pairs: readonly string[]): Record<string, string> {
  const carry = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf("=", 1);
    const [output, input] = [pair.slice(0, at), pair.slice(at + 1)];
    if (at < 0 || input === "") {
      throw new UsageError(`--carry is "${pair}"; expected an output and an input: OUTPUT=INPUT`);
    }
    if (carry.has(output)) {
      throw new UsageError(`--carry names output "${output}" twice; expected one input for it`);
    }
    carry.set(output, input);
  }
  return Object.fromEntries(carry);
}
