/**
 * `deno task register`: brings a model into a repository, or to a running gateway.
 *
 * @module
 */
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { messageOf, SluiceError } from "../../models/errors.ts";
import type { Model } from "../../models/model.ts";
import {
  type Addition,
  type BatchingProbe,
  FileRepository,
  type NewVersion,
} from "../../models/repository.ts";
import { checkModelName } from "../../models/repository/names.ts";
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
package (npm:package@version/path), or an https URL with --sha256. Of a folder of Triton's layout
all versions come and keep their numbers, or the one that --version names.

Settings are the model's: --max-batch, --priority, --weight, --pin, samples, labels and config.pbtxt
hold for all its versions, also for those that were there before.

The model is loaded and run once, on its samples or on zeros of its shapes, and it is found out
whether requests may be joined. A model that does not load is refused, and nothing is changed; one
that does not run on zeros is taken with a warning. A gateway that is running already does not see
what comes into its repository: have it load the model, or use --server. What is uploaded so takes
the place of all versions of the model that the gateway serves, and of their settings.

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
  checkModelName(name); // before anything is fetched
  const gateway = flags.server === undefined
    ? undefined
    : new GatewayClient(flags.server, adminKey(flags.adminKey, io));
  const taken = gateway === undefined ? [] : await servedVersions(gateway, name);

  await using fetched = await withProgress(
    io,
    `Fetching ${source}`,
    fetchSource(source, { sha256: flags.sha256, version }),
  );
  await using scratch = gateway === undefined ? undefined : await temporaryFolder();
  const folder = scratch?.path ?? await repositoryFolder(flags.repository);
  const repository = new FileRepository(folder, { warn: (message) => warn(io, message) });
  await using staged = await repository.stage({
    name,
    versions: gateway === undefined
      ? fetched.versions
      : fetched.versions.map((added) => freeVersion(added, name, taken, gateway.url)),
    shared: fetched.shared,
    settings: { ...fetched.settings, ...settings },
    source: fetched.source,
  });
  const trials = flags.trial
    ? await withProgress(io, `Trying ${name}`, tryStaged(staged.models))
    : [];
  for (const { model, warning } of trials) {
    if (warning !== undefined) warn(io, `${label(model)} did not run on zeros: ${warning}`);
  }
  await staged.commit(probesOf(staged.models, trials));
  if (gateway !== undefined) {
    const uploading = gateway.upload(name, await readFiles(join(folder, name)));
    await withProgress(io, `Uploading to ${gateway.url}`, uploading);
  }
  const where = gateway?.url ?? folder;
  io.out(staged.models.map((model, i) => summary(model, trials[i], where)).join("\n"));
  if (taken.length > 0) io.out(`It is served instead of version ${taken.join(", ")}\n`);
  if (gateway === undefined && Object.keys(settings).length > 0) {
    io.out(`The settings hold for all versions of ${name}\n`);
  }
  await notServed(folder, staged.models, io);
  return EXIT.ok;
});

function defineFlags(command: Command): Command {
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
    .option("--sha256 <hex>", "Hash that its file must have; needed for URLs.")
    .option("--repository <dir>", `Folder to add it to. (default: ${DEFAULT_REPOSITORY})`)
    .option("--server <url>", "Upload it to the gateway there instead, which serves it at once.")
    .option("--admin-key <key>", "The gateway's; better in the variable SLUICE_ADMIN_KEY.")
    .option("--no-trial", "Do not load and run it first.")
    .addHelpText("after", AFTER_HELP);
}

function readFlags(flags: Flags): Required<Pick<Addition, "settings">> & { version?: number } {
  const { version, maxBatch, priority, weight, pin, sha256, repository, server } = flags;
  if (repository !== undefined && server !== undefined) {
    throw new UsageError("--repository and --server are both given; expected one of them");
  }
  if (weight !== undefined && !(Number(weight) > 0 && Number(weight) < Infinity)) {
    throw new UsageError(`--weight is "${weight}"; expected a number above 0`);
  }
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw new UsageError(`--sha256 is "${sha256}"; expected 64 hexadecimal digits`);
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

/** What the gateway serves of a model; an upload takes the place of all of it. */
async function servedVersions(gateway: GatewayClient, name: string): Promise<number[]> {
  return (await gateway.index())
    .filter((row) => row.name === name && row.state === "READY")
    .map((row) => Number(row.version));
}

/** A version to upload, which the gateway must not serve yet. */
function freeVersion(
  added: NewVersion,
  name: string,
  taken: readonly number[],
  where: string,
): NewVersion {
  const next = Math.max(0, ...taken) + 1;
  const version = added.version ?? next;
  if (!taken.includes(version)) return { ...added, version };
  throw new SluiceError(
    "conflict",
    `${where} serves a version ${version} of "${name}" already. Give another one (the next ` +
      `is ${next}), or unregister the model first`,
  );
}

async function tryStaged(models: readonly Model[]): Promise<Trial[]> {
  await using device = openDevice("cpu", {});
  const trials: Trial[] = [];
  for (const model of models) trials.push(await tryModel(model, device));
  return trials;
}

/** What the trials found out about joining, by version, where the files had left it open. */
function probesOf(
  models: readonly Model[],
  trials: readonly Trial[],
): ReadonlyMap<number, BatchingProbe> {
  const open = trials.filter((_, i) => models[i].batching.probe);
  return new Map(open.map(({ model: { version, batching } }) => {
    const { join, reason, batchedInputs } = batching;
    return [version, { join, reason, batchedInputs }];
  }));
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
  return `Registered ${label(model)} (${formatBytes(model.fileBytes)}) at ${where}\n\n` +
    `${formatSignature(model.signature)}\n` +
    `${joined.charAt(0).toUpperCase()}${joined.slice(1)}\n${memory}`;
}

/** Warns of registered versions that the model's version policy leaves out. */
async function notServed(folder: string, registered: readonly Model[], io: Io): Promise<void> {
  const [{ name }] = registered;
  try {
    const served = (await new FileRepository(folder).read(name)).map(({ version }) => version);
    const left = registered.map(({ version }) => version).filter((one) => !served.includes(one));
    if (left.length === 0) return;
    warn(
      io,
      `of ${name} version ${served.join(", ")} is served and ${left.join(", ")} is not; ` +
        '"version_policy" in config.pbtxt chooses, and without it the newest is',
    );
  } catch (error) {
    warn(io, `${name} cannot be served as it is: ${messageOf(error)}`);
  }
}

function label({ name, version }: Model): string {
  return `${name}/${version}`;
}

function warn(io: Io, message: string): void {
  io.err(`Warning: ${printable(message)}\n`);
}

if (import.meta.main) await runAsProcess(register);
