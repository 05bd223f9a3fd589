/**
 * Notices iterations that run far longer than their model ever did: a hung device looks like that.
 *
 * @module
 */
import type { Clock, Timer } from "../../models/clock.ts";
import type { Iteration } from "./iteration.ts";
import type { Lanes } from "./lanes.ts";

const CHECK_MICROS = 500_000;
/** An iteration is overdue after this many times its model's p99 ... */
const TIMES_P99 = 20;
/** ... and at least this long. */
const LEAST_MICROS = 1_000_000;
/** A model whose iterations were never seen gets this long. */
const UNKNOWN_MICROS = 60_000_000;

/** Looks at what runs, twice a second. */
export class Watchdog {
  readonly #clock: Clock;
  readonly #lanes: Lanes;
  readonly #report: (message: string) => void;
  #timer: Timer | undefined;

  /** Watches until closed; `report` hears of each overdue iteration once. */
  constructor(clock: Clock, lanes: Lanes, report: (message: string) => void) {
    this.#clock = clock;
    this.#lanes = lanes;
    this.#report = report;
    this.#plan();
  }

  /** Why the gateway is not ready: an iteration that is overdue right now. */
  get reason(): string | undefined {
    const overdue = this.#lanes.all.find((lane) => lane.running[0]?.overdue)?.running[0];
    return overdue && this.#describe(overdue);
  }

  #plan(): void {
    this.#timer = this.#clock.at(this.#clock.nowMicros() + CHECK_MICROS, () => this.#check());
  }

  #check(): void {
    const nowMicros = this.#clock.nowMicros();
    for (const lane of this.#lanes.all) {
      const iteration = lane.running[0];
      if (iteration === undefined || iteration.overdue) continue;
      if (nowMicros - iteration.beganMicros <= limitMicros(iteration)) continue;
      iteration.overdue = true;
      this.#report(this.#describe(iteration));
    }
    this.#plan();
  }

  #describe(iteration: Iteration): string {
    const seconds = (this.#clock.nowMicros() - iteration.beganMicros) / 1e6;
    return `An iteration of model '${iteration.loaded.label}' (${iteration.rows} rows) has been ` +
      `running on lane ${iteration.lane.id} for ${seconds.toFixed(1)} s; at most ` +
      `${(limitMicros(iteration) / 1e6).toFixed(1)} s were expected`;
  }

  /** Stops looking. */
  close(): void {
    this.#timer?.cancel();
  }
}

/** How long an iteration may run before it is overdue. */
function limitMicros({ loaded }: Iteration): number {
  const { computeMicros } = loaded.statistics;
  if (computeMicros.totalCount === 0) return UNKNOWN_MICROS;
  return Math.max(LEAST_MICROS, TIMES_P99 * computeMicros.getValueAtPercentile(99));
}
