/**
 * Reading the fields of a request's JSON. Every function names what it reads by a text in which `%s`
 * stands for `name`; the text is only put together when there is something to say.
 *
 * @module
 */
import { SluiceError } from "../../../models/errors.ts";
import { describe } from "../describe.ts";
import type { Fields } from "../json_body.ts";

/** A fault in the request. */
export function invalid(message: string): SluiceError {
  return new SluiceError("invalid_argument", message);
}

function refusal(what: string, name: unknown, value: unknown, expected: string): SluiceError {
  const subject = what.replace("%s", () => String(name));
  return invalid(`${subject} is ${describe(value)}, expected ${expected}`);
}

/** An object. */
export function object(value: unknown, what: string, name?: string | number): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw refusal(what, name, value, "an object");
}

/** An array. */
export function array(value: unknown, what: string, name?: string | number): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw refusal(what, name, value, "an array");
}

/** A string. */
export function string(value: unknown, what: string, name?: string | number): string {
  if (typeof value === "string") return value;
  throw refusal(what, name, value, "a string");
}

/** True or false. */
export function boolean(value: unknown, what: string, name?: string | number): boolean {
  if (typeof value === "boolean") return value;
  throw refusal(what, name, value, "true or false");
}

/** A whole number of at least 0. */
export function wholeNumber(value: unknown, what: string, name?: string | number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw refusal(what, name, value, "a whole number, 0 or more");
}
