/**
 * Time as the engine and the simulated device see it. The engine never asks the system: with a
 * {@linkcode VirtualClock} a whole gateway runs in virtual time, the same way every time.
 *
 * @module
 */

/** A pending call. */
export interface Timer {
  /** Takes the call back; without effect once it has been made. */
  cancel(): void;
}

/** A monotonic clock that can also call back. */
export interface Clock {
  /** Whole microseconds since some fixed point: whole, so that a recorded time is an exact one. */
  nowMicros(): number;
  /** Calls `callback` once, when `atMicros` has come. */
  at(atMicros: number, callback: () => void): Timer;
  /** Calls `callback` soon, after what is running now and the I/O that is already there. */
  soon(callback: () => void): void;
}

/** The longest that the system's timers wait; beyond it they fire at once. */
const LONGEST_WAIT_MILLIS = 2 ** 31 - 1;

/** The machine's own time. */
export class SystemClock implements Clock {
  nowMicros(): number {
    return Math.floor(performance.now() * 1000);
  }
  at(atMicros: number, callback: () => void): Timer {
    let id: ReturnType<typeof setTimeout>;
    const wait = () => {
      const millis = Math.max(0, (atMicros - this.nowMicros()) / 1000);
      id = millis <= LONGEST_WAIT_MILLIS
        ? setTimeout(callback, millis)
        : setTimeout(wait, LONGEST_WAIT_MILLIS);
    };
    wait();
    return { cancel: () => clearTimeout(id) };
  }
  soon(callback: () => void): void {
    setImmediate(callback);
  }
}

/** Of the times asked for, the earliest counts: one pending call, however often it is asked. */
export class Alarm {
  readonly #clock: Clock;
  readonly #callback: () => void;
  #timer: Timer | undefined;
  #atMicros = Infinity;

  /** Not set. */
  constructor(clock: Clock, callback: () => void) {
    this.#clock = clock;
    this.#callback = callback;
  }

  /** When it goes off, or went off if it was not cleared since; Infinity when it is not set. */
  get atMicros(): number {
    return this.#atMicros;
  }

  /** Goes off at this time, unless it is set for an earlier one. */
  setBy(atMicros: number): void {
    if (atMicros >= this.#atMicros) return;
    this.#timer?.cancel();
    this.#atMicros = atMicros;
    this.#timer = this.#clock.at(atMicros, this.#callback);
  }

  /** Does not go off, until it is set again. */
  clear(): void {
    this.#timer?.cancel();
    this.#atMicros = Infinity;
  }
}

interface Pending {
  readonly atMicros: number;
  readonly order: number;
  readonly callback: () => void;
  cancelled: boolean;
}

/**
 * Time that moves only when told to. Calls due at the same instant run in the order they were made,
 * so a run depends on nothing but its input.
 */
export class VirtualClock implements Clock {
  #now = 0;
  #order = 0;
  #pending: Pending[] = [];

  nowMicros(): number {
    return this.#now;
  }

  at(atMicros: number, callback: () => void): Timer {
    const entry: Pending = {
      atMicros: Math.max(atMicros, this.#now),
      order: this.#order++,
      callback,
      cancelled: false,
    };
    let low = 0, high = this.#pending.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#pending[middle];
      const before = other.atMicros < entry.atMicros ||
        (other.atMicros === entry.atMicros && other.order < entry.order);
      if (before) low = middle + 1;
      else high = middle;
    }
    this.#pending.splice(low, 0, entry);
    return { cancel: () => void (entry.cancelled = true) };
  }

  soon(callback: () => void): void {
    this.at(this.#now, callback);
  }

  /** When the next call is due; Infinity when none is pending. */
  get nextMicros(): number {
    return this.#pending[0]?.atMicros ?? Infinity;
  }

  /** Runs everything due up to `untilMicros`, then stands there. */
  advanceTo(untilMicros: number): void {
    while (this.#pending.length > 0 && this.#pending[0].atMicros <= untilMicros) this.#runFirst();
    this.#now = Math.max(this.#now, untilMicros);
  }

  /** Runs until nothing is pending. */
  runAll(): void {
    while (this.#pending.length > 0) this.#runFirst();
  }

  #runFirst(): void {
    const entry = this.#pending.shift()!;
    if (entry.cancelled) return;
    this.#now = Math.max(this.#now, entry.atMicros);
    entry.callback();
  }
}
