/**
 * What some sequences carry over, side by side: memory that runs read from and write to.
 *
 * @module
 */
import type { Environment } from "../../ffi/onnxruntime/environment.ts";
import { stableBytes } from "../../ffi/onnxruntime/memory.ts";
import { wrapTensor } from "../../ffi/onnxruntime/values.ts";
import { SluiceError } from "../errors.ts";
import type { CarriedTensor } from "../model.ts";
import { byteLength, DATATYPE_BYTES, elementCount, type Tensor } from "../tensor.ts";
import { ELEMENT_TYPE_OF } from "./element_types.ts";

/** Told how many bytes were taken, or given back when negative. */
export type Account = (bytes: number) => void;

/** Rows of the same sequences before and after an iteration. */
export interface StateTransition {
  /** What it reads. */
  readonly current: StateRows;
  /**
   * What it writes to.
   *
   * @throws {SluiceError} `out_of_memory` when they are first asked for.
   */
  readonly next: StateRows;
}

/** All carried tensors of so many sequences. */
export class StateRows implements Disposable {
  /** In the order of the rule. */
  readonly tensors: readonly CarriedRows[];
  readonly #account: Account;

  /**
   * Zeros.
   *
   * @throws {SluiceError} `out_of_memory`
   */
  constructor(
    environment: Environment,
    carry: readonly CarriedTensor[],
    count: number,
    account: Account,
  ) {
    const tensors: CarriedRows[] = [];
    this.tensors = tensors;
    this.#account = account;
    try {
      for (const carried of carry) {
        const rows = new CarriedRows(environment, carried, count);
        tensors.push(rows);
        account(rows.data.length);
      }
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** Copies one row of `source`. */
  copyRow(row: number, source: StateRows, sourceRow: number): void {
    for (const [i, tensor] of this.tensors.entries()) {
      tensor.copyRow(row, source.tensors[i], sourceRow);
    }
  }

  /** Frees the memory. No run may be using it. */
  [Symbol.dispose](): void {
    for (const tensor of this.tensors) {
      this.#account(-tensor.data.length);
      tensor[Symbol.dispose]();
    }
  }
}

/** One carried tensor of so many sequences, joined along its batch axis. */
export class CarriedRows implements Disposable {
  /** All of it, row-major. */
  readonly data: Uint8Array<ArrayBuffer>;
  /** Of all of it. */
  readonly shape: readonly number[];
  /** `OrtValue*` over the data. */
  readonly tensor: Deno.PointerObject;
  readonly #environment: Environment;
  readonly #carried: CarriedTensor;
  /** Before the batch axis, rows alternate in blocks. */
  readonly #blocks: number;
  readonly #blockBytes: number;
  readonly #count: number;

  /**
   * Zeros.
   *
   * @throws {SluiceError} `out_of_memory`
   */
  constructor(environment: Environment, carried: CarriedTensor, count: number) {
    const { datatype, shape, batchAxis } = carried;
    this.#environment = environment;
    this.#carried = carried;
    this.#count = count;
    // Without a batch axis there is one row, which is one block.
    this.#blocks = elementCount(shape.slice(0, Math.max(0, batchAxis)));
    this.#blockBytes = elementCount(shape.slice(Math.max(0, batchAxis))) * DATATYPE_BYTES[datatype];
    this.shape = shape.map((dim, axis) => axis === batchAxis ? count : dim);
    this.data = allocate(byteLength(datatype, this.shape), carried);
    this.tensor = wrapTensor(environment, ELEMENT_TYPE_OF[datatype], this.shape, this.data);
  }

  /** A copy of one row. */
  readRow(row: number): Tensor {
    const { input: name, datatype, shape } = this.#carried;
    const data = new Uint8Array(byteLength(datatype, shape));
    this.#eachBlock(row, (own, offset) => data.set(own, offset));
    return { name, datatype, shape, data };
  }

  /** Gives one row other values. */
  writeRow(row: number, data: Uint8Array<ArrayBuffer>): void {
    this.#eachBlock(row, (own, offset) => own.set(data.subarray(offset, offset + own.length)));
  }

  /** Copies one row of `source`, which carries the same tensor. */
  copyRow(row: number, source: CarriedRows, sourceRow: number): void {
    for (let block = 0; block < this.#blocks; block++) {
      this.#block(block, row).set(source.#block(block, sourceRow));
    }
  }

  /** Frees the memory. No run may be using it. */
  [Symbol.dispose](): void {
    this.#environment.runtime.api.ReleaseValue.call(this.tensor);
    this.data.buffer.transfer(0);
  }

  /** Calls `visit` with each block of a row, and where it lies in the row by itself. */
  #eachBlock(row: number, visit: (own: Uint8Array<ArrayBuffer>, offset: number) => void): void {
    for (let block = 0; block < this.#blocks; block++) {
      visit(this.#block(block, row), block * this.#blockBytes);
    }
  }

  #block(block: number, row: number): Uint8Array<ArrayBuffer> {
    const start = (block * this.#count + row) * this.#blockBytes;
    return this.data.subarray(start, start + this.#blockBytes);
  }
}

function allocate(bytes: number, { input }: CarriedTensor): Uint8Array<ArrayBuffer> {
  try {
    return stableBytes(bytes);
  } catch (cause) {
    throw new SluiceError(
      "out_of_memory",
      `No memory for ${bytes} bytes of "${input}" that sequences carry over`,
      { cause },
    );
  }
}
