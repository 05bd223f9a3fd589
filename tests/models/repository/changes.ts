/**
 * The changes that are interrupted at every point.
 *
 * @module
 */
import type { Addition, FileRepository } from "../../../models/repository.ts";
import { scaleModel } from "../../fixtures/onnx.ts";

/** Next versions of the model `m`, with a setting that tells which were installed last. */
export function versionsOfM(weight: number, count = 1): Addition {
  const files = new Map([["model.onnx", scaleModel(weight)]]);
  return {
    name: "m",
    versions: Array.from({ length: count }, () => ({ files })),
    shared: new Map([
      ["config.pbtxt", new TextEncoder().encode("version_policy { all { } }\n")],
    ]),
    settings: { weight },
  };
}

/** A change of a repository: how it starts, and what is there before and after. */
export interface Change {
  /** Versions of `m` that are installed before. */
  readonly installed: number;
  /** The change. */
  make(repository: FileRepository): Promise<unknown>;
  /** What {@linkcode stateOf} gives before and after it. */
  readonly states: readonly [before: string, after: string];
}

/** By name. */
export const CHANGES: Readonly<Record<string, Change>> = {
  "a new model": {
    installed: 0,
    make: (repository) => repository.install(versionsOfM(1)),
    states: ["nothing", "1:1"],
  },
  "a new version": {
    installed: 1,
    make: (repository) => repository.install(versionsOfM(2)),
    states: ["1:1", "1:2 2:2"],
  },
  "two new versions": {
    installed: 1,
    make: (repository) => repository.install(versionsOfM(2, 2)),
    states: ["1:1", "1:2 2:2 3:2"],
  },
  "removing a version": {
    installed: 2,
    make: (repository) => repository.remove("m", 1),
    states: ["1:2 2:2", "2:2"],
  },
  "removing a model": {
    installed: 2,
    make: (repository) => repository.remove("m"),
    states: ["1:2 2:2", "nothing"],
  },
};

/** Versions that are there, each with the weight that the manifest gives it. */
export async function stateOf(repository: FileRepository): Promise<string> {
  if (!(await repository.list()).includes("m")) return "nothing";
  const models = await repository.read("m");
  return models.map(({ version, weight }) => `${version}:${weight}`).join(" ");
}
