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
  readonly addedMicros?: number;
  readonly removedMicros?: number;
}

/** A request that waits, with its place. */
export interface Waiting extends RequestView {
  /** How many it takes in fact, whatever the policy is told. */
  readonly iterations: number;
  readonly rank: number;
  readonly order: number;
  readonly leavesMicros: number;
}

/** One queue, as the policy sees it. */
export class Queue implements QueueView {
  readonly waiting: Waiting[] = [];
  readonly tenant = "default";
  readonly residency = "resident";
  readonly loadMicros = 0;
  readonly persistentBytes = 1_000;
  readonly ephemeralBytes = 1_000;
  servedMicros = 0;
  lastServedMicros = -Infinity;
  /** Since when it has had work and no iteration of it started. */
  waitsSince = Infinity;

  constructor(readonly load: QueueLoad) {}

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
    return Math.min(this.rows, this.load.maxRows ?? 1);
  }
  get oldestArrivalMicros() {
    return this.waiting.reduce(
      (oldest, { arrivedMicros }) => Math.min(oldest, arrivedMicros),
      Infinity,
    );
  }
  get earliestDeadlineMicros() {
    return this.waiting.reduce(
      (first, { deadlineMicros }) => Math.min(first, deadlineMicros),
      Infinity,
    );
  }
  get topPriority() {
    return this.waiting.reduce((top, { priority }) => Math.min(top, priority), Infinity);
  }
  get remainingMicros() {
    return Math.ceil(this.rows / (this.load.maxRows ?? 1)) * this.iterationMicros(this.bestRows);
  }
  iterationMicros(rows: number): number {
    return this.actualMicros(rows) * (this.load.estimate ?? 1);
  }
  actualMicros(rows: number): number {
    return this.load.micros + rows * (this.load.microsPerRow ?? 0);
  }
}
