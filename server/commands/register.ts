/**
 * `deno task register`: brings a model into a repository, or to a running gateway.
 *
 * @module
 */
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { messageOf, SluiceError } from "../../models/errors.ts";
import type { BatchingRule, Model } from "../../models/model.ts";
import {
  type BatchingProbe,
  FileRepository,
  type NewVersion,
  type Probed,
} from "../../models/repository.ts";
import { checkModelName } from "../../models/repository/names.ts";
import { fetchSource } from "../../models/sources/fetch.ts";
import { formatBytes } from "../bytes.ts";
import { openDevice } from "../devices.ts";
import { repositoryFolder } from "../main.ts";
import { defineCommand, EXIT, type Run, runAsProcess, usage } from "./command.ts";
import { adminKey, GatewayClient, type UploadedFiles } from "./gateway_client.ts";
import type { Io } from "./io.ts";
import { withProgress } from "./progress.ts";
import { defineFlags, readFlags } from "./register_flags.ts";
import { carrying, formatSignature, joining } from "./signature.ts";
import { printable } from "./table.ts";
import { temporaryFolder } from "./temporary_folder.ts";
import { type Trial, tryModel } from "./trial.ts";

/** Fetches, checks, shows and installs or uploads a model. */
export const register: Run = defineCommand("register", defineFlags, async (command, io) => {
  const [name, source] = command.args;
  const flags = await usage(Promise.try(() => readFlags(command)));
  const { version, settings } = flags;
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
  await using device = await openDevice("cpu", {});
  const trials: Trial[] = [];
  for (const model of models) trials.push(await tryModel(model, device));
  return trials;
}

/** What the trials found out about joining, by version, where the files had left it open. */
function probesOf(
  models: readonly Model[],
  trials: readonly Trial[],
): ReadonlyMap<number, Probed> {
  return new Map(trials.map(({ model }, i) => {
    const batching = found(models[i].batching, model.batching);
    const sequenceBatching = found(models[i].sequence?.batching, model.sequence?.batching);
    return [model.version, {
      ...(batching && { batching }),
      ...(sequenceBatching && { sequenceBatching }),
    }];
  }));
}

function found(staged?: BatchingRule, tried?: BatchingRule): BatchingProbe | undefined {
  if (!staged?.probe || tried === undefined) return undefined;
  const { join, reason, batchedInputs } = tried;
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
      `loaded; an iteration needs ${formatBytes(trial.ephemeralBytes)} more` +
      (trial.stateBytes === 0 ? ".\n" : `, a sequence ${formatBytes(trial.stateBytes)}.\n`);
  const { sequence } = model;
  const lines = sequence === undefined
    ? [joining(model.batching)]
    : [carrying(sequence), joining(sequence.batching, "sequences")];
  if (sequence?.required === false) lines.push(joining(model.batching));
  return `Registered ${label(model)} (${formatBytes(model.fileBytes)}) at ${where}\n\n` +
    `${formatSignature(model.signature)}\n` +
    lines.map((line) => `${line.charAt(0).toUpperCase()}${line.slice(1)}\n`).join("") +
    memory;
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
