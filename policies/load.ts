/**
 * Reads a policy of the user's own from a file.
 *
 * @module
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { POLICIES } from "./mod.ts";
import type { PolicyDefinition, PolicyPromises } from "./policy.ts";

/** A policy file that cannot be used; the message names the file and what is wrong with it. */
export class PolicyFileError extends Error {
  /** Tells it from other errors across module instances. */
  override readonly name = "PolicyFileError";
}

/**
 * Imports a policy file and checks that its default export is a {@linkcode PolicyDefinition}. The
 * policy is created once on trial.
 *
 * @param pathOrUrl A path, relative to the current folder, or a `file:` or `https:` URL.
 * @throws {PolicyFileError} When the file cannot be read or run, or exports no usable policy.
 */
export async function loadPolicy(pathOrUrl: string): Promise<PolicyDefinition> {
  const url = URL.canParse(pathOrUrl) && /^(file|https):/.test(pathOrUrl)
    ? pathOrUrl
    : pathToFileURL(resolve(pathOrUrl)).href;
  let exported: unknown;
  try {
    const module: { readonly default?: unknown } = await import(url);
    exported = module.default;
  } catch (cause) {
    throw new PolicyFileError(`Policy file '${pathOrUrl}' cannot be imported: ${reason(cause)}`, {
      cause,
    });
  }
  const problem = shapeProblem(exported);
  if (problem !== undefined) throw new PolicyFileError(`Policy file '${pathOrUrl}': ${problem}`);
  const definition = exported as PolicyDefinition;
  const trial = trialProblem(definition);
  if (trial !== undefined) throw new PolicyFileError(`Policy file '${pathOrUrl}': ${trial}`);
  return definition;
}

/** What a policy may promise, and whether it has to say. */
const PROMISES: Record<keyof PolicyPromises, boolean> = {
  noStarvation: true,
  workConserving: true,
  takesTurns: false,
  proportionalShare: false,
  strictPriority: false,
  shortestFirst: false,
  deadlineOrder: false,
};

/** What keeps `value` from being a {@linkcode PolicyDefinition}; undefined when nothing does. */
function shapeProblem(value: unknown): string | undefined {
  if (value === undefined) {
    return "it has no default export; expected `export default` with { name, promises, create }";
  }
  if (typeof value !== "object" || value === null) {
    return `its default export is ${kind(value)}; expected an object { name, promises, create }`;
  }
  const { name, promises, create } = value as Record<string, unknown>;
  if (typeof name !== "string" || !/^[a-z][a-z0-9_]{0,63}$/.test(name)) {
    return `\`name\` is ${
      typeof name === "string" ? JSON.stringify(name) : kind(name)
    }; expected ` +
      "1 to 64 lower-case letters, digits and `_`, a letter first";
  }
  if (POLICIES.has(name)) {
    return `\`name\` is "${name}", which is a built-in policy; choose another`;
  }
  if (typeof promises !== "object" || promises === null) {
    return `\`promises\` is ${kind(promises)}; expected { noStarvation, workConserving }`;
  }
  const promised = promises as Record<string, unknown>;
  for (const [promise, required] of Object.entries(PROMISES)) {
    const given = promised[promise];
    if (typeof given !== "boolean" && (required || given !== undefined)) {
      return `\`promises.${promise}\` is ${kind(given)}; expected true or false`;
    }
  }
  if (typeof create !== "function") {
    return `\`create\` is ${kind(create)}; expected a function that returns a policy`;
  }
}

/** What goes wrong when the policy is created; undefined when nothing does. */
function trialProblem(definition: PolicyDefinition): string | undefined {
  let policy: unknown;
  try {
    policy = definition.create({ random: () => 0 });
  } catch (error) {
    return `create() threw ${reason(error)}`;
  }
  if (typeof policy !== "object" || policy === null) {
    return `create() returned ${
      policy === undefined ? "nothing" : kind(policy)
    }; expected an object with \`next\``;
  }
  const { next, rank, observe } = policy as Record<string, unknown>;
  if (typeof next !== "function") {
    return `create() returned an object whose \`next\` is ${kind(next)}; expected a function`;
  }
  for (const [name, value] of [["rank", rank], ["observe", observe]] as const) {
    if (value !== undefined && typeof value !== "function") {
      return `create() returned an object whose \`${name}\` is ${kind(value)}; expected a function`;
    }
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function kind(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  return `a ${typeof value}`.replace(/^a (?=[aeiou])/, "an ");
}
