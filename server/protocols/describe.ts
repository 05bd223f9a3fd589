/**
 * Values in error messages.
 *
 * @module
 */

/** Longest string that a message repeats. */
const MAX_LENGTH = 40;

/** What was given, in a few words: whatever the value is, and never walked. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case "string":
      return value.length > MAX_LENGTH
        ? `the string ${JSON.stringify(value.slice(0, MAX_LENGTH))}...`
        : `the string ${JSON.stringify(value)}`;
    case "object":
      return value === null ? "null" : Array.isArray(value) ? "an array" : "an object";
    case "undefined":
      return "missing";
    default:
      return String(value);
  }
}
