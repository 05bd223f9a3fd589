/** Queues, requests and snapshots as a policy sees them, for tests of single decisions. */
import {
  DEFAULT_PRIORITY,
  type QueueView,
  type RequestView,
  type Snapshot,
} from "../../policies/policy.ts";

export type MutableQueue = { -readonly [key in keyof QueueView]: QueueView[key] };

export function queueView(model: string, values: Partial<QueueView> = {}): MutableQueue {
  return {
    model,
    rows: 1,
    bestRows: 1,
    oldestArrivalMicros: 0,
    waitingSinceMicros: 0,
    earliestDeadlineMicros: Infinity,
    topPriority: DEFAULT_PRIORITY,
    weight: 1,
    servedMicros: 0,
    lastServedMicros: -Infinity,
    iterationsLeft: 1,
    remainingMicros: 100,
    iterationMicros: () => 100,
    residency: "resident",
    loadMicros: 0,
    persistentBytes: 1_000,
    ephemeralBytes: 1_000,
    ...values,
  };
}

/** A plain request that came at 0 and waits since, with some things different. */
export function requestView(values: Partial<RequestView> = {}): RequestView {
  return {
    arrivedMicros: 0,
    waitingSinceMicros: 0,
    deadlineMicros: Infinity,
    priority: DEFAULT_PRIORITY,
    iterationsDone: 0,
    iterationsTotal: 1,
    attainedMicros: 0,
    tenant: "",
    tenantMicros: 0,
    ...values,
  };
}

export function snapshotOf(ready: readonly QueueView[], nowMicros = 0): Snapshot {
  const lane = { id: 0, bytes: 1_000_000, express: false, running: [] };
  return { nowMicros, lane, lanes: [lane], ready };
}
