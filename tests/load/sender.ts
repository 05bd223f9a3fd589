/**
 * What sending needs, and what it tells of every request.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import type { Answer, Exchange } from "./exchange.ts";
import type { SequenceStep } from "./payload.ts";

/** One request that has ended. Times are microseconds since the run's beginning. */
export interface Sample extends Answer {
  /** Index of the model among the scenario's. */
  readonly model: number;
  /** When it was to be sent. */
  readonly intendedMicros: number;
  /** When it was to be sent and there was a connection for it. */
  readonly readyMicros: number;
  /** When it was sent. */
  readonly sentMicros: number;
  /** When its answer had come whole. */
  readonly endMicros: number;
}

/** What both loops work with. */
export interface Sending {
  /** Real or virtual. */
  readonly clock: Clock;
  /** The run's beginning. */
  readonly startMicros: number;
  /** Sends a request. */
  readonly exchange: Exchange;
  /** Gets every request when it has ended. */
  readonly record: (sample: Sample) => void;
  /** Ends the run early: sends nothing more, and leaves what is under way. */
  readonly stop: AbortSignal;
}

/** Sends one request now, records it, and gives how it ended. */
export async function send(
  { clock, startMicros, exchange, record, stop }: Sending,
  model: number,
  intendedMicros: number,
  readyMicros: number,
  step?: SequenceStep,
): Promise<Answer> {
  const sentMicros = clock.nowMicros() - startMicros;
  const { tokens, ...answer } = await exchange(model, stop, step);
  const endMicros = clock.nowMicros() - startMicros;
  const sinceStart = tokens && {
    count: tokens.count,
    atMicros: tokens.atMicros.map((at) => at - startMicros),
  };
  record({
    model,
    intendedMicros,
    readyMicros,
    sentMicros,
    endMicros,
    ...answer,
    tokens: sinceStart,
  });
  return answer;
}
