/**
 * A bounded queue of one model version, and the view a policy has of it. Requests wait in groups
 * of those that could run together; the group with the first request in the policy's order runs.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import type { QueueView } from "../../policies/policy.ts";
import { ranksBefore, type RequestGroup } from "./group.ts";
import { Heap } from "./heap.ts";
import type { PendingRequest, QueueEntry } from "./pending.ts";

/** Bounds of one queue. */
export interface QueueLimits {
  /** Requests that may wait. */
  readonly maxRequests: number;
  /** Bytes of input data that may wait. */
  readonly maxBytes: number;
}

/** Waiting requests of one model version, or its waiting jobs. Frozen, as policies get hold of it. */
export class ModelQueue implements QueueView {
  readonly residency = "resident";
  readonly loadMicros = 0;
  #rows = 0;
  #requests = 0;
  #bytes = 0;
  #servedMicros = 0;
  #lastServedMicros = -Infinity;
  readonly #limits: QueueLimits;
  readonly #nowMicros: () => number;
  readonly #active = new Set<RequestGroup>();
  readonly #deadlines = new Heap<QueueEntry>(({ request: a }, { request: b }) =>
    a.deadlineMicros !== b.deadlineMicros ? a.deadlineMicros < b.deadlineMicros : a.order < b.order
  );
  /** Those that have been here before: the order of entry is not that of their arrival. */
  readonly #returned = new Heap<QueueEntry>(({ request: a }, { request: b }) =>
    a.arrivedMicros !== b.arrivedMicros ? a.arrivedMicros < b.arrivedMicros : a.order < b.order
  );
  readonly #priorities = new Map<number, number>();
  #oldest: PendingRequest | undefined;
  #newest: PendingRequest | undefined;
  #head: RequestGroup | undefined;

  /** An empty queue; `nowMicros` gives the time of the decision being made. */
  constructor(
    readonly model: string,
    readonly version: number,
    readonly weight: number,
    readonly persistentBytes: number,
    limits: QueueLimits,
    nowMicros: () => number,
  ) {
    this.#limits = limits;
    this.#nowMicros = nowMicros;
    Object.freeze(this);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Requests waiting. */
  get requests(): number {
    return this.#requests;
  }

  /** Their input data. */
  get bytes(): number {
    return this.#bytes;
  }

  get servedMicros(): number {
    return this.#servedMicros;
  }

  get lastServedMicros(): number {
    return this.#lastServedMicros;
  }

  /** Notes that an iteration of this queue starts now. */
  served(nowMicros: number): void {
    this.#lastServedMicros = nowMicros;
  }

  /** Adds device time. */
  charge(micros: number): void {
    this.#servedMicros += micros;
  }

  /**
   * Makes sure that one more request of so many bytes may wait.
   *
   * @throws {SluiceError} `queue_full`, saying which bound.
   */
  checkRoom(bytes: number): void {
    const { maxRequests, maxBytes } = this.#limits;
    if (this.requests >= maxRequests) {
      throw new SluiceError(
        "queue_full",
        `the queue of model '${this.model}' is full: ${this.requests} requests wait, at most ` +
          `${maxRequests} may; try again later`,
      );
    }
    if (this.bytes + bytes > maxBytes) {
      throw new SluiceError(
        "queue_full",
        `the queue of model '${this.model}' is full: ${this.bytes} bytes wait, at most ` +
          `${maxBytes} may, and this request has ${bytes}; try again later`,
      );
    }
  }

  /** Adds a request, last in order of entry. Its `rank` must be set; bounds are not checked. */
  push(pending: PendingRequest): void {
    const { group } = pending;
    group.waiting.push(pending);
    group.rows += pending.rows;
    this.#active.add(group);
    this.#rows += pending.rows;
    this.#requests++;
    this.#bytes += pending.bytes;
    this.#priorities.set(pending.priority, (this.#priorities.get(pending.priority) ?? 0) + 1);
    if (pending.deadlineMicros !== Infinity) {
      this.#deadlines.push(pending.deadlineEntry = { request: pending, heapIndex: -1 });
    }
    if (pending.arrivedMicros < pending.waitingSinceMicros) {
      this.#returned.push(pending.arrivalEntry = { request: pending, heapIndex: -1 });
    }
    pending.older = this.#newest;
    if (this.#newest !== undefined) this.#newest.newer = pending;
    else this.#oldest = pending;
    this.#newest = pending;
    this.#head = undefined;
  }

  /** Takes a waiting request out. */
  remove(pending: PendingRequest): void {
    const { group, older, newer } = pending;
    group.waiting.remove(pending);
    group.rows -= pending.rows;
    if (group.waiting.size === 0) this.#active.delete(group);
    this.#rows -= pending.rows;
    this.#requests--;
    this.#bytes -= pending.bytes;
    const samePriority = this.#priorities.get(pending.priority)! - 1;
    if (samePriority > 0) this.#priorities.set(pending.priority, samePriority);
    else this.#priorities.delete(pending.priority);
    if (pending.deadlineEntry !== undefined) {
      this.#deadlines.remove(pending.deadlineEntry);
      pending.deadlineEntry = undefined;
    }
    if (pending.arrivalEntry !== undefined) {
      this.#returned.remove(pending.arrivalEntry);
      pending.arrivalEntry = undefined;
    }
    if (older !== undefined) older.newer = newer;
    else this.#oldest = newer;
    if (newer !== undefined) newer.older = older;
    else this.#newest = older;
    pending.older = pending.newer = undefined;
    this.#head = undefined;
  }

  /**
   * Takes the next batch: the first request in the policy's order, and those of its group behind
   * it while they fit into `rows`.
   */
  take(rows: number): PendingRequest[] {
    const group = this.head;
    const batch: PendingRequest[] = [];
    if (group === undefined) return batch;
    let taken = 0;
    for (;;) {
      const next = group.waiting.peek();
      if (next === undefined) break;
      if (taken > 0 && (!group.joinable || next.alone || taken + next.rows > rows)) break;
      this.remove(next);
      batch.push(next);
      taken += next.rows;
      if (next.alone) break;
    }
    return batch;
  }

  /** The group that runs next. */
  get head(): RequestGroup | undefined {
    if (this.#head === undefined) {
      for (const group of this.#active) {
        const first = this.#head?.waiting.peek();
        if (first === undefined || ranksBefore(group.waiting.peek()!, first)) this.#head = group;
      }
    }
    return this.#head;
  }

  /** The waiting request whose deadline comes first. */
  get firstDeadline(): PendingRequest | undefined {
    return this.#deadlines.peek()?.request;
  }

  /** Waiting requests in order of entry. */
  *waiting(): Iterable<PendingRequest> {
    for (let pending = this.#oldest; pending !== undefined;) {
      const next: PendingRequest | undefined = pending.newer; // the caller may remove it
      yield pending;
      pending = next;
    }
  }

  get bestRows(): number {
    const group = this.head;
    if (group === undefined) return 0;
    const first = group.waiting.peek()!;
    if (!group.joinable) return first.rows;
    const slack = this.earliestDeadlineMicros - this.#nowMicros();
    return Math.max(first.rows, group.cost.best(group.rows, group.maxRows, slack));
  }

  /**
   * Rows, at most the best number, of an iteration that is expected to take no longer than that; 0
   * where not even the first request's is, or where nothing is known of it.
   */
  rowsWithin(micros: number): number {
    const group = this.head;
    if (group === undefined) return 0;
    const least = group.waiting.peek()!.rows;
    const isWithin = (rows: number) => {
      const expected = group.cost.estimate(rows);
      return expected > 0 && expected <= micros;
    };
    let rows = this.bestRows;
    while (rows > least && !isWithin(rows)) rows = Math.max(least, rows >> 1);
    return isWithin(rows) ? rows : 0;
  }

  get oldestArrivalMicros(): number {
    if (this.#oldest === undefined) return Infinity;
    const returned = this.#returned.peek()?.request.arrivedMicros ?? Infinity;
    return Math.min(this.#oldest.arrivedMicros, returned);
  }

  get waitingSinceMicros(): number {
    return this.#oldest?.waitingSinceMicros ?? Infinity;
  }

  get iterationsLeft(): number {
    const first = this.head?.waiting.peek();
    return first === undefined ? 0 : first.iterationsTotal - first.iterationsDone;
  }

  get earliestDeadlineMicros(): number {
    return this.firstDeadline?.deadlineMicros ?? Infinity;
  }

  get topPriority(): number {
    let top = Infinity;
    for (const priority of this.#priorities.keys()) if (priority < top) top = priority;
    return top;
  }

  get remainingMicros(): number {
    let sum = 0;
    for (const group of this.#active) {
      const batch = Math.max(1, Math.min(group.rows, group.maxRows));
      sum += group.cost.estimate(batch) * group.rows / batch;
    }
    return sum;
  }

  iterationMicros(rows: number): number {
    return this.head?.cost.estimate(rows) ?? 0;
  }

  get ephemeralBytes(): number {
    const group = this.head;
    return group === undefined ? 0 : group.signature(this.bestRows).ephemeralBytes;
  }

  /** Least working memory with which the first request can run. */
  get leastEphemeralBytes(): number {
    const group = this.head;
    if (group === undefined) return 0;
    return group.signature(group.waiting.peek()!.rows).ephemeralBytes;
  }

  /** When it may run: at once, or when a batch has had its time to fill (Triton's queue delay). */
  get readyAtMicros(): number {
    const group = this.head;
    if (group === undefined || !group.joinable || group.rows >= group.maxRows) return -Infinity;
    const { maxDelayMicros } = group.batching;
    return maxDelayMicros === 0 ? -Infinity : this.waitingSinceMicros + maxDelayMicros;
  }
}
