/**
 * What models, versions and files inside a repository may be called. Names become paths, so
 * everything that could lead elsewhere is refused here, once.
 *
 * @module
 */
import { SluiceError } from "../errors.ts";

const LONGEST_NAME = 200;

/** What {@linkcode isModelName} asks of a name, to follow "...: ". */
export const NAME_RULE: string =
  `expected a model's name, 1 to ${LONGEST_NAME} letters, digits, ".", "_" ` +
  'or "-", not starting with "."';

/** Whether a folder of this name can be a model. Hidden ones are the repository's own. */
export function isModelName(name: string): boolean {
  return name.length <= LONGEST_NAME && /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(name);
}

/**
 * Checks a model's name.
 *
 * @throws {SluiceError} `invalid_argument`.
 */
export function checkModelName(name: string): void {
  if (isModelName(name)) return;
  throw new SluiceError(
    "invalid_argument",
    `Model name ${JSON.stringify(name.slice(0, LONGEST_NAME))} is not allowed: ` +
      NAME_RULE,
  );
}

/** The version that a folder name stands for; undefined when it is no positive integer. */
export function versionOf(folderName: string): number | undefined {
  if (!/^[1-9][0-9]*$/.test(folderName)) return undefined;
  const version = Number(folderName);
  return Number.isSafeInteger(version) ? version : undefined;
}

/**
 * Checks a version.
 *
 * @throws {SluiceError} `invalid_argument`.
 */
export function checkVersion(version: number): void {
  if (Number.isSafeInteger(version) && version > 0) return;
  throw new SluiceError(
    "invalid_argument",
    `Version ${version} is not allowed: expected an integer from 1 to ${Number.MAX_SAFE_INTEGER}`,
  );
}

/**
 * A relative path with `/` between its parts, that stays where it starts.
 *
 * @param what What the path is, for the error.
 * @returns The path without `.` and empty parts.
 * @throws {SluiceError} `invalid_argument` when it is absolute, leads up or is no path.
 */
export function containedPath(path: string, what: string): string {
  const parts = path.split("/").filter((part, index) =>
    part !== "." && (part !== "" || index === 0)
  );
  const isContained = parts.length > 0 && path !== "" &&
    parts.every((part) => part !== "" && part !== ".." && !/[\\\0]/.test(part)) &&
    !/^[A-Za-z]:/.test(path);
  if (isContained) return parts.join("/");
  throw new SluiceError(
    "invalid_argument",
    `${what} is ${JSON.stringify(path)}; expected a relative path that stays in its folder`,
  );
}
