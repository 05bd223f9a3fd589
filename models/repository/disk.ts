/**
 * Writing files so that they are there when the call returns, whatever happens next.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { SluiceError } from "../errors.ts";

/** Content to be written: bytes, or the path of a file to copy. */
export type Content = Uint8Array<ArrayBuffer> | string;

/** What a file became. */
export interface Written {
  /** Length in bytes. */
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Writes a chunk to a file, all of it. Tests put a full disk in its place. */
export type WriteChunk = (file: Deno.FsFile, chunk: Uint8Array) => Promise<void>;

/** Writes to the real disk. */
const writeChunk: WriteChunk = async (file, chunk) => {
  for (let done = 0; done < chunk.byteLength;) done += await file.write(chunk.subarray(done));
};

/** Writes a new file and waits until the disk has it; the folders in between are made. */
export async function writeDurably(
  path: string,
  content: Content,
  write: WriteChunk = writeChunk,
  signal?: AbortSignal,
): Promise<Written> {
  await Deno.mkdir(dirname(path), { recursive: true });
  using file = await Deno.open(path, { write: true, createNew: true });
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of chunks(content)) {
    signal?.throwIfAborted();
    hash.update(chunk);
    await write(file, chunk);
    bytes += chunk.byteLength;
  }
  await file.sync();
  return { bytes, sha256: hash.digest("hex") };
}

async function* chunks(content: Content): AsyncGenerator<Uint8Array> {
  if (typeof content !== "string") return yield content;
  const source = await Deno.open(content);
  yield* source.readable;
}

/** Waits until the disk has the names in a folder, and in those below it. */
export async function syncFolders(folder: string): Promise<void> {
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isDirectory) await syncFolders(join(folder, entry.name));
  }
  await syncFolder(folder);
}

/** Waits until the disk has the names in a folder. */
export async function syncFolder(folder: string): Promise<void> {
  if (Deno.build.os === "windows") return; // It has no such call, and keeps names in order itself.
  using opened = await Deno.open(folder);
  await opened.sync();
}

/** Removes a file or folder; not being there is fine. */
export async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * Runs what writes into a folder, and says so in plain words when there is no more room for it.
 *
 * @throws {SluiceError} `too_large` when the disk is full.
 */
export async function sayingFullDisk<T>(folder: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!isFullDisk(error)) throw error;
    throw new SluiceError(
      "too_large",
      `The disk of ${folder} is full. Nothing was changed; make room and try again`,
      { cause: error },
    );
  }
}

/** Whether an error says that there is no more room, on the disk or in the user's quota. */
export function isFullDisk(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "ENOSPC" || code === "EDQUOT";
}
