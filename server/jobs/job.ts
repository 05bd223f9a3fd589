/**
 * One job: a sequence that nobody waits for. Its inputs are the same in every iteration; what changes
 * is what its model carries over.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import { SluiceError } from "../../models/errors.ts";
import type { Tensor } from "../../models/tensor.ts";
import type { Advance, Engine, OpenSequence } from "../engine/api.ts";
import { firstNotFinite } from "./carried_values.ts";
import { CheckpointWriter } from "./checkpoint_writer.ts";
import type { JobOutset, JobRequest } from "./job_request.ts";
import { MetricHistory, metricsOf } from "./metric_history.ts";

/** Where a job is. The last three are for good. */
export type JobState =
  | "queued" // waits for memory
  | "running"
  | "pausing" // after the iteration that runs
  | "paused" // keeps its memory, if it had any
  | "completed"
  | "failed"
  | "cancelled";

/** All states, in the order of a job's life. */
export const JOB_STATES: readonly JobState[] = [
  "queued",
  "running",
  "pausing",
  "paused",
  "completed",
  "failed",
  "cancelled",
];

const OVER: ReadonlySet<JobState> = new Set(["completed", "failed", "cancelled"]);

/** What a job runs on. */
export interface JobParts {
  /** Unique, also among the jobs of earlier processes. */
  readonly id: string;
  /** Runs the iterations. */
  readonly engine: Engine;
  /** Says how long it has run. */
  readonly clock: Clock;
  /** Where its checkpoints go; absent when it writes none. */
  readonly checkpoints?: CheckpointWriter;
  /** Called once, when it has ended, and its last checkpoint is written. */
  ended(): void;
}

/** A job. */
export class Job {
  readonly #parts: JobParts;
  readonly #iterationsBefore: number;
  readonly #metrics = new MetricHistory();
  #state: JobState = "queued";
  #version: number | undefined;
  /** What it carries at first; undefined once it is on the device, or where the model has its own. */
  #initial: readonly Tensor[] | undefined;
  #sequence: OpenSequence | undefined;
  #attainedMicros = 0;
  #iterationsDone: number;
  #runMicros = 0;
  #runningSinceMicros: number | undefined;
  #endedMillis: number | undefined;
  #error: string | undefined;

  /** Milliseconds since the epoch. */
  readonly createdMillis: number = Date.now();

  /** Queued: nothing is taken before {@linkcode open}. */
  constructor(
    /** What it was asked to do. */
    readonly request: JobRequest,
    parts: JobParts,
    outset?: JobOutset,
  ) {
    this.#parts = parts;
    this.#initial = outset?.state;
    this.#iterationsDone = this.#iterationsBefore = outset?.iterations ?? 0;
  }

