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
  /** Answered requests, from arrival to the start of their iteration. */
  readonly queue: Duration;
  /** From that start to the answers, without the time on the device; per request. */
  readonly computeInput: Duration;
  /** Device time of the iteration, counted in full for each request it answered. */
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
  /** Device memory for weights and lanes together, bytes. */
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
