/**
 * A simulated lane: iterations one after another, each at the speed that the other lanes leave it.
 *
 * @module
 */
import type { Clock, Timer } from "../clock.ts";
import type { Lane } from "../device.ts";
import { SluiceError } from "../errors.ts";

/** An iteration as the lane sees it: so much time, then an end. */
export interface LaneWork {
  /** Time it takes at full speed. */
  readonly micros: number;
  /** Whether it ends only when the lane is told so. */
  readonly hangs: boolean;
  /** False when its time is fixed, whatever the other lanes do. */
  readonly sharesSpeed: boolean;
  /** Called once, with the time it took. */
  end(deviceMicros: number): void;
}

/** What a lane needs of its device. */
export interface LaneParts {
  /** Unique on its device. */
  readonly id: number;
  /** Working memory to begin with. */
  readonly bytes: number;
  /** Iterations it takes at once. */
  readonly depth: number;
  /** Whose time its iterations take. */
  readonly clock: Clock;
  /**
   * Asks for more working memory.
   *
   * @throws {SluiceError} `out_of_memory` when the device has not so many bytes more.
   */
  reserve(bytes: number): void;
  /** The lane has become busy or idle. */
  busyChanged(): void;
  /** The lane was closed and its memory is free. */
  closed(lane: SimulatedLane): void;
}

/** One iteration executes at a time; those behind it start the instant it ends. */
export class SimulatedLane implements Lane {
  /** Unique on its device. */
  readonly id: number;
  /** Iterations it takes at once. */
  readonly depth: number;
  readonly #parts: LaneParts;
  readonly #queue: LaneWork[] = [];
  #bytes: number;
  #speed = 1;
  /** Of the iteration at the head: when it began, what is left of it, and since when. */
  #beganMicros = 0;
  #leftMicros = 0;
  #sinceMicros = 0;
  #timer?: Timer;

  /** Use `openLane` of the device. */
  constructor(parts: LaneParts) {
    this.id = parts.id;
    this.depth = parts.depth;
    this.#bytes = parts.bytes;
    this.#parts = parts;
  }

  /** Working memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Iterations that have started and not ended, the waiting ones included. */
  get inFlight(): number {
    return this.#queue.length;
  }

  /**
   * Changes the working memory.
   *
   * @throws {SluiceError} `internal` when it is not idle, `out_of_memory` when it cannot grow.
   */
  resize(bytes: number): void {
    this.#demandIdle("resized");
    this.#parts.reserve(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  /**
   * Gives the working memory back.
   *
   * @throws {SluiceError} `internal` when it is not idle.
   */
  [Symbol.dispose](): void {
    this.#demandIdle("closed");
    this.#parts.closed(this);
  }

  /** Runs `work` after what is in flight. The device keeps to the depth. */
  enqueue(work: LaneWork): void {
    this.#queue.push(work);
    if (this.#queue.length > 1) return;
    this.#begin(this.#parts.clock.nowMicros());
    this.#parts.busyChanged();
  }

  /** Runs at this fraction of full speed from now on. */
  setSpeed(speed: number): void {
    if (speed === this.#speed) return;
    const [head] = this.#queue;
    if (head === undefined || head.hangs || !head.sharesSpeed) {
      this.#speed = speed;
      return;
    }
    const now = this.#parts.clock.nowMicros();
    this.#leftMicros = Math.max(0, this.#leftMicros - (now - this.#sinceMicros) * this.#speed);
    this.#sinceMicros = now;
    this.#speed = speed;
    this.#timer?.cancel();
    this.#schedule(head);
  }

  /** Ends the iteration at the head if it hangs. */
  releaseHung(): void {
    if (this.#queue[0]?.hangs) this.#endHead(this.#parts.clock.nowMicros());
  }

  /** Ends all iterations now. */
  endAll(): void {
    const now = this.#parts.clock.nowMicros();
    this.#timer?.cancel();
    const began = this.#beganMicros;
    const all = this.#queue.splice(0);
    all.forEach((work, index) => work.end(index === 0 ? Math.max(0, now - began) : 0));
  }

  #begin(atMicros: number): void {
    const [head] = this.#queue;
    this.#beganMicros = this.#sinceMicros = atMicros;
    this.#leftMicros = head.micros;
    if (!head.hangs) this.#schedule(head);
  }

  #schedule(head: LaneWork): void {
    const end = this.#sinceMicros + this.#leftMicros / (head.sharesSpeed ? this.#speed : 1);
    // A late timer of the system's does not lengthen the iteration: the device would have ended it.
    this.#timer = this.#parts.clock.at(end, () => this.#endHead(end));
  }

  #endHead(endMicros: number): void {
    const head = this.#queue.shift()!;
    const took = endMicros - this.#beganMicros;
    if (this.#queue.length > 0) this.#begin(endMicros);
    else this.#parts.busyChanged();
    head.end(took);
  }

  #demandIdle(verb: string): void {
    if (this.#queue.length === 0) return;
    const message =
      `Lane ${this.id} cannot be ${verb} with ${this.#queue.length} iterations in flight`;
    throw new SluiceError("internal", message);
  }
}
