/**
 * What protocols and commands may ask of the engine. Plain data crosses here: named tensors,
 * numbers, an abort signal. Nothing of HTTP does.
 *
 * @module
 */
import type { Model, ModelOverride } from "../../models/model.ts";
import type { MemoryUse } from "../../models/device.ts";
import type { Tensor } from "../../models/tensor.ts";
import type { SluiceError } from "../../models/errors.ts";
import type * as hdr from "hdr-histogram-js";

/** A histogram of whole microseconds, as `hdr-histogram-js` defines it. Live: updated in place. */
export type Histogram = hdr.Histogram;

/** A request's place in a sequence that the client drives (Triton's stateful models). */
export interface SequenceStep {
  /** The client's own name for it, unique among those of a model; never 0 or empty. */
  readonly id: number | string;
  /** It is the first: the state starts anew. */
  readonly start: boolean;
  /** It is the last: the state is freed with its answer. */
  readonly end: boolean;
}

/** One inference, as a protocol hands it over. */
export interface InferenceRequest {
  /** What {@linkcode Engine.find} gave. */
  readonly served: ServedModel;
  /** Empty when the client sent none. */
  readonly id: string;
  /** In any order; the engine checks names, datatypes, shapes and sizes and puts them in order. */
  readonly inputs: readonly Tensor[];
  /** 1 is most urgent; 0 when the client named none. */
  readonly priority: number;
  /** Microseconds from now until the answer is worthless; 0 when there is no limit. */
  readonly timeoutMicros: number;
  /** Whose request it is, for policies that share between tenants; nobody's when absent. */
  readonly tenant?: string;
  /** Present when it is one step of a sequence that the client drives. */
  readonly sequence?: SequenceStep;
  /** Fires when the client has left. */
  readonly signal?: AbortSignal;
  /**
   * The answer. Called once, synchronously from the scheduler: outputs are views that are valid
   * only until it returns, so encode or copy what is needed. Must not throw.
   */
  respond(outputs: readonly Tensor[], timing: Timing): void;
  /** Called once instead of `respond` when there is no answer. Must not throw. */
  fail(error: SluiceError): void;
}

/**
 * What becomes of a sequence after an iteration: its next inputs, or it waits for some, or it ends, or
 * fails with an error.
 */
export type Advance = readonly Tensor[] | "wait" | "end" | SluiceError;

/** A request that lives across iterations, with state on the device. */
export interface SequenceRequest extends Omit<InferenceRequest, "inputs" | "respond" | "sequence"> {
  /** Of the first iteration, without the carried ones. Undefined: it waits to be fed. */
  readonly inputs: readonly Tensor[] | undefined;
  /** Values that carried inputs start from, instead of the model's own. */
  readonly initial?: readonly Tensor[];
  /** How many it will take, as far as the caller knows; undefined: as others of its model took. */
  readonly iterations?: number;
  /** How long it may wait to be fed; the model's own limit when absent. */
  readonly maxIdleMicros?: number;
  /**
   * Has no end that an unload or a drain could wait for: either fails it once it is between two
   * iterations.
   */
  readonly endless: boolean;
  /**
   * A job, whose end nobody waits for: it runs while no request is ready. Not for ever, where requests
   * leave no room: other models' let it have one iteration a second.
   */
  readonly background?: boolean;
  /**
   * Called after each of its iterations, synchronously from the scheduler and before anything is
   * decided: outputs, without the carried ones, are views that are valid only until it returns. Must
   * not throw, and be quick: the device waits for it.
   */
  advance(outputs: readonly Tensor[], timing: Timing): Advance;
  /**
   * Called when an iteration failed, or was dropped while it waited for one (its deadline, its
   * client). True keeps the sequence: its state is as before, and it waits to be fed. Ended when
   * absent.
   */
  stepFailed?(error: SluiceError): boolean;
  /**
   * Called once when it is ended by anything but `advance` or {@linkcode OpenSequence.end}; its state
   * can still be read. Must not throw.
   */
  fail(error: SluiceError): void;
}

/** What a waiting sequence goes on with. */
export interface Feed {
  /** Of the next iteration, without the carried ones. */
  readonly inputs: readonly Tensor[];
  /** As in a request; the sequence's own when absent. */
  readonly priority?: number;
  /** From now; none when absent. */
  readonly timeoutMicros?: number;
  /** The sequence's own when absent. */
  readonly signal?: AbortSignal;
}

