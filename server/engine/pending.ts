import { DEFAULT_PRIORITY, type RequestView } from "../../policies/policy.ts";
import type { InferenceRequest } from "./api.ts";
import type { Admitted } from "./admission.ts";
import type { RequestGroup } from "./group.ts";
import type { HeapItem } from "./heap.ts";
import type { LoadedModel } from "./loaded_model.ts";

/** A request's entry in its queue's order of deadlines. */
export interface DeadlineEntry extends HeapItem {
  readonly request: PendingRequest;
}

/** A request from its admission to its answer. */
export class PendingRequest implements RequestView, HeapItem {
  readonly iterationsDone = 0;
  readonly iterationsTotal = 1;
  readonly attainedMicros = 0;
  readonly group: RequestGroup;
  readonly rows: number;
  readonly bytes: number;
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  readonly deadlineMicros: number;
  readonly priority: number;
  /** Smaller is served first; set by the policy. */
  rank = 0;
  /** Place in the heap of its group; -1 when not waiting. */
  heapIndex = -1;
  /** Neighbours in order of arrival. */
  older: PendingRequest | undefined;
  newer: PendingRequest | undefined;
  deadlineEntry: DeadlineEntry | undefined;
  /** Stops listening to the client's leaving. */
  stopListening: (() => void) | undefined;

  /** A batch with it failed: it is run again, by itself. */
  alone = false;

  constructor(
    readonly loaded: LoadedModel,
    readonly request: InferenceRequest,
    admitted: Admitted,
    readonly sequence: number,
    readonly arrivedMicros: number,
  ) {
    this.group = admitted.group;
    this.rows = admitted.rows;
    this.bytes = admitted.bytes;
    this.pieces = admitted.pieces;
    this.deadlineMicros = request.timeoutMicros > 0
      ? arrivedMicros + request.timeoutMicros
      : Infinity;
    this.priority = request.priority || loaded.model.priority || DEFAULT_PRIORITY;
  }

  get waiting(): boolean {
    return this.heapIndex >= 0;
  }
}
