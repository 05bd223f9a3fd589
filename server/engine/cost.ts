/**
 * What iterations cost, learned from the iterations themselves.
 *
 * On a CPU, filling a batch is often a loss: an item can cost more in a batch of 32 than alone. So
 * nothing is assumed; each group of like requests has a curve of its own.
 *
 * @module
 */

/** Batch sizes share a bucket between powers of two: 1, 2, 3-4, 5-8, ... */
const BUCKETS = 16;
const SMOOTHING = 0.2;
/** The first iterations of a size pay for allocations that later ones do not repeat. */
const FIRST_ITERATIONS = 3;
/** A larger batch must make a row cheaper by this much to be worth its longer iteration. */
const WORTHWHILE = 0.95;
/** Beyond this, still larger ones are not looked at. */
const HOPELESS = 1.25;
/** After so many iterations of one size the other sizes are tried again: the world may change. */
const FORGET_AFTER = 2000;

function bucketOf(rows: number): number {
  return Math.min(BUCKETS - 1, 32 - Math.clz32(rows - 1));
}

/** Device time of an iteration as a function of its rows. */
export class CostCurve {
  readonly #count = new Uint32Array(BUCKETS);
  readonly #rows = new Float64Array(BUCKETS);
  readonly #micros = new Float64Array(BUCKETS);
  #sinceForgotten = 0;

  /** Iterations observed. */
  get samples(): number {
    let sum = 0;
    for (const count of this.#count) sum += count;
    return sum;
  }

  /** Learns from one iteration. */
  observe(rows: number, micros: number): void {
    const bucket = bucketOf(rows);
    const count = this.#count[bucket]++;
    if (count < FIRST_ITERATIONS) {
      if (count === 0 || micros / rows < this.#micros[bucket] / this.#rows[bucket]) {
        this.#rows[bucket] = rows;
        this.#micros[bucket] = micros;
      }
    } else {
      this.#rows[bucket] += SMOOTHING * (rows - this.#rows[bucket]);
      this.#micros[bucket] += SMOOTHING * (micros - this.#micros[bucket]);
    }
    if (++this.#sinceForgotten >= FORGET_AFTER) {
      this.#sinceForgotten = 0;
      for (let other = 0; other < BUCKETS; other++) if (other !== bucket) this.#count[other] = 0;
    }
  }

  /** Estimated microseconds of an iteration of so many rows; 0 while nothing is known. */
  estimate(rows: number): number {
    let before = -1, below = -1, above = -1;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      if (this.#count[bucket] === 0) continue;
      if (this.#rows[bucket] > rows) {
        above = bucket;
        break;
      }
      before = below;
      below = bucket;
    }
    if (below < 0) return above < 0 ? 0 : this.#micros[above]; // fewer rows cost no more
    const micros = this.#micros[below], beyond = rows - this.#rows[below];
    if (above >= 0) return micros + beyond * this.#slope(below, above);
    // Beyond all that is known it goes on as before, at most in proportion to the rows.
    const inProportion = micros / this.#rows[below];
    const slope = before < 0 ? inProportion : Math.max(0, this.#slope(before, below));
    return micros + beyond * Math.min(slope, inProportion);
  }

  #slope(from: number, to: number): number {
    return (this.#micros[to] - this.#micros[from]) / (this.#rows[to] - this.#rows[from]);
  }

  /**
   * Rows to join when `waiting` are there: the smallest batch in which a row costs within 5 % of
   * the least, and whose estimate fits into `slackMicros`. A size never tried is tried when the
   * sizes below it have paid so far, and again when only its first iterations did not pay.
   */
  best(waiting: number, maxRows: number, slackMicros: number): number {
    const limit = Math.min(waiting, maxRows);
    if (limit <= 1) return 1;
    let best = 1;
    let bestPerRow = Infinity;
    for (let size = 1;; size *= 2) {
      const rows = Math.min(size, limit);
      const micros = this.estimate(rows);
      if (micros > slackMicros) break;
      const tries = this.#count[bucketOf(rows)];
      if (tries === 0) return rows;
      const perRow = micros / rows;
      if (perRow <= bestPerRow * WORTHWHILE) {
        best = rows;
        bestPerRow = perRow;
      } else if (perRow > bestPerRow * HOPELESS) {
        if (tries < FIRST_ITERATIONS) return rows;
        break;
      }
      if (rows === limit) break;
    }
    return best;
  }
}
