/**
 * `deno task register`: brings a model into a repository, or to a running gateway.
 *
 * @module
 */
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { SluiceError } from "../../models/errors.ts";
import type { Model } from "../../models/model.ts";
import { type BatchingProbe, FileRepository, type NewVersion } from "../../models/repository.ts";
import { fetchSource } from "../../models/sources/fetch.ts";
import { formatBytes } from "../bytes.ts";
import { openDevice } from "../devices.ts";
import { DEFAULT_REPOSITORY, repositoryFolder } from "../main.ts";
import {
  type Command,
  defineCommand,
  EXIT,
  type Run,
  runAsProcess,
  usage,
  UsageError,
  wholeNumber,
} from "./command.ts";
import { adminKey, GatewayClient, type UploadedFiles } from "./gateway_client.ts";
import type { Io } from "./io.ts";
import { withProgress } from "./progress.ts";
import { formatSignature, joining } from "./signature.ts";
import { printable } from "./table.ts";
import { temporaryFolder } from "./temporary_folder.ts";
import { type Trial, tryModel } from "./trial.ts";

const AFTER_HELP = `
SOURCE is a file, a folder (of Triton's layout, or with one .onnx file in it), a path in an npm
package (npm:package@version/path), or an https URL with --sha256.

The model is loaded and run once, on its samples or on zeros of its shapes, and it is found out
whether requests may be joined. A model that does not load is refused, and nothing is changed; one
that does not run on zeros is taken with a warning. A gateway that is running already does not see
what comes into its repository: have it load the model, or use --server.

Examples:
  deno task register digits ./digits.onnx
  deno task register vad npm:@ricky0123/vad-web@0.0.31/dist/silero_vad_v5.onnx --priority 1
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
  readonly sha256?: string;
  readonly repository?: string;
  readonly server?: string;
  readonly adminKey?: string;
  readonly trial: boolean;
}

/** Fetches, checks, shows and installs or uploads a model. */
export const register: Run = defineCommand("register", defineFlags, async (command, io) => {
  const flags = command.opts<Flags>();
  const [name, source] = command.args;
  const { version, settings } = await usage(Promise.try(() => readFlags(flags)));
  const gateway = flags.server === undefined
    ? undefined
    : new GatewayClient(flags.server, adminKey(flags.adminKey, io));
  const wanted = gateway === undefined ? version : await freeVersion(gateway, name, version);

  await using fetched = await withProgress(
    io,
    `Fetching ${source}`,
    fetchSource(source, { sha256: flags.sha256 }),
  );
  await using scratch = gateway === undefined ? undefined : await temporaryFolder();
  const folder = scratch?.path ?? await repositoryFolder(flags.repository);
  const repository = new FileRepository(folder, { warn: (message) => warn(io, message) });
  await using staged = await repository.stage({
    name,
    version: wanted,
    files: fetched.files,
    shared: fetched.shared,
    settings: { ...fetched.settings, ...settings },
    source: fetched.source,
  });
  const trial = flags.trial
    ? await withProgress(io, `Trying ${name}`, tryStaged(staged.model))
    : undefined;
  if (trial?.warning !== undefined) warn(io, `it did not run on zeros: ${trial.warning}`);
  await staged.commit(probeOf(staged.model, trial));
  if (gateway !== undefined) {
    const uploading = gateway.upload(name, await readFiles(join(folder, name)));
    await withProgress(io, `Uploading to ${gateway.url}`, uploading);
  }
  io.out(summary(staged.model, trial, gateway?.url ?? folder));
  return EXIT.ok;
});

function defineFlags(command: Command): Command {
  return command
    .description("Fetch, check and add a model to a repository, or to a running gateway.")
    .argument("<name>", "What it shall be called: letters, digits, '.', '_' and '-'.")
    .argument("<source>", "Where it comes from; see below.")
    .option("--version <n>", "Its version. Without it: the next after the highest.")
    .option("--max-batch <n>", "Rows that an iteration may join.")
    .option("--priority <n>", "Priority of its requests that name none; 1 is most urgent.")
    .option("--weight <n>", "Share of device time under fair policies. (default: 1)")
    .option("--pin", "Keep it on the device when models are evicted; none is so far.")
    .option("--sha256 <hex>", "Hash that its file must have; needed for URLs.")
    .option("--repository <dir>", `Folder to add it to. (default: ${DEFAULT_REPOSITORY})`)
    .option("--server <url>", "Upload it to the gateway there instead, which serves it at once.")
    .option("--admin-key <key>", "The gateway's; better in the variable SLUICE_ADMIN_KEY.")
    .option("--no-trial", "Do not load and run it first.")
    .addHelpText("after", AFTER_HELP);
}

function readFlags(flags: Flags): Required<Pick<NewVersion, "settings">> & { version?: number } {
  const { version, maxBatch, priority, weight, pin, repository, server } = flags;
  if (repository !== undefined && server !== undefined) {
    throw new UsageError("--repository and --server are both given; expected one of them");
  }
  if (weight !== undefined && !(Number(weight) > 0 && Number(weight) < Infinity)) {
    throw new UsageError(`--weight is "${weight}"; expected a number above 0`);
  }
  return {
    version: version === undefined ? undefined : wholeNumber("--version", version),
    settings: {
      ...maxBatch !== undefined && { maxBatch: wholeNumber("--max-batch", maxBatch) },
      ...priority !== undefined && { priority: wholeNumber("--priority", priority) },
      ...weight !== undefined && { weight: Number(weight) },
      ...pin && { pin },
    },
  };
}

/** The version to upload: an upload takes the place of all that the gateway serves of a model. */
async function freeVersion(
  gateway: GatewayClient,
  name: string,
  version: number | undefined,
): Promise<number> {
  const taken = (await gateway.index())
    .filter((row) => row.name === name && row.state === "READY")
    .map((row) => Number(row.version));
  const next = Math.max(0, ...taken) + 1;
  if (version === undefined || !taken.includes(version)) return version ?? next;
  throw new SluiceError(
    "conflict",
    `${gateway.url} serves a version ${version} of "${name}" already. Give another one (the next ` +
      `is ${next}), or unregister the model first`,
  );
}

async function tryStaged(model: Model): Promise<Trial> {
  await using device = openDevice("cpu", {});
  return await tryModel(model, device);
}

/** What the trial found out about joining, where the files had left it open. */
function probeOf({ batching }: Model, trial: Trial | undefined): BatchingProbe | undefined {
  if (trial === undefined || !batching.probe) return undefined;
  const { join, reason, batchedInputs } = trial.model.batching;
  return { join, reason, batchedInputs };
}

/** A model's files by their paths in its folder. */
async function readFiles(folder: string): Promise<UploadedFiles> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(relative(folder, path).replaceAll(sep, "/"), await Deno.readFile(path));
  }
  return files;
}

function summary(staged: Model, trial: Trial | undefined, where: string): string {
  const model = trial?.model ?? staged;
  const memory = trial === undefined
    ? ""
    : `It keeps ${formatBytes(trial.persistentBytes)} while ` +
      `loaded; an iteration needs ${formatBytes(trial.ephemeralBytes)} more.\n`;
  const joined = joining(model.batching);
  return `Registered ${model.name}/${model.version} (${
    formatBytes(model.fileBytes)
  }) at ${where}\n\n` +
    `${formatSignature(model.signature)}\n` +
    `${joined.charAt(0).toUpperCase()}${joined.slice(1)}\n${memory}`;
}

function warn(io: Io, message: string): void {
  io.err(`Warning: ${printable(message)}\n`);
}

if (import.meta.main) await runAsProcess(register);
