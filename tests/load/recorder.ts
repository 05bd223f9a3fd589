/**
 * Counts and latencies of one model, as its requests end.
 *
 * @module
 */
import { Latencies, type LatencySummary } from "./latency.ts";
import { type Outcome, OUTCOMES } from "./outcome.ts";
import type { ModelLoad } from "./scenario.ts";
import type { Sample } from "./sender.ts";
import { type TokenMeasurements, TokenRecorder } from "./token_recorder.ts";

/** Requests that were meant to be sent in the same part of the run. */
export interface Interval {
  /** The part's beginning, counted time only. */
  readonly fromSeconds: number;
  /** Requests sent. */
  readonly sent: number;
  /** Requests answered within the objective. */
  readonly good: number;
  /** Median latency from intended send, milliseconds. */
  readonly p50: number;
  /** 99th percentile of it. */
  readonly p99: number;
}

/** What was seen of a model. */
export interface Measurements {
  /** Requests sent in counted time. */
  readonly sent: number;
  /** How they ended; all of {@linkcode OUTCOMES}. */
  readonly outcomes: Readonly<{ [Kind in Outcome]: number }>;
  /** What the first of each kind said that was not answered. */
  readonly said: Readonly<{ [Kind in Outcome]?: string }>;
  /** Refusals that said when to come back (`Retry-After`). */
  readonly retryAfter: number;
  /** When the last answer had come, in seconds of counted time: after its end when work piled up. */
  readonly answeredBySeconds: number;
  /** Answered within all objectives; without one, answered. */
  readonly good: number;
  /** From intended send to the answer's end, of requests that were answered. */
  readonly intended: LatencySummary;
  /** From actual send to the answer's end, of the same. */
  readonly actual: LatencySummary;
  /** How long the generator let a request wait that it could have sent; of all requests. */
  readonly lag: LatencySummary;
  /** Percentiles and milliseconds of `intended`. */
  readonly curve: readonly (readonly [number, number])[];
  /** Over time. */
  readonly intervals: readonly Interval[];
  /** Present for a model that generates text. */
  readonly tokens?: TokenMeasurements;
}

/** Parts of a run that a plot shows. */
const MOST_INTERVALS = 60;
const INTERVAL_SECONDS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600];

/** Length of the parts in which a run of this length is shown. */
export function intervalSeconds(seconds: number): number {
  return INTERVAL_SECONDS.find((length) => seconds / length <= MOST_INTERVALS) ??
    seconds / MOST_INTERVALS;
}

/** Records the requests of one model. */
export class Recorder {
  readonly #sloMicros: number;
  readonly #warmupMicros: number;
  readonly #intervalMicros: number;
  readonly #outcomes = new Map<Outcome, number>(OUTCOMES.map((kind) => [kind, 0]));
  readonly #intended = new Latencies();
  readonly #actual = new Latencies();
  readonly #lag = new Latencies();
  readonly #intervals = new Map<number, { sent: number; good: number; latencies: Latencies }>();
  readonly #tokens: TokenRecorder | undefined;
  #sent = 0;
  readonly #said = new Map<Outcome, string>();
  #retryAfter = 0;
  #answeredByMicros = 0;
  #good = 0;

  /**
   * Begins with nothing.
   *
   * @param warmupSeconds What is sent before is not counted.
   * @param interval See {@linkcode intervalSeconds}.
   */
  constructor(
    load: Omit<ModelLoad, "name" | "free" | "shapes">,
    warmupSeconds: number,
    interval: number,
  ) {
    this.#sloMicros = (load.sloMs ?? load.deadlineMs ?? Infinity) * 1000;
    this.#tokens = load.generate && new TokenRecorder(load);
    this.#warmupMicros = warmupSeconds * 1e6;
    this.#intervalMicros = interval * 1e6;
  }

  /** Counts a request that has ended. */
  add(sample: Sample): void {
    const { intendedMicros, readyMicros, sentMicros, endMicros, outcome } = sample;
    if (intendedMicros < this.#warmupMicros) return;
    const interval = this.#interval(intendedMicros - this.#warmupMicros);
    this.#sent++;
    interval.sent++;
    this.#outcomes.set(outcome, this.#outcomes.get(outcome)! + 1);
    this.#lag.record(sentMicros - readyMicros);
    const { said } = sample;
    if (said !== undefined && !this.#said.has(outcome)) this.#said.set(outcome, said);
    if (sample.retryAfter) this.#retryAfter++;
    // A refusal is quick: among the latencies it would make an overloaded server look fast.
    if (outcome !== "ok") return;
    this.#answeredByMicros = Math.max(this.#answeredByMicros, endMicros - this.#warmupMicros);
    const micros = endMicros - intendedMicros;
    this.#intended.record(micros);
    this.#actual.record(endMicros - sentMicros);
    interval.latencies.record(micros);
    const inTime = this.#tokens?.add(sample) ?? true;
    if (!inTime || micros > this.#sloMicros) return;
    this.#good++;
    interval.good++;
  }

  /** All so far. */
  measurements(): Measurements {
    return {
      sent: this.#sent,
      outcomes: Object.fromEntries(this.#outcomes) as Measurements["outcomes"],
      said: Object.fromEntries(this.#said),
      retryAfter: this.#retryAfter,
      answeredBySeconds: this.#answeredByMicros / 1e6,
      good: this.#good,
      intended: this.#intended.summary(),
      actual: this.#actual.summary(),
      lag: this.#lag.summary(),
      curve: this.#intended.curve(),
      intervals: [...this.#intervals].sort(([a], [b]) => a - b).map(([index, interval]) => ({
        fromSeconds: index * this.#intervalMicros / 1e6,
        sent: interval.sent,
        good: interval.good,
        p50: interval.latencies.percentile(50),
        p99: interval.latencies.percentile(99),
      })),
      tokens: this.#tokens?.measurements(),
    };
  }

  #interval(micros: number): { sent: number; good: number; latencies: Latencies } {
    const index = Math.floor(micros / this.#intervalMicros);
    let interval = this.#intervals.get(index);
    if (interval === undefined) {
      interval = { sent: 0, good: 0, latencies: new Latencies() };
      this.#intervals.set(index, interval);
    }
    return interval;
  }
}
