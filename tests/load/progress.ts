/**
 * How a run is doing, on one line of the terminal.
 *
 * @module
 */
import type { Clock, Timer } from "../../models/clock.ts";
import type { Io } from "../../server/commands/io.ts";
import { Latencies } from "./latency.ts";
import { formatFigure } from "./metrics.ts";
import type { Sample } from "./sender.ts";

const EVERY_MICROS = 500_000;
/** Carriage return and "erase line". */
const ANEW = "\r\x1b[2K";

/** The line, rewritten twice a second where someone watches; silent elsewhere. */
export class ProgressLine implements Disposable {
  readonly #io: Io;
  readonly #clock: Clock;
  readonly #seconds: number;
  #timer: Timer | undefined;
  #phase = "";
  #startMicros = 0;
  #done = 0;
  #errors = 0;
  #latencies = new Latencies();
  #lag = new Latencies();

  /**
   * Shows nothing before {@linkcode begin}.
   *
   * @param seconds Length of every phase.
   */
  constructor(io: Io, clock: Clock, seconds: number) {
    this.#io = io;
    this.#clock = clock;
    this.#seconds = seconds;
  }

  /** Begins a phase, counting from zero. */
  begin(phase: string): void {
    this.#phase = phase && `${phase}: `;
    this.#startMicros = this.#clock.nowMicros();
    this.#done = this.#errors = 0;
    this.#latencies = new Latencies();
    this.#lag = new Latencies();
    if (this.#io.interactive && this.#timer === undefined) this.#show();
  }

  /** Counts a request that has ended. */
  add({ outcome, intendedMicros, readyMicros, sentMicros, endMicros }: Sample): void {
    this.#done++;
    if (outcome === "ok") this.#latencies.record(endMicros - intendedMicros);
    else this.#errors++;
    this.#lag.record(sentMicros - readyMicros);
  }

  /** Takes the line away. */
  [Symbol.dispose](): void {
    if (this.#timer === undefined) return;
    this.#timer.cancel();
    this.#io.err(ANEW);
  }

  #show(): void {
    const now = this.#clock.nowMicros();
    const seconds = ((now - this.#startMicros) / 1e6).toFixed(0);
    this.#io.err(
      `${ANEW}${this.#phase}${seconds} s of ${formatFigure(this.#seconds)}, ` +
        `${this.#done} done, ${this.#errors} errors, ` +
        `p99 ${formatFigure(this.#latencies.percentile(99))} ms, ` +
        `lag p99 ${formatFigure(this.#lag.percentile(99))} ms`,
    );
    this.#timer = this.#clock.at(now + EVERY_MICROS, () => this.#show());
  }
}
