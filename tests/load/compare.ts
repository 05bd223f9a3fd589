/**
 * `deno task load compare A.json B.json`: what changed between two runs.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { SluiceError } from "../../models/errors.ts";
import { defineCommand, EXIT, type Run } from "../../server/commands/command.ts";
import { type Column, formatTable } from "../../server/commands/table.ts";
import { formatFigure, METRICS } from "./metrics.ts";
import { type Report, REPORT_FORMAT } from "./report.ts";
import { parseJsonFile } from "./scenario_schema.ts";

const COLUMNS: readonly Column[] = [
  { head: "MODEL" },
  { head: "METRIC" },
  { head: "A", align: "right" },
  { head: "B", align: "right" },
  { head: "CHANGE", align: "right" },
  { head: "" },
];

/** Changes of less than this are not called better or worse. */
const NOISE = 0.05;

const AFTER_HELP = `
Says of each figure that both have whether B is better or worse by over ${NOISE * 100} %. Warns of
what makes the two no pair: runs that are INVALID or interrupted, scenarios that differ in more than
the URL, models that only one has.

Exit codes: 0 compared; 1 a file cannot be read; 2 wrong arguments.
`;

/** Prints both runs side by side. */
export const compare: Run = defineCommand(
  "load compare",
  (command) =>
    command.description("Compare two runs by their --json files.")
      .argument("<A.json>", "The earlier run.")
      .argument("<B.json>", "The later run.")
      .addHelpText("after", AFTER_HELP),
  async ({ args: [first, second] }, io) => {
    const [a, b] = [await readReport(first), await readReport(second)];
    const warnings = [
      ...faults(first, a),
      ...faults(second, b),
      ...differences(a, b),
      ...unmatched(first, a, b),
      ...unmatched(second, b, a),
    ];
    for (const warning of warnings) io.err(`Warning: ${warning}\n`);
    io.out(comparison(a, b));
    return EXIT.ok;
  },
);

/** A row for each figure that both runs have. */
export function comparison(a: Report, b: Report): string {
  const rows = a.models.flatMap((before) => {
    const after = b.models.find(({ name }) => name === before.name);
    if (after === undefined) return [];
    return METRICS.flatMap((metric) => {
      const [from, to] = [metric.of(before), metric.of(after)];
      if (from === undefined || to === undefined) return [];
      return [[before.name, metric.name, ...change(from, to, metric.moreIsBetter)]];
    });
  });
  rows.push(["all", "jain", ...change(a.jain, b.jain, true)]);
  return formatTable(COLUMNS, rows);
}

function change(from: number, to: number, moreIsBetter: boolean): string[] {
  const figures = [formatFigure(from), formatFigure(to)];
  if (from === to) return [...figures, "0.0%", ""];
  const part = from === 0 ? Infinity : (to - from) / from;
  const word = Math.abs(part) <= NOISE ? "" : part > 0 === moreIsBetter ? "better" : "worse";
  const percent = Number.isFinite(part)
    ? `${part > 0 ? "+" : ""}${(part * 100).toFixed(1)}%`
    : "from 0";
  return [...figures, percent, word];
}

function faults(path: string, { verdict, partial }: Report): string[] {
  return [
    ...(verdict.valid ? [] : [`${path} is INVALID: ${verdict.reasons.join("; ")}`]),
    ...(partial ? [`${path} was interrupted`] : []),
  ];
}

function differences(a: Report, b: Report): string[] {
  const [before, after]: Record<string, unknown>[] = [{ ...a.scenario }, { ...b.scenario }];
  const keys = Object.keys({ ...before, ...after })
    .filter((key) => key !== "url" && !isDeepStrictEqual(before[key], after[key]));
  return keys.length === 0 ? [] : [`the two scenarios differ in ${keys.join(", ")}`];
}

/** Models that have no row, as the other run lacks them. */
function unmatched(path: string, report: Report, other: Report): string[] {
  const known = other.models.map(({ name }) => name);
  const names = report.models.map(({ name }) => name).filter((name) => !known.includes(name));
  return names.length === 0 ? [] : [`only ${path} has ${names.join(", ")}`];
}

async function readReport(path: string): Promise<Report> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (cause) {
    throw new SluiceError("not_found", `${path} cannot be read: ${String(cause)}`, { cause });
  }
  const report = Object(parseJsonFile(text, path));
  if (report.format === REPORT_FORMAT) return report;
  throw new SluiceError(
    "invalid_argument",
    `${path} has the format ${JSON.stringify(report.format)}; expected "${REPORT_FORMAT}", as ` +
      "--json writes it",
  );
}
