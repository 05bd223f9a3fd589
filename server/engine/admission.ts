/**
 * Checks a request's inputs against the model's signature and finds the group it belongs to.
 *
 * @module
 */
import { SluiceError } from "../../models/errors.ts";
import type { StagedModel } from "../../models/device.ts";
import type { BatchingRule, Model } from "../../models/model.ts";
import { byteLength, DATATYPE_BYTES, type Tensor, type TensorSpec } from "../../models/tensor.ts";
import { type EntryKind, RequestGroup } from "./group.ts";

/** A request found good. */
export interface Admitted {
  /** The requests it may share an iteration with. */
  readonly group: RequestGroup;
  /** Rows it adds to a batch; 1 where the model has no batch dimension. */
  readonly rows: number;
  /** Input data, all inputs together. */
  readonly bytes: number;
  /** Input data in the model's order, inputs left out are missing. */
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
}

/** Groups beyond this are forgotten, with what was learned of them, once nothing waits in them. */
const MAX_GROUPS = 256;
/** Larger shared inputs are not compared: such requests run alone. */
const MAX_SHARED_BYTES = 256;

/** Admits the requests of one loaded model version. */
export class Admission {
  readonly #model: Model;
  readonly #staged: StagedModel;
  readonly #index = new Map<string, number>();
  readonly #groups = new Map<string, RequestGroup>();
  /** Inputs that sequences carry: they are no request's. */
  readonly #carried: ReadonlySet<string>;
  #last: RequestGroup | undefined;
  #created = 0;
  readonly #ordered: (Tensor | undefined)[];

  /** `staged` is asked for the working memory of every new signature. */
  constructor(model: Model, staged: StagedModel) {
    this.#model = model;
    this.#staged = staged;
    model.signature.inputs.forEach((spec, index) => this.#index.set(spec.name, index));
    this.#carried = new Set(model.sequence?.carry.map(({ input }) => input));
    this.#ordered = new Array(model.signature.inputs.length).fill(undefined);
  }

  /** All groups that are known. */
  groups(): Iterable<RequestGroup> {
    return this.#groups.values();
  }

  /**
   * Checks a request's inputs, in whatever order they come.
   *
   * @param kind Steps leave the carried ones out.
   * @throws {SluiceError} `invalid_argument`, naming the input, what was given and expected.
   */
  admit(tensors: readonly Tensor[], kind: EntryKind = "request"): Admitted {
    const step = kind !== "request";
    const ordered = this.#ordered.fill(undefined);
    let bytes = 0;
    for (const tensor of tensors) {
      const index = this.#index.get(tensor.name);
      if (index === undefined) throw this.#unknownInput(tensor.name);
      if (ordered[index] !== undefined) {
        throw invalid(`input '${tensor.name}' was given more than once`);
      }
      if (step && this.#carried.has(tensor.name)) throw this.#carriedInput(tensor.name);
      this.#check(tensor, this.#model.signature.inputs[index]);
      ordered[index] = tensor;
      bytes += tensor.data.byteLength;
    }
    this.#checkComplete(ordered, step, tensors.length);
    const batching = step ? this.#model.sequence!.batching : this.#model.batching;
    const rows = this.#rows(ordered, batching);
    if (step && rows > 1) throw this.#manyRows(rows);
    const last = this.#last;
    const group = last?.kind === kind && belongs(last, ordered, rows)
      ? last
      : this.#find(ordered, rows, batching, kind);
    this.#last = group;
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    for (const tensor of ordered) if (tensor !== undefined) pieces.push(tensor.data);
    ordered.fill(undefined); // keeps no body alive
    return { group, rows: Math.max(1, rows), bytes, pieces };
  }

  #check(tensor: Tensor, spec: TensorSpec): void {
    if (tensor.datatype !== spec.datatype) {
      throw invalid(
        `input '${spec.name}' has datatype ${tensor.datatype}, but model '${this.#model.name}' ` +
          `expects ${spec.datatype}`,
      );
    }
    const { shape } = tensor;
    let fits = spec.unranked || shape.length === spec.shape.length;
    for (let axis = 0; fits && axis < spec.shape.length; axis++) {
      fits = spec.shape[axis] < 0 || spec.shape[axis] === shape[axis];
    }
    if (!fits) throw this.#wrongShape(tensor, spec);
    if (DATATYPE_BYTES[tensor.datatype] > 0) {
      const expected = byteLength(tensor.datatype, shape);
      if (tensor.data.byteLength !== expected) {
        throw invalid(
          `input '${spec.name}' has ${tensor.data.byteLength} bytes of data, but shape ` +
            `[${shape}] of ${tensor.datatype} needs ${expected}`,
        );
      }
    }
  }

  /** Rows by the batch dimension; 1 when no input has one. */
  #rows(
    ordered: readonly (Tensor | undefined)[],
    { batchedInputs }: BatchingRule,
  ): number {
    let rows = -1;
    for (let index = 0; index < ordered.length; index++) {
      const tensor = ordered[index];
      if (tensor === undefined || !batchedInputs[index]) continue;
      if (rows < 0) rows = tensor.shape[0];
      else if (tensor.shape[0] !== rows) {
        throw invalid(
          `input '${tensor.name}' has batch size ${tensor.shape[0]}, but the inputs before it ` +
            `have ${rows}; all inputs of a request need the same`,
        );
      }
    }
    const { maxBatchSize } = this.#model;
    if (maxBatchSize > 0 && (rows > maxBatchSize || rows === 0)) {
      throw invalid(
        `inference request batch-size must be at least 1 and <= ${maxBatchSize} for ` +
          `'${this.#model.name}', got ${rows}`,
      );
    }
    return rows < 0 ? 1 : rows;
  }

