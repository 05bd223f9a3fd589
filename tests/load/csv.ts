/**
 * A report for spreadsheets: one line for each model.
 *
 * @module
 */
import { METRICS } from "./metrics.ts";
import { OUTCOMES } from "./outcome.ts";
import type { Report } from "./report.ts";

/** RFC 4180; figures in full. */
export function reportCsv({ models, verdict, partial }: Report): string {
  const head = ["model", "valid", "partial", "sent", ...OUTCOMES, ...METRICS.map((m) => m.name)];
  const rows = models.map((model) => [
    model.name,
    verdict.valid,
    partial,
    model.sent,
    ...OUTCOMES.map((kind) => model.outcomes[kind]),
    ...METRICS.map((metric) => metric.of(model) ?? ""),
  ]);
  return [head, ...rows].map((row) => row.map((cell) => quote(String(cell))).join(",") + "\r\n")
    .join("");
}

function quote(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
