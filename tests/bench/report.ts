/**
 * Tables, on the terminal and as Markdown for `docs/benchmarks.md`.
 *
 * @module
 */
import TerminalTable from "cli-table3";
import type { Verdict } from "./figures.ts";

/** One table of figures. */
export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** What one part of the benchmarks found: for readers, and for programs. */
export interface Section {
  readonly table: Table;
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
