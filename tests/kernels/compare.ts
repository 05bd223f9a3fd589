/**
 * Whether a kernel's answer is right.
 *
 * @module
 */
import assert from "node:assert/strict";

/** How far from the expected value an answer may be. */
export interface Tolerance {
  /** As a part of the expected value. */
  readonly relative?: number;
  /** As a part of the largest expected value: for sums, whose terms may cancel. */
  readonly ofLargest?: number;
}

/**
 * Compares element by element. A NaN that was not expected is wrong, and so is a number where a NaN
 * was; infinities have to be the same.
 *
 * @throws {assert.AssertionError} Naming the first element that is wrong and how many are.
 */
export function assertClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: Tolerance,
  what: string,
): void {
  assert.equal(actual.length, expected.length, `${what}: number of elements`);
  const { relative = 0, ofLargest = 0 } = tolerance;
  let largest = 0;
  for (let i = 0; i < expected.length; i++) {
    if (Number.isFinite(expected[i])) largest = Math.max(largest, Math.abs(expected[i]));
  }
  let wrong = 0, first = -1;
  for (let i = 0; i < expected.length; i++) {
    const allowed = relative * Math.abs(expected[i]) + ofLargest * largest;
    const right = Object.is(actual[i], expected[i]) || actual[i] === expected[i] ||
      (Number.isFinite(expected[i]) && Math.abs(actual[i] - expected[i]) <= allowed);
    if (!right && wrong++ === 0) first = i;
  }
  if (wrong > 0) {
    assert.fail(
      `${what}: ${wrong} of ${expected.length} elements are wrong, ` +
        `the first is ${first}: ${actual[first]}, expected ${expected[first]}`,
    );
  }
}

/**
 * Compares integers, which have no tolerance.
 *
 * @throws {assert.AssertionError} Naming the first element that is wrong and how many are.
 */
export function assertSame(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  what: string,
): void {
  assertClose(actual, expected, {}, what);
}
