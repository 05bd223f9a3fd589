/**
 * What sending needs, and what it tells of every request.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import type { Outcome } from "./outcome.ts";
import type { Exchange } from "./target.ts";

/** One request that has ended. */
export interface Sample {
  /** Index of the model among the scenario's. */
  readonly model: number;
  /** When it was to be sent. Times are microseconds since the run's beginning. */
  readonly intendedMicros: number;
  /** When it was to be sent and there was a connection for it. */
  readonly readyMicros: number;
  /** When it was sent. */
  readonly sentMicros: number;
  /** When its answer had come whole. */
  readonly endMicros: number;
  /** How it ended. */
  readonly outcome: Outcome;
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

/** Sends one request now, and records it. */
export async function send(
  { clock, startMicros, exchange, record, stop }: Sending,
  model: number,
  intendedMicros: number,
  readyMicros: number,
): Promise<void> {
  const sentMicros = clock.nowMicros() - startMicros;
  const outcome = await exchange(model, stop);
  const endMicros = clock.nowMicros() - startMicros;
  record({ model, intendedMicros, readyMicros, sentMicros, endMicros, outcome });
}
