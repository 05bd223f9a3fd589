/**
 * Medians, ratios and goals: what turns runs into a verdict.
 *
 * @module
 */

/** The middle value; of an even number, the mean of the two in the middle. Needs at least one. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("The median of no values does not exist");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Median of the ratios of runs made one right after the other, so that what slows the machine down
 * for a while slows both sides of a ratio.
 */
export function pairedRatio(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((value, i) => value / theirs[i]));
}

/** A goal for one figure, and whether it was met. */
export interface Verdict {
  /** Whose figure: a cell, a model, a load. */
  readonly subject: string;
  /** What is judged, and the bound. */
  readonly goal: string;
  /** What was measured. */
  readonly figure: number;
  /** Whether it keeps the bound. */
  readonly met: boolean;
}

/** Judges a figure that must be at least or at most so much. */
export function judge(
  subject: string,
  name: string,
  figure: number,
  bound: "at least" | "at most",
  value: number,
): Verdict {
  const met = bound === "at least" ? figure >= value : figure <= value;
  return { subject, goal: `${name} ${bound} ${value}`, figure, met };
}

/** Three significant digits and thousands apart: 12,346, 1.23, 0.0123. */
export function significant(value: number): string {
  return value.toLocaleString(
    "en",
    value < 1000 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 },
  );
}
