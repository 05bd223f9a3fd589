/**
 * What work in flight reads and writes, kept until the work is done.
 *
 * @module
 */
import { Owned, type Use } from "./owned.ts";

/** So many objects cost little to keep, and so few sweeps little to make. */
const SWEEP_EVERY = 128;

/**
 * Objects in the order in which work that uses them was enqueued. They stay referenced, so that
 * host memory is not collected beneath a copy, and what is {@linkcode Owned} cannot be disposed.
 */
export class InFlight implements Use {
  /** Who uses them. */
  readonly label: string;
  readonly #refresh: () => void;
  readonly #sweep: () => void;
  readonly #kept: object[] = [];
  #first = 0; // how many were let go before the first that is kept

  /**
   * Keeps nothing yet.
   *
   * @param refresh Calls {@linkcode finished} for what is done.
   * @param sweep Does so at times, for work that nobody waits for.
   */
  constructor(label: string, refresh: () => void = () => {}, sweep: () => void = () => {}) {
    this.label = label;
    this.#refresh = refresh;
    this.#sweep = sweep;
  }

  /** A place in the order: all that is kept now lies before it. */
  get mark(): number {
    return this.#first + this.#kept.length;
  }

  /** Keeps an object from here on. */
  keep(object: object): void {
    this.#kept.push(object);
    if (object instanceof Owned) object.beginUse(this);
    if (this.mark % SWEEP_EVERY === 0) this.#sweep();
  }

  /** Lets go of all before a mark. */
  finished(mark: number = this.mark): void {
    const count = mark - this.#first;
    if (count <= 0) return;
    for (const object of this.#kept.splice(0, count)) {
      if (object instanceof Owned) object.endUse(this);
    }
    this.#first = mark;
  }

  /** Hands all after a mark over, as to a graph that was captured since. */
  moveSince(mark: number, to: InFlight): void {
    for (const object of this.#kept.splice(Math.max(0, mark - this.#first))) {
      to.keep(object);
      if (object instanceof Owned) object.endUse(this);
    }
  }

  /** Lets go of what is done. */
  refresh(): void {
    this.#refresh();
  }
}
