import { DEFAULT_PRIORITY, type RequestView } from "../../policies/policy.ts";
import type { InferenceRequest } from "./api.ts";
import type { Admitted } from "./admission.ts";
import type { RequestGroup } from "./group.ts";
import type { HeapItem } from "./heap.ts";
import type { LoadedModel } from "./loaded_model.ts";

/** A request's entry in its queue's order of deadlines. */
export interface DeadlineEntry extends HeapItem {
  /** The request whose deadline it is. */
  readonly request: PendingRequest;
}

/** A request from its admission to its answer. */
export class PendingRequest implements RequestView, HeapItem {
  readonly iterationsDone = 0;
  readonly iterationsTotal = 1;
  readonly attainedMicros = 0;
  /** The requests it may share an iteration with. */
  readonly group: RequestGroup;
  /** Rows it adds to a batch; at least 1. */
  readonly rows: number;
  /** Input data, all inputs together. */
  readonly bytes: number;
  /** Input data in the model's order, inputs left out are missing. */
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  readonly deadlineMicros: number;
  readonly priority: number;
  /** Smaller is served first; set by the policy. */
  rank = 0;
  /** Place in the heap of its group; -1 when not waiting. */
  heapIndex: number = -1;
  /** The one before it in its queue's order of arrival. */
  older: PendingRequest | undefined;
  /** The one behind it. */
  newer: PendingRequest | undefined;
  /** Present while it waits with a deadline. */
  deadlineEntry: DeadlineEntry | undefined;
  /** Stops listening to the client's leaving. */
  stopListening: (() => void) | undefined;

  /** A batch with it failed: it is run again, by itself. */
  alone = false;

  /** Not waiting yet: the queue's `push` does that. */
  constructor(
    /** The version that shall answer it. */
    readonly loaded: LoadedModel,
    /** As the protocol handed it over; its callbacks take the answer. */
    readonly request: InferenceRequest,
    admitted: Admitted,
    /** Place in the engine's order of arrival: settles every tie. */
    readonly sequence: number,
    /** When it was admitted. */
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

  /** In its queue: neither running nor done. */
  get waiting(): boolean {
    return this.heapIndex >= 0;
  }
}
