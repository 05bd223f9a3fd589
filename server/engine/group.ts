/**
 * Requests of one model that could share an iteration: the same shapes behind the batch dimension,
 * and equal values of whatever carries no batch dimension (a sample rate, say). Plain requests, steps
 * of sequences and steps of jobs never do so with one another.
 *
 * @module
 */
import { BoundedMap } from "../../models/bounded_map.ts";
import type { Signature, StagedModel } from "../../models/device.ts";
import type { BatchingRule, Model } from "../../models/model.ts";
import type { TensorShape } from "../../models/tensor.ts";
import { CostCurve } from "./cost.ts";
import { Heap } from "./heap.ts";
import type { PendingRequest } from "./pending.ts";

/** Numbers of rows come from clients; only so many signatures are kept. */
const MAX_SIGNATURES = 128;

/** What enters a queue: a plain request, or a step of a sequence or of a job. */
export type EntryKind = "request" | "step" | "job";

/** A signature with what the device says of it. */
export interface KnownSignature {
  /** Shapes of the whole iteration. */
  readonly signature: Signature;
  /** Working memory of such an iteration, bytes; an upper bound where not measured. */
  readonly ephemeralBytes: number;
}

/** The order in which a queue's requests are served. */
export function ranksBefore(a: PendingRequest, b: PendingRequest): boolean {
  return a.rank !== b.rank ? a.rank < b.rank : a.order < b.order;
}

/** Waiting requests of one kind, and what their iterations cost. */
export class RequestGroup {
  /** Those that wait, the next to be served first. */
  readonly waiting: Heap<PendingRequest> = new Heap<PendingRequest>(ranksBefore);
  /** Learned from this group's iterations alone: other shapes cost something else. */
  readonly cost: CostCurve = new CostCurve();
  /** Rows of all that wait. */
  rows = 0;
  readonly #staged: StagedModel;
  readonly #signatures = new BoundedMap<number, KnownSignature>(MAX_SIGNATURES);

  /** A group in which nothing waits; `staged` says what its signatures need. */
  constructor(
    /** Unique among the groups of one model, the forgotten ones included. */
    readonly id: number,
    /** Whether requests of this group may share an iteration. */
    readonly joinable: boolean,
    /** What they are, all of them. */
    readonly kind: EntryKind,
    /** Shapes in the model's order; undefined where an input was left out, or is carried. */
    readonly shapes: readonly (readonly number[] | undefined)[],
    /** Bytes of the inputs that are shared by a whole batch. */
    readonly shared: readonly (Uint8Array | undefined)[],
    /** The model that all of its requests ask for. */
    readonly model: Model,
    staged: StagedModel,
  ) {
    this.#staged = staged;
  }

  /** Whether they are steps of sequences. */
  get ofSequences(): boolean {
    return this.kind !== "request";
  }

  /** How they are joined, where they are. */
  get batching(): BatchingRule {
    return this.ofSequences ? this.model.sequence!.batching : this.model.batching;
  }

  /** Largest number of rows in one iteration; a single request may still be larger. */
  get maxRows(): number {
    return this.joinable ? this.batching.maxRows : 1;
  }

  /** The signature of an iteration of so many rows. */
  signature(rows: number): KnownSignature {
    const key = this.joinable ? rows : 0;
    let known = this.#signatures.get(key);
    if (known === undefined) {
      const signature = this.#build(rows);
      known = { signature, ephemeralBytes: this.#staged.ephemeralBytes(signature) };
      this.#signatures.set(key, known);
    }
    return known;
  }

  /** As many of the `wanted` rows as fit into so much working memory: `least` in any case. */
  fittingRows(wanted: number, least: number, bytes: number): number {
    let rows = wanted;
    while (rows > least && this.signature(rows).ephemeralBytes > bytes) {
      rows = Math.max(least, rows >> 1);
    }
    return rows;
  }

  #build(rows: number): Signature {
    const inputs: TensorShape[] = [];
    const keys: string[] = this.ofSequences ? [`${rows} sequences`] : [];
    const { batchedInputs } = this.batching;
    this.model.signature.inputs.forEach((spec, index) => {
      const shape = this.shapes[index];
      if (shape === undefined) {
        keys.push("-");
        return;
      }
      const exact = this.joinable && batchedInputs[index] ? [rows, ...shape.slice(1)] : shape;
      inputs.push({ name: spec.name, datatype: spec.datatype, shape: exact });
      keys.push(exact.join("x"));
    });
    const key = keys.join(",");
    return this.ofSequences ? { key, inputs, sequences: rows } : { key, inputs };
  }
}
