/**
 * A model in host memory, checked and ready to be planned for any signature.
 *
 * @module
 */
import { BoundedMap } from "../bounded_map.ts";
import type { Executable, Signature, StagedModel } from "../device.ts";
import { SluiceError, toSluiceError } from "../errors.ts";
import type { Model } from "../model.ts";
import { labelOf } from "../model_file.ts";
import type { CudaExecutable } from "./executable.ts";
import { planIteration } from "./lowering.ts";
import type { IterationPlan } from "./plan.ts";
import type { PreparedGraph } from "./prepare.ts";

/** Signatures whose plans are kept. */
const KEPT_PLANS = 256;

/** What a staged model needs of its device. */
export interface StagedParts {
  /** Device memory comes in pieces of so many bytes. */
  readonly chunkBytes: number;
  /**
   * Makes the model resident.
   *
   * @throws {SluiceError} `out_of_memory`.
   */
  upload(staged: CudaStagedModel): Promise<CudaExecutable>;
  /** Called once, when the host memory can go. */
  closed(): void;
}

/** Weights and plans. */
export class CudaStagedModel implements StagedModel {
  /** What was staged. */
  readonly model: Model;
  /** What the device keeps of it. */
  readonly graph: PreparedGraph;
  readonly persistentBytes: number;
  /** Models with a sequence rule are not staged. */
  readonly stateBytes = 0;
  readonly #parts: StagedParts;
  readonly #plans = new BoundedMap<string, IterationPlan | SluiceError>(KEPT_PLANS);
  #disposed = false;

  /** Use `stage` of the device. */
  constructor(model: Model, graph: PreparedGraph, parts: StagedParts) {
    this.model = model;
    this.graph = graph;
    this.#parts = parts;
    this.persistentBytes = this.#chunks(graph.image.length);
  }

  /** Exact. None for shapes that the model cannot run on: such an iteration fails at its start. */
  ephemeralBytes(signature: Signature): number {
    const plan = this.#known(signature);
    return plan instanceof SluiceError ? 0 : this.#chunks(plan.arenaBytes);
  }

  /**
   * The plan for a signature.
   *
   * @throws {SluiceError} When the model cannot run on such inputs.
   */
  plan(signature: Signature): IterationPlan {
    const plan = this.#known(signature);
    if (plan instanceof SluiceError) throw plan;
    return plan;
  }

  upload(): Promise<Executable> {
    if (!this.#disposed) return this.#parts.upload(this);
    const message = `${labelOf(this.model)} is unloaded`;
    return Promise.reject(new SluiceError("not_ready", message));
  }

  /** Lets the host memory go, once no executable uses it. */
  [Symbol.asyncDispose](): Promise<void> {
    if (!this.#disposed) {
      this.#disposed = true;
      this.#parts.closed();
    }
    return Promise.resolve();
  }

  #known(signature: Signature): IterationPlan | SluiceError {
    const known = this.#plans.get(signature.key);
    if (known !== undefined) return known;
    let plan: IterationPlan | SluiceError;
    try {
      plan = planIteration(this.graph, signature, this.model.signature.outputs);
    } catch (error) {
      plan = toSluiceError(error);
    }
    this.#plans.set(signature.key, plan);
    return plan;
  }

  #chunks(bytes: number): number {
    const { chunkBytes } = this.#parts;
    return Math.ceil(bytes / chunkBytes) * chunkBytes;
  }
}
