/**
 * Reports for tests of what is made from them.
 *
 * @module
 */
import { Latencies } from "./latency.ts";
import type { Outcome } from "./outcome.ts";
import { Recorder } from "./recorder.ts";
import { makeReport, type Report } from "./report.ts";
import { resolveScenario } from "./scenario_schema.ts";

/** Requests of one model, all alike. */
export interface MadeUpModel {
  /** The model. */
  readonly name: string;
  /** One after the other, 10 ms apart. */
  readonly outcomes: readonly Outcome[];
  /** From sending to the answer. */
  readonly millis: number;
  /** From when it was to be sent to when it was sent. */
  readonly lagMillis?: number;
  /** From sending to each token, where text is generated. */
  readonly tokensAtMillis?: readonly number[];
}

/** A report of 10 s with an objective of 50 ms. */
export function madeUpReport(
  models: readonly MadeUpModel[],
  { partial = false, loopLagMillis = 0 } = {},
): Report {
  const scenario = resolveScenario({
    arrivals: { kind: "poisson", rate: 1 },
    models: models.map(({ name, tokensAtMillis }) => ({
      name,
      sloMs: 50,
      ...(tokensAtMillis && { generate: { prompt: "a", maxTokens: 9 }, sloTtftMs: 15 }),
    })),
  }, "test");
  const seen = models.map((model, index) => {
    const recorder = new Recorder(scenario.models[index], 0, 1);
    const { tokensAtMillis } = model;
    model.outcomes.forEach((outcome, n) => {
      const intendedMicros = n * 10_000;
      const sentMicros = intendedMicros + (model.lagMillis ?? 0) * 1000;
      recorder.add({
        model: index,
        intendedMicros,
        readyMicros: intendedMicros,
        sentMicros,
        endMicros: sentMicros + model.millis * 1000,
        outcome,
        tokens: tokensAtMillis && {
          atMicros: tokensAtMillis.map((millis) => sentMicros + millis * 1000),
          count: tokensAtMillis.length,
        },
      });
    });
    return { record: recorder.measurements() };
  });
  const late = new Latencies();
  late.record(loopLagMillis * 1000);
  const startedAt = "2026-01-02T03:04:05.000Z";
  return makeReport(scenario, seen, { startedAt, seconds: 10, partial, loopLag: late.summary() });
}