  #find(
    ordered: readonly (Tensor | undefined)[],
    rows: number,
    batching: BatchingRule,
    kind: EntryKind,
  ): RequestGroup {
    let joinable = batching.join && rows > 0;
    const shared: (Uint8Array | undefined)[] = [];
    const shapes: (readonly number[] | undefined)[] = [];
    for (let index = 0; index < ordered.length; index++) {
      const tensor = ordered[index];
      const isShared = tensor !== undefined && !batching.batchedInputs[index];
      shapes.push(tensor?.shape);
      shared.push(isShared ? tensor.data : undefined);
      if (isShared && tensor.data.byteLength > MAX_SHARED_BYTES) joinable = false;
    }
    let key = `${joinable ? "join" : "alone"} ${kind}`;
    shapes.forEach((shape, index) => {
      const batched = joinable && batching.batchedInputs[index];
      key += shape === undefined ? "|-" : `|${batched ? shape.slice(1) : shape}`;
      if (joinable && shared[index] !== undefined) key += `=${shared[index]}`;
    });
    let group = this.#groups.get(key);
    if (group === undefined) {
      const kept = shared.map((data) => joinable ? data?.slice() : undefined);
      const id = this.#created++;
      group = new RequestGroup(id, joinable, kind, shapes, kept, this.#model, this.#staged);
      this.#forgetOldest();
    } else {
      this.#groups.delete(key); // to the end: the order of the map is the order of use
    }
    this.#groups.set(key, group);
    return group;
  }

  #forgetOldest(): void {
    if (this.#groups.size < MAX_GROUPS) return;
    for (const [key, group] of this.#groups) {
      if (group.waiting.size > 0 || group === this.#last) continue;
      this.#groups.delete(key);
      return;
    }
  }

  #unknownInput(name: string): SluiceError {
    const expected = this.#model.signature.inputs.map((spec) => `'${spec.name}'`).join(", ");
    return invalid(
      `unexpected inference input '${name}' for model '${this.#model.name}'; it has ${expected}`,
    );
  }

  #carriedInput(name: string): SluiceError {
    return invalid(
      `input '${name}' of model '${this.#model.name}' is kept from one request of a sequence to the ` +
        "next; leave it out, or send the request without a sequence",
    );
  }

  #manyRows(rows: number): SluiceError {
    return invalid(
      `a request of a sequence has one row, but this one for model '${this.#model.name}' has ${rows}`,
    );
  }

  #checkComplete(
    ordered: readonly (Tensor | undefined)[],
    step: boolean,
    given: number,
  ): void {
    const { inputs } = this.#model.signature;
    let complete = true;
    for (let index = 0; complete && index < ordered.length; index++) {
      complete = ordered[index] !== undefined || this.#mayBeLeftOut(inputs[index], step);
    }
    if (complete) return;
    const missing = inputs.filter((spec, index) =>
      ordered[index] === undefined && !this.#mayBeLeftOut(spec, step)
    );
    throw invalid(
      `expected ${
        step ? inputs.length - this.#carried.size : inputs.length
      } inputs but got ${given} inputs for model '${this.#model.name}': ` +
        `missing required input(s) [${missing.map((spec) => `'${spec.name}'`).join(", ")}]`,
    );
  }

  #mayBeLeftOut(spec: TensorSpec, step: boolean): boolean {
    return spec.optional === true || step && this.#carried.has(spec.name);
  }

  #wrongShape(tensor: Tensor, spec: TensorSpec): SluiceError {
    const axis = spec.shape.findIndex((dim, i) => dim >= 0 && dim !== tensor.shape[i]);
    const where = tensor.shape.length !== spec.shape.length
      ? `${spec.shape.length} dimensions are expected, ${tensor.shape.length} were given`
      : `dimension ${axis} must be ${spec.shape[axis]}`;
    const hint = this.#model.maxBatchSize > 0 && tensor.shape.length === spec.shape.length - 1
      ? "; is the leading batch dimension missing?"
      : "";
    return invalid(
      `unexpected shape for input '${spec.name}' for model '${this.#model.name}'. ` +
        `Expected [${spec.shape}], got [${tensor.shape}]: ${where}${hint}`,
    );
  }
}

/** Whether the request's shapes and shared values are those of `group`, without building a key. */
function belongs(
  group: RequestGroup,
  ordered: readonly (Tensor | undefined)[],
  rows: number,
): boolean {
  if (group.joinable && rows <= 0) return false;
  const { batchedInputs } = group.batching;
  for (let index = 0; index < ordered.length; index++) {
    const shape = ordered[index]?.shape, known = group.shapes[index];
    if (shape === undefined || known === undefined) {
      if (shape !== known) return false;
      continue;
    }
    for (let axis = group.joinable && batchedInputs[index] ? 1 : 0; axis < shape.length; axis++) {
      if (shape[axis] !== known[axis]) return false;
    }
    const shared = group.shared[index];
    if (shared !== undefined && !equalBytes(shared, ordered[index]!.data)) return false;
  }
  return true;
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.byteLength !== b.byteLength) return false;
  for (let i = 0; i < a.byteLength; i++) if (a[i] !== b[i]) return false;
  return true;
}

function invalid(message: string): SluiceError {
  return new SluiceError("invalid_argument", message);
}
