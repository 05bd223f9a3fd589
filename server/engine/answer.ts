/**
 * The end of a request: its answer or its failure, counted.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import type { IterationResult } from "../../models/device.ts";
import { SluiceError } from "../../models/errors.ts";
import type { Tensor } from "../../models/tensor.ts";
import type { Timing } from "./api.ts";
import { stopListening } from "./clients.ts";
import { type Iteration, split } from "./iteration.ts";
import type { PendingRequest } from "./pending.ts";
import type { Advanced } from "./sequence.ts";
import { add, batchStatistics, failureReason, record } from "./statistics.ts";

/**
 * Hands out the outputs of an iteration that went well. Requests are answered, and counted; sequences
 * go on, and are counted when they are answered, with the time of all their iterations.
 */
export function answer(iteration: Iteration, result: IterationResult, clock: Clock): void {
  const { loaded: { statistics }, batch, rows, because, beganMicros } = iteration;
  const computeMicros = result.deviceMicros;
  const answeringMicros = clock.nowMicros();
  const inputMicros = Math.max(0, answeringMicros - beganMicros - computeMicros);
  const lane = iteration.lane.id;
  let answered = 0;
  statistics.lastInferenceMillis = Date.now();
  for (const [pending, outputs] of split(batch, result.outputs)) {
    const queueMicros = beganMicros - pending.waitingSinceMicros;
    const requestMicros = answeringMicros - pending.arrivedMicros;
    const timing = { queueMicros, computeMicros, batchRows: rows, lane, because };
    const outcome = handOut(pending, outputs, timing);
    if (outcome instanceof SluiceError) {
      countFailure(pending, outcome, clock);
      continue;
    }
    const ended = outcome === "answered" ? 1 : 0;
    add(statistics.queue, queueMicros, ended);
    add(statistics.computeInput, inputMicros, ended);
    add(statistics.computeInfer, computeMicros, ended);
    if (!ended) continue;
    answered++;
    statistics.inferenceCount += pending.rows;
    add(statistics.success, requestMicros);
    record(statistics.requestMicros, requestMicros);
    record(statistics.queueMicros, queueMicros);
  }
  const outputMicros = clock.nowMicros() - answeringMicros;
  statistics.computeOutput.count += answered;
  statistics.computeOutput.ns += outputMicros * 1000;
  const bySize = batchStatistics(statistics, rows);
  add(bySize.computeInput, inputMicros);
  add(bySize.computeInfer, computeMicros);
  add(bySize.computeOutput, outputMicros);
}

function handOut(
  { caller, sequence }: PendingRequest,
  outputs: readonly Tensor[],
  timing: Timing,
): Advanced {
  if (sequence !== undefined) return sequence.advance(outputs, timing);
  caller.respond(outputs, timing);
  return "answered";
}

/** Fails a request that was admitted, and counts it. */
export function fail(pending: PendingRequest, error: SluiceError, clock: Clock): void {
  stopListening(pending);
  countFailure(pending, error, clock);
  pending.caller.fail(error);
}

/** Counts a request that was admitted and has no answer. */
export function countFailure(pending: PendingRequest, error: SluiceError, clock: Clock): void {
  const { statistics } = pending.loaded;
  add(statistics.fail, clock.nowMicros() - pending.arrivedMicros);
  statistics.failures[failureReason(error.code)]++;
}
