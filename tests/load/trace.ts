/**
 * Recorded arrivals: one line for each request, its second and, where it matters, its model.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import { didYouMean } from "../../server/nearest.ts";

/** One request of a trace. */
export interface TraceLine {
  /** Seconds since the trace's beginning. */
  readonly seconds: number;
  /** Whose request it is; absent where the trace does not say. */
  readonly model?: string;
}

/**
 * Reads a trace.
 *
 * @param path Named in messages.
 * @param models The models of the scenario.
 * @throws {SluiceError} `invalid_argument`, naming the line, what it has and what was expected.
 */
export function parseTrace(text: string, path: string, models: readonly string[]): TraceLine[] {
  const trace: TraceLine[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const content = line.replace(/#.*/, "").trim();
    if (content === "") continue;
    const fault = (message: string) =>
      new SluiceError("invalid_argument", `${path}, line ${index + 1}: ${message}`);
    const [time, model, ...rest] = content.split(",").map((field) => field.trim());
    if (rest.length > 0) throw fault(`"${content}" has more than two fields; expected ${FORMAT}`);
    const seconds = Number(time);
    if (time === "" || !Number.isFinite(seconds) || seconds < 0) {
      throw fault(`the time is "${time}"; expected a number of seconds, 0 or more`);
    }
    const last = trace.at(-1)?.seconds ?? 0;
    if (seconds < last) {
      throw fault(`the time ${seconds} is before ${last}; expected ascending times`);
    }
    if (model !== undefined && !models.includes(model)) {
      throw fault(`the scenario has no model "${model}"${didYouMean(model, models)}`);
    }
    trace.push({ seconds, model });
  }
  if (trace.length === 0) {
    throw new SluiceError("invalid_argument", `${path} has no requests; expected lines ${FORMAT}`);
  }
  return trace;
}

const FORMAT = "`seconds` or `seconds,model`";
