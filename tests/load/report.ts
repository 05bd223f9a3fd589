/**
 * What a run found: everything that table, JSON, CSV, HTML, thresholds and comparisons show.
 *
 * @module
 */
import type { LatencySummary } from "./latency.ts";
import type { Measurements } from "./recorder.ts";
import type { Scenario } from "./scenario.ts";
import type { ServerFigures } from "./server_statistics.ts";
import { judge, type Verdict } from "./verdict.ts";

/** Tells a report's file from others, and this form from later ones. */
export const REPORT_FORMAT = "sluice-load-1";

/** How much slower a model was than alone: 1 is no slower. */
export interface Slowdown {
  /** Of mean latencies. */
  readonly mean: number;
  /** Of 99th percentiles. */
  readonly p99: number;
}

/** One model's part of a report. */
export interface ModelReport extends Measurements {
  /** The model. */
  readonly name: string;
  /** The objective, where there is one. */
  readonly sloMs?: number;
  /** For the first token. */
  readonly sloTtftMs?: number;
  /** Between two tokens. */
  readonly sloTbtMs?: number;
  /** Requests sent per second. */
  readonly rate: number;
  /** Requests answered per second. */
  readonly throughput: number;
  /** Requests answered within the objective per second. */
  readonly goodput: number;
  /** Tokens of answered requests per second, where text is generated. */
  readonly tokensPerSecond?: number;
  /** Part of the requests sent that was answered within the objective. */
  readonly attainment: number;
  /** Part of the requests sent that was not answered. */
  readonly errors: number;
  /** Against running alone, where that was measured. */
  readonly slowdown?: Slowdown;
  /** What the server says, where it has statistics. */
  readonly server?: ServerFigures;
}

/** A whole run. */
export interface Report {
  /** {@linkcode REPORT_FORMAT}. */
  readonly format: typeof REPORT_FORMAT;
  /** When it began, ISO 8601. */
  readonly startedAt: string;
  /** What was done. */
  readonly scenario: Scenario;
  /** It was interrupted: figures are of the time until then. */
  readonly partial: boolean;
  /** Seconds that were counted. */
  readonly seconds: number;
  /** How late the generator's event loop was, milliseconds. */
  readonly loopLag: LatencySummary;
  /** Whether the generator kept up. */
  readonly verdict: Verdict;
  /** Jain's index of the models' progress: 1 is equal, 1/n is all for one. */
  readonly jain: number;
  /** In the scenario's order. */
  readonly models: readonly ModelReport[];
}

/** What was seen of one model. */
export interface Seen {
  /** In the run. */
  readonly record: Measurements;
  /** In the run before, in which it was alone. */
  readonly alone?: Measurements;
  /** By the server. */
  readonly server?: ServerFigures;
}

/**
 * Makes a report.
 *
 * @param seen For each model of the scenario.
 * @param run What is of the whole run: when it began, how many seconds of it were counted.
 */
export function makeReport(
  scenario: Scenario,
  seen: readonly Seen[],
  run: Pick<Report, "startedAt" | "seconds" | "partial" | "loopLag">,
): Report {
  const models = scenario.models.map((load, index): ModelReport => {
    const { name, sloMs, deadlineMs, sloTtftMs, sloTbtMs } = load;
    const { record, alone, server } = seen[index];
    const { sent, good, tokens, answeredBySeconds, outcomes: { ok } } = record;
    const perSecond = (count: number, seconds: number) => seconds > 0 ? count / seconds : 0;
    // What piled up and was answered afterwards was not answered at the rate it was sent.
    const answering = Math.max(run.seconds, answeredBySeconds);
    return {
      name,
      sloMs: sloMs ?? deadlineMs,
      sloTtftMs,
      sloTbtMs,
      rate: perSecond(sent, run.seconds),
      throughput: perSecond(ok, answering),
      goodput: perSecond(good, answering),
      tokensPerSecond: tokens && perSecond(tokens.count, answering),
      attainment: sent === 0 ? 0 : good / sent,
      errors: sent === 0 ? 0 : 1 - ok / sent,
      slowdown: alone && slowdown(record, alone),
      server,
      ...record,
    };
  });
  return {
    format: REPORT_FORMAT,
    ...run,
    scenario,
    verdict: judge(models, run.loopLag),
    jain: jainIndex(models.map(progress)),
    models,
  };
}

/** Jain, Chiu and Hawe (1984): (sum of x)^2 / (n * sum of x^2); 1 when nobody has anything. */
export function jainIndex(shares: readonly number[]): number {
  const sum = shares.reduce((total, x) => total + x, 0);
  const squares = shares.reduce((total, x) => total + x * x, 0);
  return squares === 0 ? 1 : sum ** 2 / (shares.length * squares);
}

/** What the index compares: speed against running alone, else the part of requests that was good. */
function progress({ slowdown, attainment }: ModelReport): number {
  return slowdown === undefined ? attainment : 1 / slowdown.mean;
}

function slowdown({ intended }: Measurements, alone: Measurements): Slowdown | undefined {
  if (intended.count === 0 || alone.intended.count === 0) return undefined;
  return {
    mean: intended.mean / alone.intended.mean,
    p99: intended.p99 / alone.intended.p99,
  };
}
