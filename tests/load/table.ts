/**
 * A report for a terminal.
 *
 * @module
 */
import { type Column, formatTable, printable } from "../../server/commands/table.ts";
import type { LatencySummary } from "./latency.ts";
import { formatFigure } from "./metrics.ts";
import { OUTCOMES } from "./outcome.ts";
import type { ModelReport, Report } from "./report.ts";

const right = (head: string): Column => ({ head, align: "right" });

const LOAD = [
  { head: "MODEL" },
  ...["SENT", "ANSWERED", "SENT/S", "GOODPUT/S", "IN SLO", "SLO", "SLOWDOWN"].map(right),
  ...["QUEUE", "COMPUTE", "BATCH"].map(right),
];
const LATENCY = [
  { head: "MODEL" },
  { head: "MILLISECONDS" },
  ...["MEAN", "P50", "P90", "P95", "P99", "P99.9", "MAX"].map(right),
];
const TOKENS = [
  { head: "MODEL" },
  ...["TOKENS", "TOKENS/S", "PER ANSWER", "TTFT SLO", "TBT SLO"].map(right),
];
const ERRORS = [{ head: "MODEL" }, { head: "NOT ANSWERED" }, right("REQUESTS"), {
  head: "THE FIRST SAID",
}];
/** Of what was said. */
const MOST_CHARACTERS = 100;

/** The report as tables; the verdict comes last, where it is seen. */
export function reportTable(report: Report): string {
  const { models, jain, partial, seconds } = report;
  const errors = models.flatMap(({ name, outcomes, said }) =>
    OUTCOMES.filter((kind) => kind !== "ok" && outcomes[kind] > 0)
      .map((kind) => [
        name,
        kind,
        `${outcomes[kind]}`,
        (said[kind] ?? "").slice(0, MOST_CHARACTERS),
      ])
  );
  const tokens = models.flatMap(tokenRow);
  const parts = [
    formatTable(LOAD, models.map(loadRow)),
    ...(tokens.length > 0 ? [formatTable(TOKENS, tokens)] : []),
    formatTable(LATENCY, models.flatMap(latencyRows)),
    ...(errors.length > 0 ? [formatTable(ERRORS, errors)] : []),
    `${formatFigure(seconds)} s counted${
      partial ? ", INTERRUPTED: this is a part of the run" : ""
    }` +
    `${models.length > 1 ? `; Jain's index ${jain.toFixed(3)}` : ""}\n` +
    verdictLines(report),
  ];
  return parts.join("\n");
}

/** Why the figures may be used, or may not. */
function verdictLines({ verdict, models, loopLag }: Report): string {
  if (!verdict.valid) {
    return verdict.reasons.map((reason) => `INVALID: ${printable(reason)}\n`).join("");
  }
  const lag = Math.max(...models.map(({ lag }) => lag.p99));
  return `VALID: the generator kept up, at p99 it sent ${formatFigure(lag)} ms late and was busy ` +
    `for ${formatFigure(loopLag.p99)} ms\n`;
}

function loadRow(model: ModelReport): string[] {
  const { name, sent, outcomes, rate, goodput, attainment, sloMs, slowdown, server } = model;
  return [
    name,
    `${sent}`,
    `${outcomes.ok}`,
    formatFigure(rate),
    formatFigure(goodput),
    `${(attainment * 100).toFixed(1)}%`,
    sloMs === undefined ? "-" : `${sloMs}ms`,
    formatFigure(slowdown?.mean),
    formatFigure(server?.queueMs),
    formatFigure(server?.computeMs),
    formatFigure(server?.batch),
  ];
}

/** A row where text is generated. */
function tokenRow(model: ModelReport): string[][] {
  const { name, tokens, tokensPerSecond, outcomes: { ok }, sloTtftMs, sloTbtMs } = model;
  if (tokens === undefined) return [];
  const objective = (millis: number | undefined) => millis === undefined ? "-" : `${millis}ms`;
  return [[
    name,
    `${tokens.count}`,
    formatFigure(tokensPerSecond),
    formatFigure(ok > 0 ? tokens.count / ok : 0),
    objective(sloTtftMs),
    objective(sloTbtMs),
  ]];
}

function latencyRows({ name, intended, actual, lag, tokens }: ModelReport): string[][] {
  const row = (of: string, { mean, p50, p90, p95, p99, p999, max }: LatencySummary) => [
    name,
    of,
    ...[mean, p50, p90, p95, p99, p999, max].map(formatFigure),
  ];
  return [
    row("from intended send", intended),
    row("from actual send", actual),
    ...(tokens
      ? [
        row("first token, from intended", tokens.ttft),
        row("first token, from actual", tokens.actualTtft),
        row("between tokens", tokens.tbt),
      ]
      : []),
    row("send lag", lag),
  ];
}
