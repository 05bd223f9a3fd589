/** A model's queue in the simulation that policies are driven with. */
import type { QueueView, RequestView } from "../../policies/policy.ts";

/** A queue and what its iterations cost. */
export interface QueueLoad {
  readonly model: string;
  readonly weight?: number;
  /** Device time of one iteration: so much, and so much more for every row. */
  readonly micros: number;
  readonly microsPerRow?: number;
  /** What the policy is told an iteration costs, as a multiple of what it does; 1 when absent. */
  readonly estimate?: number;
  /** Rows that the engine joins at most; 1 when absent. */
  readonly maxRows?: number;
  /** Keeps so many requests waiting from the queue's start on, of this priority. */
  readonly backlog?: number;
  readonly priority?: number;
  /** Iterations of each request of the backlog; 1 when absent. */
  readonly iterations?: number;
  readonly addedMicros?: number;
  readonly removedMicros?: number;
}

/** A request of one row that waits, with its place. */
export interface Waiting extends RequestView {
  /** How many it takes in fact, whatever the policy is told. */
  readonly iterations: number;
  /** Whether the policy is told. */
  readonly declared: boolean;
  /** Shares iterations with those of its group only; first iterations of a generation with none. */
  readonly group: number;
  readonly rank: number;
  readonly leavesMicros: number;
}

/** The group of all that may share an iteration with others. */
export const JOINED = -1;

/** One queue, as the policy sees it. */
export class Queue implements QueueView {
  readonly waiting: Waiting[] = [];
  readonly residency = "resident";
  readonly loadMicros = 0;
  readonly persistentBytes = 1_000;
  readonly ephemeralBytes = 1_000;
  servedMicros = 0;
  lastServedMicros = -Infinity;
  /** Since when it has had work and no iteration of it started. */
  waitsSince = Infinity;
  #ended = 0;
  #endedIterations = 0;

  constructor(readonly load: QueueLoad) {}

  /** Takes a request into its place; among equals the one that has waited longest is first. */
  push(request: Waiting): void {
    let place = this.waiting.length;
    while (place > 0 && request.rank < this.waiting[place - 1].rank) place--;
    this.waiting.splice(place, 0, request);
  }

  /** Takes out the first, and those of its group up to so many. */
  take(rows: number): Waiting[] {
    const first = this.waiting[0];
    const batch = this.waiting.filter(({ group }) => group === first.group).slice(0, rows);
    for (const request of batch) this.waiting.splice(this.waiting.indexOf(request), 1);
    return batch;
  }

  /** Learns from a request that has ended how many iterations one takes. */
  ended(iterations: number): void {
    this.#ended++;
    this.#endedIterations += iterations;
  }

  /** How many iterations a request is thought to take that did not say, and has run so many. */
  expectedIterations(done: number): number {
    const mean = this.#ended === 0 ? 1 : Math.round(this.#endedIterations / this.#ended);
    return Math.max(done + 1, mean > done ? mean : 2 * done);
  }

  get model() {
    return this.load.model;
  }
  get weight() {
    return this.load.weight ?? 1;
  }
  get rows() {
    return this.waiting.length;
  }
  get bestRows() {
    const { maxRows = 1 } = this.load;
    let rows = 0;
    for (const { group } of this.waiting) {
      if (group === this.waiting[0].group && ++rows === maxRows) break;
    }
    return rows;
  }
  get oldestArrivalMicros() {
    return this.#least("arrivedMicros");
  }
  get waitingSinceMicros() {
    return this.#least("waitingSinceMicros");
  }
  get earliestDeadlineMicros() {
    return this.#least("deadlineMicros");
  }
  get topPriority() {
    return this.#least("priority");
  }
  get iterationsLeft() {
    const [first] = this.waiting;
    return first === undefined ? 0 : first.iterationsTotal - first.iterationsDone;
  }
  get remainingMicros() {
    return Math.ceil(this.rows / (this.load.maxRows ?? 1)) * this.iterationMicros(this.bestRows);
  }
  #least(
    of: "arrivedMicros" | "waitingSinceMicros" | "deadlineMicros" | "priority",
  ): number {
    let least = Infinity;
    for (const request of this.waiting) least = Math.min(least, request[of]);
    return least;
  }
  iterationMicros(rows: number): number {
    return this.actualMicros(rows) * (this.load.estimate ?? 1);
  }
  actualMicros(rows: number): number {
    return this.load.micros + rows * (this.load.microsPerRow ?? 0);
  }
}
