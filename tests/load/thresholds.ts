/**
 * `--fail-if 'digits:p99>50'`: conditions under which a run counts as failed.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import { didYouMean } from "../../server/nearest.ts";
import { formatFigure, METRICS } from "./metrics.ts";
import type { Report } from "./report.ts";

/** A condition that must not hold. */
export interface Threshold {
  /** Of one model; absent for every model. */
  readonly model?: string;
  /** One of {@linkcode METRICS}, or `jain`. */
  readonly metric: string;
  /** Fails above it, or below it. */
  readonly above: boolean;
  /** In the metric's unit. */
  readonly bound: number;
}

const NAMES = [...METRICS.map(({ name }) => name), "jain"];
const PATTERN = /^(?:(.+):)?\s*([a-z0-9_]+)\s*([<>])\s*([0-9]+(?:\.[0-9]+)?)\s*$/;

/**
 * Reads a condition.
 *
 * @param models The models of the scenario.
 * @throws {SluiceError} `invalid_argument`, saying what was given and expected.
 */
export function parseThreshold(text: string, models: readonly string[]): Threshold {
  const fault = (message: string) =>
    new SluiceError("invalid_argument", `--fail-if "${text}": ${message}`);
  const match = PATTERN.exec(text);
  if (match === null) {
    throw fault("expected a metric, < or >, and a number, such as p99>50 or digits:goodput<100");
  }
  const [, model, metric, comparison, bound] = match;
  if (!NAMES.includes(metric)) {
    throw fault(`there is no metric "${metric}"${didYouMean(metric, NAMES)}`);
  }
  if (model !== undefined && metric === "jain") throw fault("jain is of all models together");
  if (model !== undefined && !models.includes(model)) {
    throw fault(`there is no model "${model}" in the scenario${didYouMean(model, models)}`);
  }
  return { model, metric, above: comparison === ">", bound: Number(bound) };
}

/** A sentence for each model that a condition holds for. What was not measured fails too. */
export function broken(
  { model: only, metric, above, bound }: Threshold,
  { models, jain }: Report,
): string[] {
  const figures = metric === "jain"
    ? [{ name: "all", value: jain as number | undefined }]
    : models.filter(({ name }) => only === undefined || name === only).map((model) => ({
      name: model.name,
      value: METRICS.find(({ name }) => name === metric)!.of(model),
    }));
  return figures.flatMap(({ name, value }) => {
    if (value === undefined) return [`${name}: ${metric} was not measured`];
    if (above ? value <= bound : value >= bound) return [];
    return [`${name}: ${metric} is ${formatFigure(value)}, ${above ? "over" : "under"} ${bound}`];
  });
}
