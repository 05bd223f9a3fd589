/**
 * What a job is asked to do, and where it begins.
 *
 * @module
 */
import type { Tensor } from "../../models/tensor.ts";

/** What a job is asked to do. */
export interface JobRequest {
  /** The model whose iterations it runs. */
  readonly model: string;
  /** The newest when absent. */
  readonly version?: string;
  /** For people; may be empty. */
  readonly name: string;
  /** How many there shall have been when it is completed, those before a resumption included. */
  readonly iterations: number;
  /** Of every iteration, without the carried ones. */
  readonly inputs: readonly Tensor[];
  /** 1 is most urgent; 0 is none. */
  readonly priority: number;
  /** Whose it is, for policies that share between tenants. */
  readonly tenant?: string;
  /** Iterations from checkpoint to checkpoint; 0: none at all; absent: when it pauses or ends. */
  readonly checkpointEvery?: number;
}

/** Where a job goes on that was a job before. */
export interface JobOutset {
  /** Iterations done. */
  readonly iterations: number;
  /** What was carried. */
  readonly state: readonly Tensor[];
}

/** A version whose values a job goes on with. */
export interface ResumePoint {
  /** A model that has initialisers of the carried inputs' names. */
  readonly model: string;
  /** The newest when absent. */
  readonly version?: number;
}
