/**
 * Tells when events have fired, by asking them between the turns of the event loop.
 *
 * The driver could call back instead, but its callbacks stall the stream until JavaScript runs;
 * and a thread that blocks on an event answers later than asking does.
 *
 * @module
 */
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import type { CudaError } from "./errors.ts";

/** When the poller's next turn comes. */
export interface PollScheduler {
  /** A clock that never goes back, microseconds. */
  nowMicros(): number;
  /** Has a turn run as soon as the event loop has served what is ready. */
  soon(turn: () => void): void;
  /** Has a turn run after a millisecond; returns what calls it off. */
  later(turn: () => void): () => void;
}

/** What can be asked whether it has happened. */
export interface Pollable {
  /**
   * Whether it has.
   *
   * @throws {CudaError} When it never will: the device has met a fault.
   */
  query(): boolean;
}

/** Called once: when it has happened, or with the reason why it never will. */
export type Fired = (error?: CudaError) => void;

/**
 * A turn costs a few microseconds, so for most work asking in every turn is right. Work that has
 * not ended after this long is asked about every millisecond, which is then no loss.
 */
const EAGER_MICROS = 20_000;

const EVENT_LOOP: PollScheduler = {
  nowMicros: () => performance.now() * 1000,
  soon: (turn) => void setImmediate(turn),
  later: (turn) => {
    const timer = setTimeout(turn, 1);
    return () => clearTimeout(timer);
  },
};

interface Watch {
  readonly event: Pollable;
  readonly fired: Fired;
  readonly order: number;
  error?: CudaError;
}

/** One for all events of a context. It costs nothing while none is watched. */
export class EventPoller {
  readonly #scheduler: PollScheduler;
  readonly #turn = () => this.#poll();
  readonly #watched: Watch[] = [];
  readonly #fired: Watch[] = [];
  #scheduled: "no" | "soon" | "later" = "no";
  #callOff = () => {};
  #lastChangeMicros = 0;
  #count = 0;

  /** A poller with nothing to do. */
  constructor(scheduler: PollScheduler = EVENT_LOOP) {
    this.#scheduler = scheduler;
  }

  /** How many events are watched. */
  get size(): number {
    return this.#watched.length;
  }

  /** Has `fired` called when the event has fired, in the order of watching, never at once. */
  watch(event: Pollable, fired: Fired): void {
    this.#watched.push({ event, fired, order: this.#count++ });
    this.#changed();
  }

  /** The same as a promise. */
  done(event: Pollable): Promise<void> {
    return new Promise((resolve, reject) => {
      this.watch(event, (error) => error === undefined ? resolve() : reject(error));
    });
  }

  #poll(): void {
    this.#scheduled = "no";
    this.#sweep();
    try {
      for (let watch = this.#fired.shift(); watch !== undefined; watch = this.#fired.shift()) {
        this.#lastChangeMicros = this.#scheduler.nowMicros();
        watch.fired(watch.error);
      }
    } finally {
      this.#schedule();
    }
  }

  /**
   * Moves what has happened from the watched to the fired. While one is asked others happen, so an
   * event may be found that came after one which was asked too early. All that are left are asked
   * again then: callbacks keep the order of watching, as events of one stream keep theirs.
   */
  #sweep(): void {
    let watched: number;
    do {
      watched = this.#watched.length;
      this.#ask();
    } while (this.#watched.length < watched && this.#watched.length > 0);
    this.#fired.sort((a, b) => a.order - b.order);
  }

  #ask(): void {
    let kept = 0;
    for (const watch of this.#watched) {
      if (this.#happened(watch)) this.#fired.push(watch);
      else this.#watched[kept++] = watch;
    }
    this.#watched.length = kept;
  }

  #happened(watch: Watch): boolean {
    try {
      return watch.event.query();
    } catch (error) {
      watch.error = error as CudaError;
      return true;
    }
  }

  #changed(): void {
    this.#lastChangeMicros = this.#scheduler.nowMicros();
    if (this.#scheduled === "later") {
      this.#callOff();
      this.#scheduled = "no";
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled !== "no") return;
    if (this.#fired.length === 0 && this.#watched.length === 0) return;
    const waited = this.#scheduler.nowMicros() - this.#lastChangeMicros;
    if (this.#fired.length > 0 || waited < EAGER_MICROS) {
      this.#scheduled = "soon";
      this.#scheduler.soon(this.#turn);
    } else {
      this.#scheduled = "later";
      this.#callOff = this.#scheduler.later(this.#turn);
    }
  }
}
