/**
 * Which CUDA sources there are, for which targets each is compiled, and how PTX names what it was
 * compiled from.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";

/** A CUDA source and the PTX made from it. */
export interface KernelSource {
  /** Path of the `.cu` file. */
  readonly source: string;
  /** Virtual architecture, e.g. `80` for `compute_80`. */
  readonly target: number;
  /** Path of the PTX. */
  readonly ptx: string;
}

const SHIPPED = new URL("../../models/cuda/kernels/", import.meta.url);

const SUITE = new URL("./", import.meta.url);

/** Architectures that the suite is compiled for. */
export const SUITE_TARGETS = [80, 90, 120] as const;

/** Sources that are written for some of them only. */
const TARGETS_OF: Readonly<Record<string, readonly number[]>> = { cub_device: [80] };

/**
 * The kernels that the cuda device runs, for the oldest architecture it supports: the driver
 * compiles them for every later one.
 */
export function shippedSources(): KernelSource[] {
  return sourcesIn(SHIPPED).map((name) => ({
    source: fileURLToPath(new URL(`${name}.cu`, SHIPPED)),
    target: 80,
    ptx: fileURLToPath(new URL(`${name}.ptx`, SHIPPED)),
  }));
}

/** The kernels of the suite, for three generations: nvcc writes different PTX for each. */
export function suiteSources(): KernelSource[] {
  return sourcesIn(SUITE).flatMap((name) =>
    (TARGETS_OF[name] ?? SUITE_TARGETS).map((target) => ({
      source: fileURLToPath(new URL(`${name}.cu`, SUITE)),
      target,
      ptx: fileURLToPath(new URL(`ptx/${name}.sm_${target}.ptx`, SUITE)),
    }))
  );
}

/**
 * What a PTX must begin with: the hash of its source and of every file of ours that this includes,
 * one to a line.
 */
export function sourceHeader(source: string): string {
  return localFiles(source).map((path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    return `// sha256 ${
      createHash("sha256").update(Deno.readFileSync(path)).digest("hex")
    } ${name}\n`;
  }).join("");
}

/** Names of the `.cu` files in a folder, without the ending, sorted. */
export function sourcesIn(folder: URL): string[] {
  return Array.from(Deno.readDirSync(folder), (entry) => entry.name)
    .filter((name) => name.endsWith(".cu"))
    .map((name) => name.slice(0, -".cu".length))
    .sort();
}

/** A source and all that it includes by `#include "..."`, each once, in order of appearance. */
function localFiles(source: string, found: string[] = []): string[] {
  if (found.includes(source)) return found;
  found.push(source);
  const folder = source.slice(0, source.lastIndexOf("/") + 1);
  for (const [, name] of Deno.readTextFileSync(source).matchAll(/^#include "(.+)"$/gm)) {
    localFiles(folder + name, found);
  }
  return found;
}
