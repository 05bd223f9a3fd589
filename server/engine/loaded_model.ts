import type { Executable, StagedModel } from "../../models/device.ts";
import type { Model } from "../../models/model.ts";
import { Admission } from "./admission.ts";
import type { ModelState, ServedModel } from "./api.ts";
import { ModelQueue, type QueueLimits } from "./queue.ts";
import { newStatistics } from "./statistics.ts";

/** A model version that is on the device, with its queue and its counters. */
export class LoadedModel implements ServedModel {
  state: ModelState = "READY";
  readonly statistics = newStatistics();
  readonly admission: Admission;
  readonly queue: ModelQueue;
  runningRequests = 0;
  /** Largest working memory of an iteration so far, bytes. */
  ephemeralBytes = 0;
  /** What took its place in a reload: requests that still name this one go there. */
  successor: LoadedModel | undefined;
  /** Called when it is no longer wanted and its last request has been answered. */
  onIdle: (() => void) | undefined;

  constructor(
    readonly model: Model,
    readonly staged: StagedModel,
    readonly executable: Executable,
    limits: QueueLimits,
    nowMicros: () => number,
  ) {
    this.admission = new Admission(model, staged);
    this.queue = new ModelQueue(
      model.name,
      model.version,
      model.weight,
      model.batching.maxDelayMicros,
      staged.persistentBytes,
      limits,
      nowMicros,
    );
  }

  /** How messages and the ledger name it. */
  get label(): string {
    return `${this.model.name}/${this.model.version}`;
  }

  get persistentBytes(): number {
    return this.staged.persistentBytes;
  }

  get queuedRequests(): number {
    return this.queue.requests;
  }

  get queuedBytes(): number {
    return this.queue.bytes;
  }

  get idle(): boolean {
    return this.queue.requests === 0 && this.runningRequests === 0;
  }
}
