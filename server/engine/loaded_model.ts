import type { Executable, StagedModel } from "../../models/device.ts";
import type { Model } from "../../models/model.ts";
import { Admission } from "./admission.ts";
import type { ModelState, ModelStatistics, ServedModel } from "./api.ts";
import type { RequestGroup } from "./group.ts";
import { ModelQueue, type QueueLimits } from "./queue.ts";
import type { Sequence } from "./sequence.ts";
import { newStatistics } from "./statistics.ts";

/** A model version that is on the device, with its queue and its counters. */
export class LoadedModel implements ServedModel {
  /** Changed by the model table alone; only `READY` takes requests. */
  state: ModelState = "READY";
  /** Counted by the scheduler, for as long as the model is loaded. */
  readonly statistics: ModelStatistics = newStatistics();
  /** Checks its requests and knows their groups. */
  readonly admission: Admission;
  /** Its requests that wait. */
  readonly queue: ModelQueue;
  /** Its jobs that wait: apart, since they give way to every request. */
  readonly jobs: ModelQueue;
  /** Both, where there can be jobs. */
  readonly queues: readonly ModelQueue[];
  /** Time its load took, a probe included; set by the residency. */
  loadMicros = 0;
  /** Requests in an iteration right now. */
  runningRequests = 0;
  /** Those that are open. */
  readonly sequences: Set<Sequence> = new Set();
  /** Iterations that its sequences took, on average, the later ones counting more; 0 before the first. */
  sequenceLength = 0;
  /** Largest working memory of an iteration so far, bytes. */
  ephemeralBytes = 0;
  /** What took its place in a reload: requests that still name this one go there. */
  successor: LoadedModel | undefined;
  /** Called when it is no longer wanted and its last request has been answered. */
  onIdle: (() => void) | undefined;

  /** Starts with an empty queue; `nowMicros` is the scheduler's time. */
  constructor(
    /** With its batching settled: no probe is due any more. */
    readonly model: Model,
    /** Says what an iteration needs; what the ledger knows the weights by. */
    readonly staged: StagedModel,
    /** Runs its iterations. */
    readonly executable: Executable,
    limits: QueueLimits,
    nowMicros: () => number,
  ) {
    this.admission = new Admission(model, staged);
    const newQueue = () =>
      new ModelQueue(
        model.name,
        model.version,
        model.weight,
        staged.persistentBytes,
        limits,
        nowMicros,
      );
    this.queue = newQueue();
    this.jobs = newQueue();
    this.queues = model.sequence === undefined ? [this.queue] : [this.queue, this.jobs];
  }

  /** How messages and the ledger name it. */
  get label(): string {
    return `${this.model.name}/${this.model.version}`;
  }

  /** What it keeps on the device while it is loaded. */
  get persistentBytes(): number {
    return this.staged.persistentBytes;
  }

  /** Requests waiting. */
  get queuedRequests(): number {
    return this.queue.requests + this.jobs.requests;
  }

  /** Input data of the requests waiting. */
  get queuedBytes(): number {
    return this.queue.bytes + this.jobs.bytes;
  }

  /** Sequences that are open. */
  get openSequences(): number {
    return this.sequences.size;
  }

  /** What is reserved for their state. */
  get stateBytes(): number {
    return this.sequences.size * this.staged.stateBytes;
  }

  /** Working memory without which something that waits, or a sequence, could not go on; bytes. */
  get neededBytes(): number {
    let bytes = 0;
    const take = (group: RequestGroup, rows: number) =>
      bytes = Math.max(bytes, group.signature(rows).ephemeralBytes);
    for (const group of this.admission.groups()) {
      if (group.ofSequences && this.sequences.size > 0) take(group, 1);
      else for (const { rows } of group.waiting.items) take(group, rows);
    }
    return bytes;
  }

  /** Nothing waits, nothing runs, and no sequence is open. */
  get idle(): boolean {
    return this.queuedRequests === 0 && this.runningRequests === 0 && this.sequences.size === 0;
  }
}
