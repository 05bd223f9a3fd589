/**
 * How late the generator's own event loop is, whatever is to be sent.
 *
 * @module
 */
import type { Clock, Timer } from "../../models/clock.ts";
import { Latencies, type LatencySummary } from "./latency.ts";

const EVERY_MICROS = 10_000;

/**
 * A timer every 10 ms whose lateness is recorded. Send lag alone cannot tell a generator without
 * CPU once all connections are taken: answers that lie unread look like a slow server.
 */
export class Heartbeat implements Disposable {
  readonly #clock: Clock;
  readonly #late = new Latencies();
  #timer: Timer;

  /** Beats from a time on. */
  constructor(clock: Clock, fromMicros: number) {
    this.#clock = clock;
    this.#timer = this.#beatAt(fromMicros);
  }

  /** So far. */
  summary(): LatencySummary {
    return this.#late.summary();
  }

  /** Beats no more. */
  [Symbol.dispose](): void {
    this.#timer.cancel();
  }

  #beatAt(dueMicros: number): Timer {
    return this.#clock.at(dueMicros, () => {
      const now = this.#clock.nowMicros();
      this.#late.record(now - dueMicros);
      this.#timer = this.#beatAt(now + EVERY_MICROS);
    });
  }
}
