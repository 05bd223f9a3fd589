/**
 * What an iteration costs on the simulated device.
 *
 * @module
 */
import type { Model } from "../model.ts";
import type { Signature, Step } from "../device.ts";
import { DATATYPE_BYTES, elementCount, type TensorShape } from "../tensor.ts";

/** Device time of one model's iterations. */
export interface CostTable {
  /**
   * Pairs of rows and microseconds, ascending by rows, at least one. Between two pairs the time is
   * interpolated; beyond the last it goes on with the slope of the last two, below the first it is
   * that of the first.
   */
  readonly byRows: readonly (readonly [rows: number, micros: number])[];
  /** Microseconds for exact shapes, by {@linkcode Signature.key}; these win over `byRows`. */
  readonly bySignature?: ReadonlyMap<string, number>;
}

/** Microseconds that `step` takes by this table. */
export function iterationMicros(table: CostTable, step: Step): number {
  return table.bySignature?.get(step.signature.key) ?? interpolate(table.byRows, step.rows);
}

function interpolate(points: CostTable["byRows"], rows: number): number {
  if (points.length === 1 || rows <= points[0][0]) return points[0][1];
  let right = 1;
  while (right < points.length - 1 && points[right][0] < rows) right++;
  const [x0, y0] = points[right - 1];
  const [x1, y1] = points[right];
  return Math.max(0, y0 + (y1 - y0) * (rows - x0) / (x1 - x0));
}

/**
 * A plausible table for a model of which only the size is known: a launch, the weights read once
 * for the whole batch, and arithmetic for every row.
 */
export function costFromSize(model: Model): CostTable {
  const launch = 20;
  const weights = model.fileBytes / 10_000; // 10 GB/s
  const row = 2 + model.fileBytes / 40_000;
  return { byRows: [[1, launch + weights + row], [2, launch + weights + 2 * row]] };
}

/** Bytes of an iteration's inputs and outputs: what it needs at the very least. */
export function transferBytes(signature: Signature, outputs: readonly TensorShape[]): number {
  let bytes = 0;
  for (const tensor of signature.inputs) bytes += estimatedBytes(tensor);
  for (const tensor of outputs) bytes += estimatedBytes(tensor);
  return bytes;
}

function estimatedBytes(tensor: TensorShape): number {
  // The elements of BYTES vary in length: a short string each is a guess, and nothing depends on it.
  const size = DATATYPE_BYTES[tensor.datatype] || 16;
  return elementCount(tensor.shape) * size;
}
