/**
 * Changes a repository's folder so that a process killed at any point leaves either what was there
 * before or all of the change.
 *
 * A change is prepared in a hidden folder that its process holds a lock on. Renaming that folder
 * to a name that starts with `.commit-` is the moment at which the change happens; moving its
 * content into place can be repeated by whoever comes next.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { SluiceError } from "../errors.ts";
import { removeIfThere, syncFolder, syncFolders, writeDurably } from "./disk.ts";
import { takeLock, tryTakeLock } from "./lock.ts";
import { versionOf } from "./names.ts";

const LOCK = ".lock";
const PREPARING = ".preparing-";
const COMMIT = ".commit-";
const REMOVED = ".removed-";
const OWNER = ".owner";

/** How long a writer waits for another one. */
const WAIT_MILLIS = 5_000;

/** A hidden folder in which a change is prepared. Disposing of it undoes what is not committed. */
export interface Preparation extends AsyncDisposable {
  /** Its absolute path. A model's folder goes into it under the model's name. */
  readonly folder: string;
}

/**
 * The real path of a repository's folder.
 *
 * @throws {SluiceError} `not_found`, or `invalid_argument` when it is no folder.
 */
export async function rootOf(folder: string): Promise<string> {
  let root: string;
  try {
    root = await Deno.realPath(folder);
  } catch (error) {
    throw new SluiceError("not_found", `There is no model repository "${folder}"`, {
      cause: error,
    });
  }
  if ((await Deno.stat(root)).isDirectory) return root;
  throw new SluiceError("invalid_argument", `The model repository "${folder}" is no folder`);
}

/**
 * Runs `change` as the only writer of the repository, after cleaning up behind writers that died.
 *
 * @throws {SluiceError} `conflict` when another process keeps writing, `forbidden` where this one
 * may not.
 */
export async function asWriter<T>(root: string, change: () => Promise<T>): Promise<T> {
  const doing = `is writing to ${root}; try again when it is done`;
  using _lock = await takeLock(join(root, LOCK), doing, WAIT_MILLIS);
  await recover(root);
  return await change();
}

/**
 * Checks that this process may write to the repository.
 *
 * @throws {SluiceError} `forbidden`.
 */
export async function checkWritable(root: string): Promise<void> {
  (await tryTakeLock(join(root, LOCK)))?.[Symbol.dispose]();
}

/** Makes a hidden folder to prepare a change in. */
export async function prepare(root: string): Promise<Preparation> {
  const { folder, owner } = await asWriter(root, async () => {
    const folder = join(root, PREPARING + crypto.randomUUID());
    await Deno.mkdir(folder);
    return { folder, owner: await takeLock(join(folder, OWNER), "prepares it") };
  });
  return {
    folder,
    async [Symbol.asyncDispose]() {
      owner[Symbol.dispose]();
      await removeIfThere(folder);
    },
  };
}

/** Makes a prepared change happen. Only inside {@linkcode asWriter}. */
export async function commit(root: string, { folder }: Preparation): Promise<void> {
  await syncFolders(folder);
  const committed = join(root, COMMIT + crypto.randomUUID());
  await Deno.rename(folder, committed);
  await syncFolder(root);
  await apply(root, committed);
}

/** Takes a file or folder away at once; its content is deleted after that. Only inside {@linkcode asWriter}. */
export async function takeAway(root: string, path: string): Promise<void> {
  const removed = join(root, REMOVED + crypto.randomUUID());
  await Deno.rename(path, removed);
  await syncFolder(root);
  await removeIfThere(removed);
}

/** Puts a file into the place of another in one step. Only inside {@linkcode asWriter}. */
export async function replaceFile(
  root: string,
  path: string,
  content: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const fresh = join(root, REMOVED + crypto.randomUUID()); // what is left of it is cleaned up
  await writeDurably(fresh, content);
  await Deno.rename(fresh, path);
  await syncFolder(dirname(path));
}

/**
 * Brings committed changes whose process died on the way wholly into place. Where this process may
 * not write, or another one is at it, they stay as they are.
 */
export async function finishCommits(root: string): Promise<void> {
  if (!(await namesIn(root)).some((name) => name.startsWith(COMMIT))) return;
  try {
    using lock = await tryTakeLock(join(root, LOCK));
    if (lock !== undefined) await recover(root);
  } catch (error) {
    if (!isForbidden(error)) throw error;
  }
}

function isForbidden(error: unknown): boolean {
  return error instanceof SluiceError && error.code === "forbidden";
}

async function recover(root: string): Promise<void> {
  for (const name of await namesIn(root)) {
    const path = join(root, name);
    if (name.startsWith(COMMIT)) await apply(root, path);
    else if (name.startsWith(REMOVED)) await removeIfThere(path);
    else if (name.startsWith(PREPARING)) await removeUnlessOwned(path);
  }
}

async function removeUnlessOwned(folder: string): Promise<void> {
  const owned = await tryTakeLock(join(folder, OWNER));
  if (owned === undefined) return;
  owned[Symbol.dispose]();
  await removeIfThere(folder);
}

/** Moves what was committed into place. What has been moved before is no longer there to move. */
async function apply(root: string, committed: string): Promise<void> {
  for (const model of await namesIn(committed)) {
    if (model === OWNER) continue;
    const [from, to] = [join(committed, model), join(root, model)];
    if (!await exists(to)) {
      await Deno.rename(from, to);
      continue;
    }
    const names = await namesIn(from);
    // Versions come last, so that whoever sees a new one sees its settings.
    names.sort((a, b) => Number(versionOf(a) !== undefined) - Number(versionOf(b) !== undefined));
    for (const name of names) await Deno.rename(join(from, name), join(to, name));
    await syncFolder(to);
  }
  await syncFolder(root);
  await removeIfThere(committed);
}

async function namesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map((entry) => entry.name);
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
