/**
 * What ranges of addresses and their pool of chunks have to do, in a few numbers: each step is done
 * to both, and both are compared.
 *
 * @module
 */
import assert from "node:assert/strict";
import { ChunkPool } from "../../../ffi/cuda/chunk_pool.ts";
import type { Context } from "../../../ffi/cuda/context.ts";
import { CODE, CudaError } from "../../../ffi/cuda/errors.ts";
import { VirtualRange } from "../../../ffi/cuda/virtual_memory.ts";

/** One thing to do. Numbers beyond what there is are taken modulo. */
export type VirtualMemoryStep =
  | { readonly kind: "reserve"; readonly chunks: number }
  | { readonly kind: "dispose"; readonly range: number }
  | {
    readonly kind: "resize";
    readonly range: number;
    readonly chunks: number;
    readonly less: number;
  }
  | {
    readonly kind: "write";
    readonly range: number;
    readonly chunk: number;
    readonly value: number;
  }
  | { readonly kind: "trim"; readonly kept: number };

/** A range as it should be. */
interface ModelRange {
  readonly range: VirtualRange;
  readonly address: bigint;
  readonly reserved: number;
  /** What was written to each mapped chunk; undefined when nothing was. */
  readonly words: (number | undefined)[];
}

/** The pool and its ranges beside their model. */
export class VirtualMemoryModel implements Disposable {
  readonly #context: Context;
  readonly #pool: ChunkPool;
  readonly #capacity: number;
  readonly #freeBefore: number;
  readonly #ranges: ModelRange[] = [];
  readonly #word = new Uint32Array(new ArrayBuffer(4));
  #created = 0;

  /** On a device of which nobody else takes memory meanwhile. */
  constructor(context: Context) {
    this.#context = context;
    this.#pool = new ChunkPool(context);
    this.#freeBefore = context.memoryInfo().free;
    this.#capacity = Math.floor(this.#freeBefore / this.#pool.chunkBytes);
  }

  /** Does a step, and makes sure that it did what it should. */
  apply(step: VirtualMemoryStep): void {
    if (step.kind === "reserve") this.#reserve(step.chunks);
    else if (step.kind === "trim") this.#trim(step.kept);
    else if (this.#ranges.length > 0) {
      const index = step.range % this.#ranges.length;
      if (step.kind === "dispose") this.#dispose(index);
      else if (step.kind === "resize") this.#resize(this.#ranges[index], step.chunks, step.less);
      else this.#write(this.#ranges[index], step.chunk, step.value);
    }
    this.#checkCounts();
  }

  /** Makes sure that every mapped chunk holds what was written to it. */
  checkContents(): void {
    for (const each of this.#ranges) this.#checkRange(each);
  }

  /** Gives all back and makes sure that it has come back. */
  [Symbol.dispose](): void {
    while (this.#ranges.length > 0) this.#dispose(0);
    this.#pool[Symbol.dispose]();
    assert.equal(this.#context.memoryInfo().free, this.#freeBefore);
  }

  get #taken(): number {
    return this.#ranges.reduce((sum, { words }) => sum + words.length, 0);
  }

  #reserve(chunks: number): void {
    const range = new VirtualRange(this.#pool, chunks * this.#pool.chunkBytes);
    const { address, reservedBytes } = range;
    assert.equal(reservedBytes, chunks * this.#pool.chunkBytes);
    assert.equal(range.bytes, 0);
    for (const other of this.#ranges) {
      const apart = address + BigInt(reservedBytes) <= other.address ||
        other.address + BigInt(other.range.reservedBytes) <= address;
      assert.ok(apart, "ranges overlap");
    }
    this.#ranges.push({ range, address, reserved: chunks, words: [] });
  }

  #dispose(index: number): void {
    const [{ range }] = this.#ranges.splice(index, 1);
    range[Symbol.dispose]();
  }

  #resize(each: ModelRange, chunks: number, less: number): void {
    const target = chunks % (each.reserved + 1);
    // Any number of bytes that needs so many chunks.
    const bytes = Math.max(0, target * this.#pool.chunkBytes - (target === 0 ? 0 : less));
    const needed = target - each.words.length;
    const created = Math.max(this.#created, this.#taken + needed);
    if (needed > 0 && created > this.#capacity) {
      assert.throws(
        () => each.range.resize(bytes),
        (error) => error instanceof CudaError && error.code === CODE.outOfMemory,
      );
    } else {
      each.range.resize(bytes);
      this.#created = created;
      while (each.words.length < target) each.words.push(undefined);
      each.words.length = target;
    }
    this.#checkRange(each);
  }

  #write(each: ModelRange, chunk: number, value: number): void {
    if (each.words.length === 0) {
      assert.throws(() => each.range.write(this.#word), CudaError);
      return;
    }
    const at = chunk % each.words.length;
    this.#word[0] = value;
    each.range.write(this.#word, at * this.#pool.chunkBytes);
    each.words[at] = value;
  }

  #trim(kept: number): void {
    const pooled = this.#created - this.#taken;
    const expected = Math.max(0, pooled - kept);
    assert.equal(this.#pool.trim(kept), expected);
    this.#created -= expected;
  }

  #checkRange({ range, address, words }: ModelRange): void {
    assert.equal(range.address, address);
    assert.equal(range.bytes, words.length * this.#pool.chunkBytes);
    for (const [chunk, word] of words.entries()) {
      if (word === undefined) continue;
      range.read(this.#word, chunk * this.#pool.chunkBytes);
      assert.equal(this.#word[0], word, `chunk ${chunk}`);
    }
  }

  #checkCounts(): void {
    const [created, taken] = [this.#created, this.#taken];
    assert.deepEqual(this.#pool.counts, { created, taken, pooled: created - taken });
    const { free } = this.#context.memoryInfo();
    assert.equal(free, this.#freeBefore - created * this.#pool.chunkBytes);
  }
}
