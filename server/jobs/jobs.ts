/**
 * All jobs of a gateway: those that wait for memory, those that run, and those that have ended, as
 * long as they are remembered.
 *
 * @module
 */
import { Alarm, type Clock, SystemClock } from "../../models/clock.ts";
import { SluiceError, toSluiceError } from "../../models/errors.ts";
import type { CheckpointStore, SequenceRule } from "../../models/model.ts";
import type { Engine } from "../engine/api.ts";
import { carriedValues } from "./carried_values.ts";
import { CheckpointWriter } from "./checkpoint_writer.ts";
import { Job, JOB_STATES, type JobState } from "./job.ts";
import type { JobOutset, JobRequest, ResumePoint } from "./job_request.ts";

/** How to keep jobs. */
export interface JobsOptions {
  /** Runs them. */
  readonly engine: Engine;
  /** Where their checkpoints go, and come from. */
  readonly checkpoints: CheckpointStore;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Takes what the operator may want to know: what was submitted, and how it ended. */
  readonly announce?: (message: string) => void;
}

/** Jobs that may be open: queued, running or paused. */
export const MOST_OPEN = 64;
/** Jobs remembered, the open ones included. */
const REMEMBERED = 1000;
/** How often jobs that wait for memory are tried again: others than jobs may have given some back. */
const RETRY_MICROS = 1_000_000;

/** The jobs. Nothing of them outlives the process but their checkpoints. */
export class Jobs {
  readonly #engine: Engine;
  readonly #store: CheckpointStore;
  readonly #clock: Clock;
  readonly #announce: (message: string) => void;
  readonly #jobs = new Map<string, Job>();
  /** Ids of those that are over, in the order of their ends. */
  readonly #over: string[] = [];
  readonly #retry: Alarm;

