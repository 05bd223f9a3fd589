/**
 * Where the runs of one signature go: in place, which holds the event loop for as long as the run
 * takes, or to a thread, which costs the way there and the wait until the loop sees the end.
 *
 * @module
 */

/**
 * A run this short is made in place. An idle thread would begin it after 40-80 us; on cores that are
 * busy reading requests the way there and back takes several times that.
 */
const IN_PLACE_MICROS = 250;
/** What is seen around a hop says little of short runs: up to this, one is tried in place. */
const WORTH_TRYING_MICROS = 1000;
/** Runs in place before they are judged: the first ones pay for memory, and for caches gone cold. */
const FIRST_RUNS = 10;
/** Runs after which one that was too long in place is tried again: it may have been held up. */
const TRY_AGAIN_AFTER = 1000;
/** Most that one run can raise the typical time: a few that were held up are no rule. */
const SLOWDOWN_PER_RUN = 1.05;

/** What the runs of one signature took. */
export class RunTimes {
  #inPlaceMicros = Infinity;
  #hoppedMicros = Infinity;
  #runsInPlace = 0;
  #lastInPlaceMicros = 0;
  #sinceTried = 0;
  readonly #estimateMicros: number;

  /**
   * Nothing has run yet.
   *
   * @param estimateMicros What a quiet trial says of a run in place; Infinity when nothing does.
   */
  constructor(estimateMicros = Infinity) {
    this.#estimateMicros = estimateMicros;
  }

  /**
   * Whether the next run should be made in place.
   *
   * @param expectedMicros An estimate from other signatures, used while nothing is known of this one.
   */
  preferInPlace(expectedMicros: number): boolean {
    if (this.#runsInPlace < FIRST_RUNS && this.#lastInPlaceMicros < WORTH_TRYING_MICROS) {
      if (this.#estimateMicros < IN_PLACE_MICROS) return true;
      return this.#hoppedMicros === Infinity
        ? expectedMicros < IN_PLACE_MICROS
        : this.#hoppedMicros < WORTH_TRYING_MICROS;
    }
    if (this.#inPlaceMicros < IN_PLACE_MICROS) return true;
    if (++this.#sinceTried < TRY_AGAIN_AFTER) return false;
    this.#sinceTried = this.#runsInPlace = this.#lastInPlaceMicros = 0;
    return this.#hoppedMicros < WORTH_TRYING_MICROS;
  }

  /** Notes a run made in place. */
  ranInPlace(micros: number): void {
    this.#runsInPlace++;
    this.#lastInPlaceMicros = micros;
    this.#inPlaceMicros = Math.min(micros, this.#inPlaceMicros * SLOWDOWN_PER_RUN);
  }

  /** Notes a run made on a thread, as it looked from the event loop. */
  hopped(micros: number): void {
    this.#hoppedMicros = Math.min(micros, this.#hoppedMicros * SLOWDOWN_PER_RUN);
  }
}
