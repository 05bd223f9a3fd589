/**
 * The end of a request: its answer or its failure, counted.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import type { IterationResult } from "../../models/device.ts";
import type { SluiceError } from "../../models/errors.ts";
import { stopListening } from "./clients.ts";
import { type Iteration, split } from "./iteration.ts";
import type { PendingRequest } from "./pending.ts";
import { add, batchStatistics, failureReason, record } from "./statistics.ts";

/** Answers the requests of an iteration that went well, and counts them. */
export function answer(iteration: Iteration, result: IterationResult, clock: Clock): void {
  const { loaded: { statistics }, batch, rows, because, beganMicros } = iteration;
  const computeMicros = result.deviceMicros;
  const answeringMicros = clock.nowMicros();
  const inputMicros = Math.max(0, answeringMicros - beganMicros - computeMicros);
  statistics.lastInferenceMillis = Date.now();
  for (const [pending, outputs] of split(batch, result.outputs)) {
    const queueMicros = beganMicros - pending.arrivedMicros;
    const requestMicros = answeringMicros - pending.arrivedMicros;
    pending.request.respond(outputs, {
      queueMicros,
      computeMicros,
      batchRows: rows,
      lane: iteration.lane.id,
      because,
    });
    statistics.inferenceCount += pending.rows;
    add(statistics.success, requestMicros);
    add(statistics.queue, queueMicros);
    add(statistics.computeInput, inputMicros);
    add(statistics.computeInfer, computeMicros);
    record(statistics.requestMicros, requestMicros);
    record(statistics.queueMicros, queueMicros);
  }
  const outputMicros = clock.nowMicros() - answeringMicros;
  statistics.computeOutput.count += batch.length;
  statistics.computeOutput.ns += outputMicros * 1000;
  const bySize = batchStatistics(statistics, rows);
  add(bySize.computeInput, inputMicros);
  add(bySize.computeInfer, computeMicros);
  add(bySize.computeOutput, outputMicros);
}

/** Fails a request that was admitted, and counts it. */
export function fail(pending: PendingRequest, error: SluiceError, clock: Clock): void {
  const { statistics } = pending.loaded;
  stopListening(pending);
  add(statistics.fail, clock.nowMicros() - pending.arrivedMicros);
  statistics.failures[failureReason(error.code)]++;
  pending.request.fail(error);
}
