/**
 * A model that learns nothing but goes down, and an engine whose sequences of it a test steps itself.
 *
 * @module
 */
import { VirtualClock } from "../../../models/clock.ts";
import { SluiceError } from "../../../models/errors.ts";
import type { Model } from "../../../models/model.ts";
import type { Tensor } from "../../../models/tensor.ts";
import type { Feed, OpenSequence, SequenceRequest, Timing } from "../../../server/engine/api.ts";
import type { Job } from "../../../server/jobs/job.ts";
import type { JobRequest, ResumePoint } from "../../../server/jobs/job_request.ts";
import { Jobs } from "../../../server/jobs/jobs.ts";
import { fp32 } from "../../fixtures/onnx.ts";
import { descentModel } from "../../fixtures/sequence_models.ts";
import { FAKE_TIMING, type FakeEngine, fakeEngine } from "../protocols/fake_engine.ts";
import { FakeCheckpoints } from "./fake_checkpoints.ts";

/** The one input that is not carried. */
export function rate(value: number): Tensor {
  return { name: "rate", datatype: "FP32", shape: [], data: fp32([value]) };
}

/** The values of `w`, which the model carries. */
export function valuesOf({ data }: Tensor): number[] {
  return Array.from(new Float32Array(data.slice().buffer));
}

/** What `w` starts from in the model's file. */
const INITIAL = [1, 2, 3, 4];
/** What an iteration takes. */
export const ITERATION_MICROS = 1000;

/** A sequence of the model that runs an iteration when it is told to. */
export class DescentSequence implements OpenSequence {
  iterationsDone = 0;
  /** Nothing is left of it. */
  over = false;
  #w: Float32Array<ArrayBuffer>;
  #next: readonly Tensor[] | "wait" | "end";

  /** Waits for its first step. */
  constructor(readonly request: SequenceRequest, readonly clock: VirtualClock) {
    this.#w = Float32Array.from(request.initial ? valuesOf(request.initial[0]) : INITIAL);
    this.#next = request.inputs ?? "wait";
  }

  get attainedMicros(): number {
    return this.iterationsDone * ITERATION_MICROS;
  }

  get waiting(): boolean {
    return this.#next === "wait";
  }

  /** Runs so many iterations, or up to its pause or end. */
  step(count = 1): void {
    for (; count > 0 && typeof this.#next !== "string" && !this.over; count--) {
      const [by] = valuesOf(this.#next[0]);
      const loss = this.#w.reduce((sum, value) => sum + value, 0);
      this.#w = this.#w.map((value) => value - by);
      this.iterationsDone++;
      this.clock.advanceTo(this.clock.nowMicros() + ITERATION_MICROS);
      const outputs: Tensor[] = [
        { name: "loss", datatype: "FP32", shape: [], data: fp32([loss]) },
        { name: "trace", datatype: "FP32", shape: [4], data: fp32(this.#w) },
        { name: "label", datatype: "BYTES", shape: [1], data: new Uint8Array(4) },
      ];
      const next = this.request.advance(outputs, TIMING);
      if (next instanceof SluiceError) this.request.fail(next);
      else this.#next = next;
      this.over ||= next === "end" || next instanceof SluiceError;
    }
  }

  feed({ inputs }: Feed): void {
    if (!this.waiting) throw new SluiceError("internal", "Does not wait");
    this.#next = inputs;
  }

  state(): Tensor[] {
    if (this.over) throw new SluiceError("internal", "The state is gone");
    return [{ name: "w", datatype: "FP32", shape: [4], data: fp32(this.#w) }];
  }

  end(): void {
    this.over = true;
  }

  /** The engine ends it. */
  fail(error: SluiceError): void {
    this.request.fail(error);
    this.over = true;
  }
}

const TIMING: Timing = FAKE_TIMING;

/** Jobs of the model `descent`, on an engine with memory for so many sequences at once. */
export class Descent {
  readonly clock = new VirtualClock();
  readonly model: Model = descentModel();
  readonly store: FakeCheckpoints = new FakeCheckpoints("descent", this.model.file.bytes!);
  readonly engine: FakeEngine;
  readonly jobs: Jobs;
  /** All that were opened, oldest first. */
  readonly sequences: DescentSequence[] = [];
  /** What was announced. */
  readonly announced: string[] = [];
  /** Why the engine opens none from now on. */
  refusal: SluiceError | undefined;

  /** Nothing runs. */
  constructor(capacity = Infinity, others: readonly Model[] = []) {
    this.engine = fakeEngine([this.model, ...others], {
      open: (request) => {
        const open = this.sequences.filter(({ over }) => !over).length;
        const full = new SluiceError("queue_full", "No memory for another sequence");
        const refusal = this.refusal ?? (open < capacity ? undefined : full);
        if (refusal !== undefined) return void request.fail(refusal);
        const sequence = new DescentSequence(request, this.clock);
        this.sequences.push(sequence);
        return sequence;
      },
    });
    this.jobs = new Jobs({
      engine: this.engine,
      checkpoints: this.store,
      clock: this.clock,
      announce: (message) => this.announced.push(message),
    });
  }

  /** Submits a job of 10 iterations, unless it says otherwise. */
  submit(asked: Partial<JobRequest> = {}, resumeFrom?: ResumePoint): Promise<Job> {
    const request = { model: "descent", name: "", iterations: 10, inputs: [rate(1)], priority: 0 };
    return this.jobs.submit({ ...request, ...asked }, resumeFrom);
  }

  /** Iterations at which the checkpoints in the store were taken. */
  written(): (number | undefined)[] {
    return this.store.versions.slice(1).map(({ job }) => job?.iterations);
  }
}

/** Code and message of a refusal. */
export async function refused(call: () => unknown): Promise<readonly [string, string]> {
  try {
    await call();
  } catch (error) {
    if (error instanceof SluiceError) return [error.code, error.message];
    throw error;
  }
  throw new TypeError("It was not refused");
}

/** Lets what is being written be written. */
export async function settled({ checkpoints }: Job): Promise<void> {
  await checkpoints?.settled();
  await Promise.resolve();
}
