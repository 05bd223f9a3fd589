/**
 * What an iteration that has failed gives, on any device.
 *
 * @module
 */
import type { IterationResult } from "./device.ts";
import type { SluiceError } from "./errors.ts";
import type { Tensor } from "./tensor.ts";

/** An error, and nothing to give back. */
export class FailedIteration implements IterationResult {
  /** Not charged. */
  readonly deviceMicros = 0;
  /** None. */
  readonly outputs: readonly Tensor[] = [];
  /** Why it failed. */
  readonly error: SluiceError;

  /** With this error. */
  constructor(error: SluiceError) {
    this.error = error;
  }

  /** Does nothing. */
  release(): void {}
}