/** A sequence that was admitted. */
export interface OpenSequence {
  /** Iterations run so far. */
  readonly iterationsDone: number;
  /** Device time charged to it so far, microseconds. */
  readonly attainedMicros: number;
  /** Waits to be fed: neither queued nor running. */
  readonly waiting: boolean;
  /**
   * Goes on with a sequence that waits; it arrives anew.
   *
   * @throws {SluiceError} `invalid_argument`, `queue_full`, and it waits on: a queue without room
   *   refuses only those that began without inputs. `internal` when it does not wait.
   */
  feed(feed: Feed): void;
  /** A copy of the carried values, for a checkpoint. While it waits, from `advance` and from `fail`. */
  state(): Tensor[];
  /** Ends it now, or after the iteration that runs, without a call of `fail`. Twice is once. */
  end(): void;
}

/** How one request spent its time. */
export interface Timing {
  /** From arrival to the start of the iteration that answered it. */
  readonly queueMicros: number;
  /** Device time of the iteration that answered it. */
  readonly computeMicros: number;
  /** Rows in that iteration, other requests' included. */
  readonly batchRows: number;
  /** The lane's id. */
  readonly lane: number;
  /** The policy's reason. */
  readonly because: string;
}

/** States of a model version, as Triton's repository index names them. */
export type ModelState = "READY" | "UNAVAILABLE" | "LOADING" | "UNLOADING";

/** A row of the repository index. `version` is empty for a model that was never loaded. */
export interface IndexRow {
  /** The model's name; a model has a row for each version. */
  readonly name: string;
  /** A decimal number, or empty. */
  readonly version: string;
  /** Empty for a model that was never loaded. */
  readonly state: ModelState | "";
  /** Absent when ready. */
  readonly reason?: string;
}

/** A loaded model version. */
export interface ServedModel {
  /** What was loaded, with the batching that a probe may have settled. */
  readonly model: Model;
  /** Leaves `READY` when an unload begins, or when a reload has put another in its place. */
  readonly state: ModelState;
  /** Weights and what else stays on the device while it is loaded, bytes. */
  readonly persistentBytes: number;
  /** Largest working memory of one iteration known so far, bytes. */
  readonly ephemeralBytes: number;
  /** Requests waiting. */
  readonly queuedRequests: number;
  /** Input data of the requests waiting. */
  readonly queuedBytes: number;
  /** Requests in an iteration right now. */
  readonly runningRequests: number;
  /** Sequences that are open: waiting, queued and running ones. */
  readonly openSequences: number;
  /** Device memory that is reserved for their state, bytes. */
  readonly stateBytes: number;
  /** Live: updated in place. Starts at zero with every load. */
  readonly statistics: ModelStatistics;
}

/** A count of events and the nanoseconds they took together. */
export interface Duration {
  /** Events so far. */
  count: number;
  /** Their sum, nanoseconds. */
  ns: number;
}

/** Why requests failed, by the reasons of Triton's `nv_inference_request_failure`. */
export type FailureReason = "REJECTED" | "CANCELED" | "BACKEND" | "OTHER";

/** How the iterations of one batch size spent their time; each counts once. */
export interface BatchStatistics {
  /** From the decision to the answers, without the time on the device. */
  readonly computeInput: Duration;
  /** On the device. */
  readonly computeInfer: Duration;
  /** Handing out the answers. */
  readonly computeOutput: Duration;
}

