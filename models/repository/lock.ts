/**
 * Advisory locks between processes. The system lets go of one when its process ends, however it
 * ends, so none is ever stale.
 *
 * @module
 */
import { dirname } from "node:path";
import { SluiceError } from "../errors.ts";

/** A lock that is held. */
export interface Lock extends Disposable {
  /** The file that is locked. */
  readonly path: string;
}

const POLL_MILLIS = 50;

/**
 * Takes a lock for this process alone. The file names the process while it is held, and stays.
 *
 * @param path The file; made when missing.
 * @param doing What the other is doing when it is held, and what to do then, for the error:
 * "is writing to ...; try again ...".
 * @param waitMillis How long to wait for the other.
 * @throws {SluiceError} `conflict`, naming the process that holds it, or `forbidden` where the file
 * cannot be written.
 */
export async function takeLock(path: string, doing: string, waitMillis = 0): Promise<Lock> {
  const file = await openLockFile(path);
  try {
    for (let waited = 0; !await file.tryLock(true); waited += POLL_MILLIS) {
      if (waited >= waitMillis) {
        const holder = (await Deno.readTextFile(path)).trim();
        throw new SluiceError(
          "conflict",
          `Another process${holder === "" ? "" : ` (${holder})`} ${doing}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MILLIS));
    }
    await file.truncate();
    await file.write(new TextEncoder().encode(`pid ${Deno.pid}\n`));
  } catch (error) {
    file.close();
    throw error;
  }
  return { path, [Symbol.dispose]: () => file.close() };
}

/**
 * Takes a lock if nobody holds it.
 *
 * @throws {SluiceError} `forbidden` where the file cannot be written.
 */
export async function tryTakeLock(path: string): Promise<Lock | undefined> {
  const file = await openLockFile(path);
  if (await file.tryLock(true)) return { path, [Symbol.dispose]: () => file.close() };
  file.close();
  return undefined;
}

async function openLockFile(path: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(path, { read: true, write: true, create: true });
  } catch (error) {
    const isReadOnly = (error as { code?: unknown }).code === "EROFS";
    if (!isReadOnly && !(error instanceof Deno.errors.PermissionDenied)) throw error;
    throw new SluiceError("forbidden", `${dirname(path)} cannot be written to`, { cause: error });
  }
}
