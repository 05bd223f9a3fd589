/**
 * What a case of the conformance suite is, and what all of them need.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Context } from "../../../ffi/cuda/context.ts";
import { CudaError } from "../../../ffi/cuda/errors.ts";

/** One thing that every driver does. */
export interface ConformanceCase {
  /** What it does, as the name of a test. */
  readonly name: string;
  /** Shows that it does, and leaves nothing behind. */
  run(context: Context): void | Promise<void>;
}

/**
 * Runs a case twice: what the driver sets up at the first use of something and keeps is no leak,
 * what it keeps again is one.
 */
export async function runCase(each: ConformanceCase, context: Context): Promise<void> {
  const freeAfterRun = async () => {
    await each.run(context);
    context.synchronize();
    return context.memoryInfo().free;
  };
  const first = await freeAfterRun();
  const second = await freeAfterRun();
  assert.equal(second, first, "free memory after another run");
}

/** Asserts that a call fails with a code and is named in the error. */
export function fails(code: number, call: string, run: () => unknown): void {
  assert.throws(run, (error) => {
    assert.ok(error instanceof CudaError, String(error));
    assert.deepEqual({ call: error.call, code: error.code }, { call, code }, error.message);
    return true;
  });
}

/** Bytes that tell their place from most others. */
export function pattern(bytes: number, seed = 1): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: bytes }, (_, index) => (index * 31 + (index >> 8) + seed) & 255);
}