/** Counters of one model version; they only grow. Meanings as in Triton's statistics extension. */
export interface ModelStatistics {
  /** Milliseconds since the epoch; 0 before the first inference. */
  lastInferenceMillis: number;
  /** Rows answered. */
  inferenceCount: number;
  /** Iterations run. */
  executionCount: number;
  /** Answered requests, from arrival to answer. */
  readonly success: Duration;
  /** Admitted requests that failed, from arrival to failure. */
  readonly fail: Duration;
  /** By reason; counts those that a full queue refused, which `fail` does not. */
  readonly failures: Record<FailureReason, number>;
  /** Answered requests, until the start of their iteration; a sequence's iterations add up. */
  readonly queue: Duration;
  /** From that start to the answers, without the time on the device; per request. */
  readonly computeInput: Duration;
  /** Device time of the iterations, counted in full for each request that was in them. */
  readonly computeInfer: Duration;
  /** Handing out the answers; what an iteration's requests take together is counted once. */
  readonly computeOutput: Duration;
  /** By batch size, per execution. */
  readonly batches: Map<number, BatchStatistics>;
  /** Whole time of answered requests, microseconds. */
  readonly requestMicros: Histogram;
  /** Time in the queue of answered requests, microseconds. */
  readonly queueMicros: Histogram;
  /** Device time of iterations, microseconds. */
  readonly computeMicros: Histogram;
  /** Device time charged under the policy, microseconds. */
  chargedMicros: number;
}

/** A lane's figures. */
export interface LaneStatistics {
  /** Unique on the device. */
  readonly id: number;
  /** Working memory now. */
  readonly bytes: number;
  /** Time with at least one iteration running, microseconds. */
  readonly busyMicros: number;
  /** Iterations finished, failed ones included. */
  readonly iterations: number;
  /** Names of the models whose iterations are in flight, oldest first. */
  readonly running: readonly string[];
}

/** What the policy route shows. */
export interface PolicyStatus {
  /** The one in force: fifo when the one that was chosen broke. */
  readonly name: string;
  /** Names that {@linkcode Engine.setPolicy} takes. */
  readonly available: readonly string[];
  /** Set when the policy that was chosen broke and fifo took over: its name. */
  readonly failed?: string;
  /** What the failed one did, in a sentence. */
  readonly fault?: string;
}

/** The engine, as protocols and commands see it. */
export interface Engine {
  /** `cpu`, `simulated`, ... */
  readonly deviceName: string;
  /** Device memory for weights, lanes and the state of sequences together, bytes. */
  readonly capacityBytes: number;

  /** Alive: the loop turns and the device has not failed for good. */
  readonly live: boolean;
  /** Undefined when ready for requests, else the reason in a sentence. */
  notReadyReason(): string | undefined;
  /** Models that should be ready and are not, a sentence each: what `--strict-readiness` looks at. */
  brokenModels(): readonly string[];

  /**
   * The version that answers requests: the newest ready one when none is named.
   *
   * @throws {SluiceError} `not_found`, or `not_ready` when it is known but not loaded.
   */
  find(name: string, version?: string): ServedModel;
  /** All ready versions of a model, ascending; empty when there are none. */
  versions(name: string): readonly ServedModel[];
  /** Every ready model version. */
  served(): readonly ServedModel[];
  /** Every known model version, the unloaded and the broken included; models sorted by name. */
  index(): Promise<readonly IndexRow[]>;

  /** Takes a request. Never throws; the request's `fail` tells. */
  submit(request: InferenceRequest): void;
  /**
   * Opens a sequence, with memory for its state. Never throws; the request's `fail` tells, with
   * `queue_full` when the memory is taken by others for now. Undefined when it was refused.
   */
  openSequence(request: SequenceRequest): OpenSequence | undefined;

  /**
   * Loads or reloads a model; resolves when it is ready. While it loads, what was there serves on,
   * and a load that fails leaves it serving.
   *
   * @throws {SluiceError} `not_found`, `invalid_argument`, `out_of_memory`.
   */
  load(name: string, override?: ModelOverride): Promise<void>;
  /** Takes nothing new for this model, finishes what is queued, then frees it. Unknown: nothing. */
  unload(name: string): Promise<void>;

  /** The policy in charge, and those to choose from. */
  policy(): PolicyStatus;
  /** Switches the policy; what is queued stays queued. `invalid_argument` when unknown. */
  setPolicy(name: string): void;

  /** Every lane's figures up to now. */
  lanes(): readonly LaneStatistics[];
  /** What the device holds right now, as the device itself counts it. */
  memory(): readonly MemoryUse[];

  /** Not ready from now on, for `reason`; requests are still taken. */
  announceShutdown(reason: string): void;
  /**
   * Not ready at once, and nothing new is taken. Resolves when nothing is queued or running, or
   * rejects with `deadline_exceeded` after `timeoutMicros`, when what was left has been failed.
   */
  drain(timeoutMicros: number): Promise<void>;
}
