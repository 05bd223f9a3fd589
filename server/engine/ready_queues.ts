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
export const JOB_PATIENCE_MICROS = 1_000_000;

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
   * Queues with work that fits a lane, in order of their creation. Those with nothing but jobs are
   * among them only when there are no others, or when they have waited long. The array is reused by
   * the next call.
   */
  on(lane: EngineLane, nowMicros: number): readonly ModelQueue[] {
    const requests = this.#requests, jobs = this.#jobs;
    requests.length = jobs.length = 0;
    const reachBytes = this.#lanes.reachBytes(lane);
    for (const { queue } of this.#models) {
      if (queue.rows === 0) continue;
      const readyAt = queue.readyAtMicros;
      if (readyAt > nowMicros) {
        this.#alarm.setBy(readyAt);
        continue;
      }
      if (queue.leastEphemeralBytes > reachBytes) continue;
      if (queue.onlyJobs && !hasWaitedLong(queue, nowMicros)) jobs.push(queue);
      else requests.push(queue);
    }
    return requests.length > 0 ? requests : jobs;
  }
}

function hasWaitedLong(queue: ModelQueue, nowMicros: number): boolean {
  const since = Math.max(queue.waitingSinceMicros, queue.lastServedMicros);
  return since < nowMicros - JOB_PATIENCE_MICROS;
}