  /** Unique. */
  get id(): string {
    return this.#parts.id;
  }
  /** Where it is. */
  get state(): JobState {
    return this.#state;
  }
  /** It will never go on. */
  get isOver(): boolean {
    return OVER.has(this.#state);
  }
  /** The version that runs; unknown before it is opened. */
  get version(): number | undefined {
    return this.#version;
  }
  /** Those before a resumption included. */
  get iterationsDone(): number {
    return this.#iterationsDone;
  }
  /** Its metrics so far: outputs of a single number that are not carried. */
  get metrics(): MetricHistory {
    return this.#metrics;
  }
  /** Its checkpoints; absent when it writes none. */
  get checkpoints(): CheckpointWriter | undefined {
    return this.#parts.checkpoints;
  }
  /** Why it failed. */
  get error(): string | undefined {
    return this.#error;
  }
  /** Device time charged to it, microseconds. */
  get attainedMicros(): number {
    return this.#sequence?.attainedMicros ?? this.#attainedMicros;
  }
  /** Time that it was running, microseconds. */
  get runMicros(): number {
    const since = this.#runningSinceMicros;
    return this.#runMicros + (since === undefined ? 0 : this.#parts.clock.nowMicros() - since);
  }
  /** Until it is completed, if it goes on as before; unknown when it does not run. */
  get remainingMicros(): number | undefined {
    const done = this.#iterationsDone - this.#iterationsBefore;
    if (this.#runningSinceMicros === undefined || done === 0) return undefined;
    return this.runMicros / done * (this.request.iterations - this.#iterationsDone);
  }
  /** When its last iteration ended, milliseconds since the epoch. */
  get endedMillis(): number | undefined {
    return this.#endedMillis;
  }

  /**
   * Begins, when it is queued and there is memory for its state.
   *
   * @returns Why it does not; `queue_full` when it may later.
   */
  open(): SluiceError | undefined {
    const { engine, id } = this.#parts;
    const { model, version, inputs, priority, tenant, iterations } = this.request;
    const served = engine.find(model, version);
    let refusal: SluiceError | undefined;
    this.#sequence = engine.openSequence({
      served,
      id,
      inputs,
      initial: this.#initial,
      priority,
      timeoutMicros: 0,
      tenant,
      iterations: iterations - this.#iterationsDone,
      maxIdleMicros: Infinity,
      endless: true,
      background: true,
      advance: (outputs) => this.#advance(outputs),
      fail: (error) => {
        if (this.#sequence === undefined) refusal = error;
        else this.#ceased(error);
      },
    });
    if (this.#sequence === undefined) return refusal;
    this.#version = served.model.version;
    this.#initial = undefined;
    this.#run();
  }

  /**
   * Stops after the iteration that runs, with a checkpoint. It keeps its memory on the device.
   *
   * @throws {SluiceError} `conflict` when it is over.
   */
  pause(): void {
    this.#checkIsOpen("paused");
    if (this.#state === "running") this.#state = "pausing";
    else if (this.#state === "queued") this.#state = "paused";
  }

  /**
   * Goes on after a pause.
   *
   * @throws {SluiceError} `conflict` when it is over; `queue_full`, and it stays paused.
   */
  resume(): void {
    this.#checkIsOpen("resumed");
    if (this.#state === "pausing") this.#state = "running";
    if (this.#state !== "paused") return;
    if (this.#sequence === undefined) this.#state = "queued";
    else {
      this.#sequence.feed({ inputs: this.request.inputs });
      this.#run();
    }
  }

  /** Ends it, after the iteration that runs and without a checkpoint, unless it is over. */
  cancel(): void {
    this.#sequence?.end();
    this.#end("cancelled");
  }

  /** Ends it for a reason that is not its model's. */
  fail(error: SluiceError): void {
    this.#error = error.message;
    this.#end("failed");
  }

  /** Called by the scheduler after every iteration. */
  #advance(outputs: readonly Tensor[]): Advance {
    const iteration = ++this.#iterationsDone;
    const metrics = metricsOf(outputs);
    const diverged = Object.keys(metrics).find((name) => !Number.isFinite(metrics[name]));
    if (diverged !== undefined) return this.#diverge(`Metric '${diverged}'`, metrics[diverged]);
    this.#metrics.add(iteration, metrics);
    const isDone = iteration >= this.request.iterations;
    const stops = isDone || this.#state === "pausing";
    const { checkpoints } = this.#parts;
    if (checkpoints !== undefined && (stops || this.#isDue(iteration) && !checkpoints.busy)) {
      const state = this.#sequence!.state();
      const broken = firstNotFinite(state);
      if (broken !== undefined) return this.#diverge(`Carried input '${broken}'`);
      checkpoints.write(state, iteration);
    }
    if (isDone) {
      this.#endWhenWritten("completed");
      return "end";
    }
    if (!stops) return this.request.inputs;
    this.#rest();
    this.#state = "paused";
    return "wait";
  }

  #isDue(iteration: number): boolean {
    return iteration % (this.request.checkpointEvery ?? Infinity) === 0;
  }

  #diverge(what: string, value?: number): "end" {
    const given = value === undefined ? "has values that are not finite" : `is ${value}`;
    this.#error = `${what} ${given} after iteration ${this.#iterationsDone}: the model diverges`;
    this.#endWhenWritten("failed");
    return "end";
  }

  /** The engine has ended it: an iteration failed, its model goes, the gateway stops. */
  #ceased(error: SluiceError): void {
    this.#error = error.message;
    const { checkpoints } = this.#parts;
    const isNew = this.#iterationsDone > this.#iterationsBefore;
    if (checkpoints !== undefined && isNew && error.code !== "device_failed") {
      const state = this.#sequence!.state();
      if (firstNotFinite(state) === undefined) checkpoints.write(state, this.#iterationsDone);
    }
    this.#endWhenWritten("failed");
  }

  /** It is running until its last checkpoint can be seen. */
  #endWhenWritten(state: JobState): void {
    this.#rest();
    this.#state = "running";
    this.#endedMillis = Date.now();
    const { checkpoints } = this.#parts;
    (checkpoints?.settled() ?? Promise.resolve()).then(() => {
      const isLost = state === "completed" && checkpoints?.has(this.#iterationsDone) === false;
      if (isLost) this.#error = checkpoints.fault;
      this.#end(isLost ? "failed" : state);
    });
  }

  #end(state: JobState): void {
    if (this.isOver) return;
    this.#rest();
    this.#state = state;
    this.#endedMillis ??= Date.now();
    this.#attainedMicros = this.attainedMicros;
    this.#sequence = this.#initial = undefined; // they hold on to the model
    this.#parts.ended();
  }

  #run(): void {
    this.#state = "running";
    this.#runningSinceMicros = this.#parts.clock.nowMicros();
  }

  #rest(): void {
    this.#runMicros = this.runMicros;
    this.#runningSinceMicros = undefined;
  }

  #checkIsOpen(what: string): void {
    if (!this.isOver) return;
    throw new SluiceError("conflict", `Job ${this.id} is ${this.#state} and cannot be ${what}`);
  }
}
