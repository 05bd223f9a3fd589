/**
 * Tables, on the terminal and as Markdown for `docs/benchmarks.md`.
 *
 * @module
 */
import TerminalTable from "cli-table3";
import type { Verdict } from "./figures.ts";

/** One table of figures. */
export interface Table {
  /** What stands above it. */
  readonly title: string;
  /** Heads of the columns. */
  readonly columns: readonly string[];
  /** Cells of each row, as many as columns. */
  readonly rows: readonly (readonly string[])[];
}

/** What one part of the benchmarks found. */
export interface Section {
  /** For readers. */
  readonly table: Table;
  /** All goals of the part. */
  readonly verdicts: readonly Verdict[];
  /** Goes into the JSON file as it is. */
  readonly data: unknown;
}

/** The goals of a row in one cell of the table. */
export function verdictCell(verdicts: readonly Verdict[]): string {
  return verdicts.map(({ goal, met }) => `${met ? "met" : "MISSED"}: ${goal}`).join("; ");
}

/** For a terminal, without colours, so that it can be pasted. */
export function renderText({ title, columns, rows }: Table): string {
  const table = new TerminalTable({ head: [...columns], style: { head: [], border: [] } });
  for (const row of rows) table.push([...row]);
  return `${title}\n${table.toString()}\n`;
}

/** As Markdown, under a heading of the third level. */
export function renderMarkdown({ title, columns, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = line(columns.map(() => "---"));
  return [`### ${title}`, "", line(columns), rule, ...rows.map(line), ""].join("\n");
}
