/**
 * Deadlines of waiting requests: what cannot be answered in time any more is not run.
 *
 * @module
 */
import { Alarm, type Clock } from "../../models/clock.ts";
import { SluiceError } from "../../models/errors.ts";
import type { LoadedModel } from "./loaded_model.ts";
import type { PendingRequest } from "./pending.ts";

/** An estimate from fewer iterations refuses nobody. */
const TRUSTED_SAMPLES = 5;

/** What deadlines need of the scheduler. */
export interface DeadlineParts {
  /** Whose time it is. */
  readonly clock: Clock;
  /** Models whose queues are watched. Live. */
  readonly models: readonly LoadedModel[];
  /** Some requests may be due: called before they are dropped. */
  due(nowMicros: number): void;
  /** Takes a request out of its queue and fails it. */
  drop(pending: PendingRequest, error: SluiceError): void;
}

/** Watches over the earliest deadline of all queues. */
export class Deadlines {
  readonly #parts: DeadlineParts;
  readonly #alarm: Alarm;

  /** Nothing is watched yet. */
  constructor(parts: DeadlineParts) {
    this.#parts = parts;
    this.#alarm = new Alarm(parts.clock, () => this.dropExpired(parts.clock.nowMicros()));
  }

  /** Takes note of a request that waits from now on. */
  watch(pending: PendingRequest): void {
    this.#alarm.setBy(pending.deadlineMicros);
  }

  /** Fails what waits past its deadline. */
  dropExpired(nowMicros: number): void {
    if (nowMicros < this.#alarm.atMicros) return;
    this.#parts.due(nowMicros);
    this.#alarm.clear();
    for (const queue of this.#parts.models.flatMap(({ queues }) => queues)) {
      for (;;) {
        const pending = queue.firstDeadline;
        if (pending === undefined) break;
        if (pending.deadlineMicros > nowMicros) {
          this.watch(pending);
          break;
        }
        this.#parts.drop(pending, missedDeadline(pending, nowMicros));
      }
    }
  }

  /** Watches nothing any more. */
  close(): void {
    this.#alarm.clear();
  }
}

/** Whether the deadline passes before an iteration for this request alone could end. */
export function isHopeless(pending: PendingRequest, nowMicros: number): boolean {
  if (pending.deadlineMicros === Infinity) return false;
  const { cost } = pending.group;
  const estimate = cost.samples >= TRUSTED_SAMPLES ? cost.estimate(pending.rows) : 0;
  return nowMicros + estimate > pending.deadlineMicros;
}

/** What the caller of such a request is told. */
export function missedDeadline(pending: PendingRequest, nowMicros: number): SluiceError {
  const { timeoutMicros } = pending.caller;
  const waited = Math.round(nowMicros - pending.arrivedMicros);
  const message = nowMicros >= pending.deadlineMicros
    ? `timeout of ${timeoutMicros} us passed after ${waited} us in the queue`
    : `timeout of ${timeoutMicros} us cannot be met: ${waited} us have passed, and an iteration ` +
      `takes about ${Math.round(pending.group.cost.estimate(pending.rows))} us`;
  return new SluiceError("deadline_exceeded", message);
}
