/**
 * Which queues a policy may choose from.
 *
 * @module
 */
import type { Alarm } from "../../models/clock.ts";
import type { EngineLane, Lanes } from "./lanes.ts";
import type { LoadedModel } from "./loaded_model.ts";
import type { ModelQueue } from "./queue.ts";

/** How long jobs of a model wait for an iteration where requests leave no room. */
const JOB_PATIENCE_MICROS = 1_000_000;

/** Finds the queues with work. */
export class ReadyQueues {
  readonly #models: readonly LoadedModel[];
  readonly #lanes: Lanes;
  readonly #alarm: Alarm;
  readonly #requests: ModelQueue[] = [];
  readonly #jobs: ModelQueue[] = [];

  /** `models` is live; `alarm` is set for queues that will be ready later. */
  constructor(models: readonly LoadedModel[], lanes: Lanes, alarm: Alarm) {
    this.#models = models;
    this.#lanes = lanes;
    this.#alarm = alarm;
  }

  /**
   * Queues with work that fits a lane, in order of their creation. Those of jobs are among them only
   * when there are no others, or when they have waited long; on the express lane, none. The array is
   * reused by the next call.
   */
  on(lane: EngineLane, nowMicros: number): readonly ModelQueue[] {
    const requests = this.#requests, jobs = this.#jobs;
    requests.length = jobs.length = 0;
    const reachBytes = this.#lanes.reachBytes(lane);
    for (const { queue, jobs: jobQueue } of this.#models) {
      if (this.#isReady(queue, reachBytes, nowMicros)) {
        if (!lane.express || queue.rowsWithin(this.#lanes.expressMicros) > 0) requests.push(queue);
      }
      if (lane.express) continue;
      if (!this.#isReady(jobQueue, reachBytes, nowMicros)) continue;
      if (hasWaitedLong(jobQueue, nowMicros)) requests.push(jobQueue);
      else jobs.push(jobQueue);
    }
    return requests.length > 0 ? requests : jobs;
  }

  #isReady(queue: ModelQueue, reachBytes: number, nowMicros: number): boolean {
    if (queue.rows === 0) return false;
    const readyAt = queue.readyAtMicros;
    if (readyAt > nowMicros) {
      this.#alarm.setBy(readyAt);
      return false;
    }
    return queue.leastEphemeralBytes <= reachBytes;
  }
}

function hasWaitedLong(queue: ModelQueue, nowMicros: number): boolean {
  const since = Math.max(queue.waitingSinceMicros, queue.lastServedMicros);
  return since < nowMicros - JOB_PATIENCE_MICROS;
}
