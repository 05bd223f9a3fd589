/**
 * The interface between the scheduler and the policy that decides who runs next. A policy sees
 * numbers only: no handle, no clock, no await, no I/O. What it was shown and told is all it may
 * depend on, so that the same events always give the same decisions.
 *
 * @module
 */

/** A request as a policy sees it when it ranks the requests inside one queue. */
export interface RequestView {
  /** When it came, on the scheduler's clock. */
  readonly arrivedMicros: number;
  /** Since when it waits: its arrival, or the end of its last iteration. */
  readonly waitingSinceMicros: number;
  /** Absolute; Infinity when the request has none. */
  readonly deadlineMicros: number;
  /** 1 is most urgent; {@linkcode DEFAULT_PRIORITY} when none was given. */
  readonly priority: number;
  /** Iterations run so far; 0 until its first. */
  readonly iterationsDone: number;
  /** 1 for a plain request; else declared, or learned from others of its model; at least one more. */
  readonly iterationsTotal: number;
  /** Device time charged so far, microseconds: its share by rows of each iteration's. */
  readonly attainedMicros: number;
  /** Whose request it is; empty when nobody said. */
  readonly tenant: string;
  /** Device time charged to all requests of that tenant, halved every second; 0 for nobody's. */
  readonly tenantMicros: number;
}

/** The priority of a request that names none, of a model that names none. */
export const DEFAULT_PRIORITY = 100;

/**
 * The queue of one model's requests, or of its jobs. Live: updated in place, valid until `next`
 * returns.
 */
export interface QueueView {
  /** The model's name. */
  readonly model: string;
  /** Rows ready to run now, all requests together. */
  readonly rows: number;
  /** Rows the engine would join in the next iteration, by learned cost and waiting deadlines. */
  readonly bestRows: number;
  /** The earliest arrival among the waiting requests. */
  readonly oldestArrivalMicros: number;
  /** Since when the request waits that has waited longest for an iteration. */
  readonly waitingSinceMicros: number;
  /** Infinity when no waiting request has a deadline. */
  readonly earliestDeadlineMicros: number;
  /** The most urgent priority among the waiting; smaller is more urgent. */
  readonly topPriority: number;
  /** Share of device time under fair policies; above 0. */
  readonly weight: number;
  /** Device time charged so far, microseconds. */
  readonly servedMicros: number;
  /** When an iteration of this queue last started; -Infinity before the first. */
  readonly lastServedMicros: number;
  /** Iterations that the first request in the policy's order has to go; 1 for a plain one. */
  readonly iterationsLeft: number;
  /** Learned estimate of the device time of one iteration for all waiting rows. */
  readonly remainingMicros: number;
  /** Learned estimate of one iteration of so many rows, microseconds. */
  iterationMicros(rows: number): number;
  /** Where its weights are: on the device, in host memory, or on disk. */
  readonly residency: "resident" | "host" | "cold";
  /** Learned estimate of the time to make it resident; 0 when it is. */
  readonly loadMicros: number;
  /** What it keeps on the device while it is loaded. */
  readonly persistentBytes: number;
  /** Working memory of the iteration it would run next. */
  readonly ephemeralBytes: number;
}

/** A lane as a policy sees it. */
export interface LaneView {
  /** Unique on the device. */
  readonly id: number;
  /** Working memory. */
  readonly bytes: number;
  /** Takes iterations that are expected to be very short, and no others. */
  readonly express: boolean;
  /** Iterations in flight, in the order they started, and when each is expected to end. */
  readonly running: readonly { readonly model: string; readonly untilMicros: number }[];
}

/** All that is known at one decision. */
export interface Snapshot {
  /** The scheduler's clock. */
  readonly nowMicros: number;
  /** The lane with a free slot. */
  readonly lane: LaneView;
  /** All lanes, for policies that care what runs beside. */
  readonly lanes: readonly LaneView[];
  /** Queues with work that this lane can run; never empty. In order of the queues' creation. */
  readonly ready: readonly QueueView[];
}

/** What a policy decides: run so many rows of a queue, or leave the lane idle until then. */
export type Decision =
  | {
    readonly run: QueueView;
    /** At least 1, at most `run.rows`. The engine never splits a request, and may join fewer. */
    readonly rows: number;
    /** The reason, for `Server-Timing` and the decision log. A constant, not built per turn. */
    readonly because: string;
  }
  | {
    /** Later than now. The scheduler asks again then, or when anything changes. */
    readonly idleUntilMicros: number;
    readonly because: string;
  };

/**
 * What a policy is told, for those that learn. `queue` is stable for a model's life. A policy that
 * is switched to is told `queue_added` of every queue that is there, then hears of what happens
 * from then on; that includes charges for iterations that it did not choose.
 */
export type PolicyEvent =
  | { readonly kind: "queue_added" | "queue_removed"; readonly queue: QueueView }
  | { readonly kind: "arrival" | "cancel"; readonly queue: QueueView; readonly nowMicros: number }
  | {
    readonly kind: "charge";
    readonly queue: QueueView;
    readonly nowMicros: number;
    readonly rows: number;
    /** Device time of the iteration, failed or not, divided by the lanes busy meanwhile. */
    readonly micros: number;
  };

/** A scheduling policy. */
export interface Policy {
  /**
   * Order inside a queue: smallest first, asked at arrival, and again after an iteration that was
   * not the request's last. Among equals, and when absent, the one that has waited longest: requests
   * that take many iterations then take turns.
   */
  rank?(request: RequestView): number;
  /** Told of everything that happens to queues. Must not decide anything. */
  observe?(event: PolicyEvent): void;
  /** Called while a lane has a free slot and something is ready. */
  next(snapshot: Snapshot): Decision;
}

/** What a policy promises; the conformance suite holds it to that. */
export interface PolicyPromises {
  /** Every queue with work is served in bounded time, however many requests come to the others. */
  readonly noStarvation: boolean;
  /** Never leaves a lane idle while something is ready. */
  readonly workConserving: boolean;
  /**
   * A request of many iterations, an endless one included, holds up no other: whatever waits, in its
   * queue or another, gets its next iteration in bounded time.
   */
  readonly takesTurns?: boolean;
  /** Queues that always have work get device time in proportion to their weights. */
  readonly proportionalShare?: boolean;
  /** The queue with the most urgent request runs next, unless another has waited for a second. */
  readonly strictPriority?: boolean;
  /**
   * The queue whose first request is expected to need the least device time to its end runs next,
   * unless another has waited for a second; inside a queue, the request with the fewest iterations to
   * go.
   */
  readonly shortestFirst?: boolean;
  /** The queue with the earliest deadline runs next, and inside it the request that has it. */
  readonly deadlineOrder?: boolean;
}

/** A policy by name: the default export of a policy file. */
export interface PolicyDefinition {
  /** What `--policy` and the admin route call it: lower case, digits and `_`. */
  readonly name: string;
  /** What the conformance suite shall hold it to. */
  readonly promises: PolicyPromises;
  /** `random` gives a seeded number in [0, 1). */
  create(env: { random(): number }): Policy;
}
