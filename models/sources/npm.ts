/**
 * Fetches npm packages as npm does: `.npmrc` files and `npm_config_*` are honoured (registry,
 * credentials, certificates, proxy), npm's cache is used, and the archive is checked against the
 * registry's integrity hash. Nothing of the package is run.
 *
 * Needs to read, write (the target and npm's cache), the network, the environment and `sys`.
 *
 * @module
 */
// @ts-types="./npmcli_config.d.ts"
import Config from "@npmcli/config";
// @ts-types="./npmcli_config_definitions.d.ts"
import definitions from "@npmcli/config/lib/definitions/index.js";
// @ts-types="./pacote.d.ts"
import pacote from "pacote";
import process from "node:process";
import { messageOf, SluiceError } from "../errors.ts";

/** npm's names of what can go wrong, as ours. Anything else is a registry out of reach. */
const FAULTS: Readonly<Record<string, "invalid_argument" | "too_large">> = {
  EINTEGRITY: "invalid_argument",
  ENOSPC: "too_large",
  EDQUOT: "too_large",
};

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** How to fetch a package. */
export interface PackageOptions {
  /** Stops it, as soon as a package on its way has come. */
  readonly signal?: AbortSignal;
  /** Where npm's settings are looked for; this process's when absent. */
  readonly environment?: Environment;
}

/**
 * Unpacks a package into an empty folder.
 *
 * @param version A version, a range or a tag.
 * @throws {SluiceError} `not_found` when it cannot be had, `invalid_argument` when the archive is
 * not the one that the registry names, `too_large` when the disk is full.
 */
export async function unpackPackage(
  name: string,
  version: string,
  folder: string,
  { signal, environment = process.env }: PackageOptions = {},
): Promise<void> {
  signal?.throwIfAborted();
  try {
    const config = new Config({
      ...definitions,
      npmPath: folder,
      argv: [],
      env: environment,
      warn: false,
    });
    await config.load();
    // Not given the signal: pacote hangs, or ends the process, when it is stopped half way.
    await pacote.extract(`${name}@${version}`, folder, config.flat);
    signal?.throwIfAborted();
  } catch (error) {
    signal?.throwIfAborted();
    const code = String((error as { code?: unknown }).code);
    throw new SluiceError(
      FAULTS[code] ?? "not_found",
      `npm package ${name}@${version} could not be fetched: ${messageOf(error)}`,
      { cause: error },
    );
  }
}