  /** There are none. */
  constructor({ engine, checkpoints, clock, announce }: JobsOptions) {
    this.#engine = engine;
    this.#store = checkpoints;
    this.#clock = clock ?? new SystemClock();
    this.#announce = announce ?? (() => {});
    this.#retry = new Alarm(this.#clock, () => {
      this.#retry.clear();
      this.#openQueued();
    });
  }

  /** All that are remembered, oldest first. */
  list(): readonly Job[] {
    return [...this.#jobs.values()];
  }

  /** How many there are in each state. */
  counts(): ReadonlyMap<JobState, number> {
    const counts = new Map(JOB_STATES.map((state) => [state, 0]));
    for (const { state } of this.#jobs.values()) counts.set(state, counts.get(state)! + 1);
    return counts;
  }

  /**
   * The one of this id.
   *
   * @throws {SluiceError} `not_found`.
   */
  find(id: string): Job {
    const job = this.#jobs.get(id);
    if (job !== undefined) return job;
    throw new SluiceError(
      "not_found",
      `There is no job ${JSON.stringify(id)}; a gateway forgets its jobs when it is started anew`,
    );
  }

  /**
   * Takes a job. Without memory for its state it waits until there is some.
   *
   * @param resumeFrom A checkpoint that it goes on from.
   * @throws {SluiceError} `not_found`, `not_ready`, `invalid_argument`; `queue_full` when too many are
   *   open; `out_of_memory` when there will never be enough.
   */
  async submit(request: JobRequest, resumeFrom?: ResumePoint): Promise<Job> {
    const rule = this.#ruleOf(request);
    const outset = resumeFrom && await this.#read(resumeFrom, rule, request.iterations);
    if (request.checkpointEvery !== 0) await this.#checkCanWrite(rule);
    const open = this.#jobs.size - this.#over.length;
    if (open >= MOST_OPEN) {
      throw new SluiceError(
        "queue_full",
        `${open} jobs are open, at most ${MOST_OPEN} may be; cancel one, or wait for its end`,
      );
    }
    this.#openQueued();
    const id = crypto.randomUUID().replaceAll("-", "").slice(0, 12);
    const job: Job = new Job(request, {
      id,
      engine: this.#engine,
      clock: this.#clock,
      checkpoints: request.checkpointEvery === 0 ? undefined : new CheckpointWriter({
        store: this.#store,
        model: rule.checkpoint,
        jobId: id,
        serve: (model) => this.#serve(model, request.model),
      }),
      ended: () => this.#ended(job),
    }, outset);
    const refusal = job.open();
    if (refusal !== undefined && refusal.code !== "queue_full") throw refusal;
    this.#remember(job);
    this.#announce(`${labelOf(job)} was submitted, up to iteration ${request.iterations}`);
    if (job.state === "queued") this.#retryLater();
    return job;
  }

  /** Goes on with a job that was paused. */
  resume(job: Job): void {
    job.resume();
    if (job.state === "queued") this.#openQueued();
  }

  /** Resolves when nothing is being written any more, after the engine has ended all jobs. */
  async close(): Promise<void> {
    this.#retry.clear();
    await Promise.all(this.list().map((job) => job.checkpoints?.settled()));
  }

  #ruleOf({ model, version }: JobRequest): SequenceRule {
    const { sequence, name } = this.#engine.find(model, version).model;
    if (sequence !== undefined) return sequence;
    throw new SluiceError(
      "invalid_argument",
      `Model '${name}' keeps nothing from iteration to iteration; expected one whose manifest.json ` +
        'has "carry"',
    );
  }

  async #read(
    { model, version }: ResumePoint,
    { carry }: SequenceRule,
    iterations: number,
  ): Promise<JobOutset> {
    const stored = await this.#store.read(model, version);
    const label = `${model}/${stored.version}`;
    const done = stored.job?.iterations ?? 0;
    if (done < iterations) {
      return { iterations: done, state: carriedValues(stored.bytes, carry, label) };
    }
    throw new SluiceError(
      "invalid_argument",
      `'iterations' is ${iterations}, but ${label} has ${done} already; expected more, as it counts ` +
        "those before the resumption too",
    );
  }

  async #checkCanWrite({ checkpoint, carry }: SequenceRule): Promise<void> {
    try {
      await this.#store.checkWritable();
      const { bytes, version } = await this.#store.read(checkpoint);
      carriedValues(bytes, carry, `${checkpoint}/${version}`);
    } catch (error) {
      const { code, message } = toSluiceError(error);
      throw new SluiceError(
        code,
        `No checkpoint could be written: ${message}. With 'checkpoint_every' 0 the job writes none`,
        { cause: error },
      );
    }
  }

  /** The model that the job itself runs on is left alone: loading it anew would end the job. */
  async #serve(model: string, ofJob: string): Promise<void> {
    if (model !== ofJob && this.#engine.versions(model).length > 0) await this.#engine.load(model);
  }

  #ended(job: Job): void {
    this.#over.push(job.id);
    const { state, error, iterationsDone } = job;
    const why = error === undefined ? "" : `: ${error}`;
    this.#announce(`${labelOf(job)} ${state} after iteration ${iterationsDone}${why}`);
    this.#openQueued();
  }

  #openQueued(): void {
    for (const job of this.#jobs.values()) {
      if (job.state !== "queued") continue;
      const refusal = refusalOf(job);
      if (refusal?.code === "queue_full") return this.#retryLater();
      if (refusal !== undefined) job.fail(refusal);
    }
  }

  #retryLater(): void {
    this.#retry.setBy(this.#clock.nowMicros() + RETRY_MICROS);
  }

  /** In place of the one that ended first. */
  #remember(job: Job): void {
    this.#jobs.set(job.id, job);
    if (this.#jobs.size > REMEMBERED) this.#jobs.delete(this.#over.shift()!);
  }
}

function labelOf({ id, request: { model } }: Job): string {
  return `Job ${id} of '${model}'`;
}

function refusalOf(job: Job): SluiceError | undefined {
  try {
    return job.open();
  } catch (error) {
    return toSluiceError(error);
  }
}
