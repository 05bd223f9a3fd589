import { DEFAULT_PRIORITY, type RequestView } from "../../policies/policy.ts";
import type { SluiceError } from "../../models/errors.ts";
import type { Tensor } from "../../models/tensor.ts";
import type { Admitted } from "./admission.ts";
import type { Timing } from "./api.ts";
import type { RequestGroup } from "./group.ts";
import type { HeapItem } from "./heap.ts";
import type { LoadedModel } from "./loaded_model.ts";
import type { ModelQueue } from "./queue.ts";
import type { Sequence } from "./sequence.ts";

/** Who gets what becomes of a request: a protocol, or the sequence that it is a step of. */
export interface Caller {
  /** 1 is most urgent; 0 when none was given. */
  readonly priority: number;
  /** From arrival; 0 when there is no limit. */
  readonly timeoutMicros: number;
  /** Nobody's when absent. */
  readonly tenant?: string;
  /** Fires when the client has left. */
  readonly signal?: AbortSignal;
  /** Takes the outputs of an iteration, views that are valid until it returns. Must not throw. */
  respond(outputs: readonly Tensor[], timing: Timing): void;
  /** Called once instead of `respond`. Must not throw. */
  fail(error: SluiceError): void;
}

/** What lies behind a request that enters its queue: all zeros for one that is new. */
export interface History {
  /** When it came first. */
  readonly arrivedMicros: number;
  /** Iterations before this one. */
  readonly iterationsDone: number;
  /** With those to come, as far as is known. */
  readonly iterationsTotal: number;
  /** Device time of those before. */
  readonly attainedMicros: number;
  /** The number of the sequence that it is a step of. */
  readonly sequence?: number;
}

/** A request's place in an order of its queue that is not the policy's. */
export interface QueueEntry extends HeapItem {
  /** The request whose place it is. */
  readonly request: PendingRequest;
}

/** A request from when it enters its queue to the end of its iteration. */
export class PendingRequest implements RequestView, HeapItem {
  readonly arrivedMicros: number;
  readonly iterationsDone: number;
  readonly iterationsTotal: number;
  /** Of all its iterations, this one included once it has been charged. */
  attainedMicros: number;
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
  readonly tenant: string;
  /** Orders the steps of sequences in a batch: the same ones in the same order each time. */
  readonly sequenceNumber: number;
  /** Set when it is ranked. */
  tenantMicros = 0;
  /** Place in the order in which requests entered queues: settles every tie. Set at its entry. */
  order: number = -1;
  /** Smaller is served first; set by the policy. */
  rank = 0;
  /** Place in the heap of its group; -1 when not waiting. */
  heapIndex: number = -1;
  /** The one before it in the order in which they entered the queue. */
  older: PendingRequest | undefined;
  /** The one behind it. */
  newer: PendingRequest | undefined;
  /** Present while it waits with a deadline. */
  deadlineEntry: QueueEntry | undefined;
  /** Present while it waits and came before others that entered earlier. */
  arrivalEntry: QueueEntry | undefined;
  /** Stops listening to the client's leaving. */
  stopListening: (() => void) | undefined;
  /** A batch with it failed: it is run again, by itself. */
  alone = false;

  /** Not waiting yet: the queue's `push` does that. */
  constructor(
    /** The version that shall answer it. */
    readonly loaded: LoadedModel,
    /** Takes the answer. */
    readonly caller: Caller,
    admitted: Admitted,
    /** When it enters its queue. */
    readonly waitingSinceMicros: number,
    history?: History,
    /** What it is a step of. */
    readonly sequence?: Sequence,
  ) {
    this.arrivedMicros = history?.arrivedMicros ?? waitingSinceMicros;
    this.iterationsDone = history?.iterationsDone ?? 0;
    this.iterationsTotal = history?.iterationsTotal ?? 1;
    this.attainedMicros = history?.attainedMicros ?? 0;
    this.sequenceNumber = history?.sequence ?? -1;
    this.group = admitted.group;
    this.rows = admitted.rows;
    this.bytes = admitted.bytes;
    this.pieces = admitted.pieces;
    this.deadlineMicros = caller.timeoutMicros > 0
      ? this.arrivedMicros + caller.timeoutMicros
      : Infinity;
    this.priority = caller.priority || loaded.model.priority || DEFAULT_PRIORITY;
    this.tenant = caller.tenant ?? "";
  }

  /** Where it waits. */
  get queue(): ModelQueue {
    return this.group.kind === "job" ? this.loaded.jobs : this.loaded.queue;
  }

  /** In its queue: neither running nor done. */
  get waiting(): boolean {
    return this.heapIndex >= 0;
  }
}
