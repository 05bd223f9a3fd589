/**
 * Inputs of a job as flags: `name=value,value,...`.
 *
 * @module
 */
import type { Datatype } from "../../models/tensor.ts";
import { didYouMean } from "../nearest.ts";
import { UsageError } from "./command.ts";
import type { ModelEntry } from "./gateway_client.ts";

/** An input in the form of the HTTP API. */
export interface JobInput {
  /** The input's name. */
  readonly name: string;
  /** As its model declares it. */
  readonly datatype: Datatype;
  /** Exact. */
  readonly shape: readonly number[];
  /** Row-major. */
  readonly data: readonly (number | boolean | string)[];
}

/**
 * The inputs that flags give.
 *
 * @param flags Of the form `name=value,...`.
 * @throws {UsageError} One is of no such form, names no input of the model, or has a wrong value.
 */
export function readInputs(flags: readonly string[], model: string, entry: ModelEntry): JobInput[] {
  return flags.map((flag) => {
    const [, name, text] = /^([^=]+)=(.*)$/s.exec(flag) ?? [];
    if (name === undefined) {
      throw new UsageError(`--input is "${flag}"; expected name=value,... such as rate=0.1`);
    }
    const input = entry.inputs.find((one) => one.name === name);
    if (input === undefined) {
      const known = entry.inputs.map((one) => one.name);
      throw new UsageError(
        `--input names "${name}"; ${model} has ${known.join(", ") || "no inputs"}` +
          didYouMean(name, known),
      );
    }
    const { datatype, shape } = input;
    const data = text.split(",").map((value) => readValue(name, datatype, value));
    return { name, datatype, shape: fitted(shape, data.length), data };
  });
}

function readValue(name: string, datatype: Datatype, text: string): number | boolean | string {
  if (datatype === "BYTES") return text;
  if (datatype === "BOOL" && (text === "true" || text === "false")) return text === "true";
  const value = text.trim() === "" ? NaN : Number(text);
  const isFloat = /^(FP|BF)/.test(datatype);
  if (datatype !== "BOOL" && (isFloat ? Number.isFinite(value) : Number.isSafeInteger(value))) {
    return value;
  }
  const expected = datatype === "BOOL" ? "true or false" : isFloat ? "a number" : "a whole number";
  throw new UsageError(`--input gives ${name} the value "${text}"; expected ${expected}`);
}

/** The first free dimension takes what there is, all others are 1. */
function fitted(shape: readonly number[], count: number): readonly number[] {
  const fixed = shape.reduce((product, dim) => dim < 0 ? product : product * dim, 1);
  const free = shape.indexOf(-1);
  return shape.map((dim, axis) => dim >= 0 ? dim : axis === free ? Math.ceil(count / fixed) : 1);
}
