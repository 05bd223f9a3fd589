/**
 * Triton's statistics extension.
 *
 * @module
 */
import type { MemoryUse } from "../../../models/device.ts";
import type { Duration, ServedModel } from "../../engine/api.ts";

/** Statistics of one model version as `/stats` shows them. */
export interface StatisticsRow {
  /** The model's name. */
  readonly name: string;
  /** The model's version. */
  readonly version: string;
  /** Milliseconds since the epoch; 0 before the first. */
  readonly last_inference: number;
  /** Rows answered. */
  readonly inference_count: number;
  /** Iterations run. */
  readonly execution_count: number;
  /** Per request. */
  readonly inference_stats: Readonly<Record<string, Duration>>;
  /** Of models that answer more than once; there are none. */
  readonly response_stats: Readonly<Record<string, never>>;
  /** Per iteration, by batch size, ascending. */
  readonly batch_stats: readonly (Readonly<Record<string, Duration | number>>)[];
  /** Device bytes held, by class. */
  readonly memory_usage: readonly { type: string; id: number; byte_size: number }[];
}

/** What `GET .../stats` answers. */
export interface StatisticsReport {
  /** One row for every model version. */
  readonly model_stats: readonly StatisticsRow[];
  /** All that the device holds, where every model is asked for; Triton has no such figure. */
  readonly device_memory?: readonly { model?: string; type: string; byte_size: number }[];
}

/** Statistics of all model versions, and every byte of the device, those that no model has too. */
export function fullStatisticsReport(
  served: readonly ServedModel[],
  memory: readonly MemoryUse[],
): StatisticsReport {
  return {
    ...statisticsReport(served),
    device_memory: memory.map(({ model, class: type, bytes }) => ({
      ...(model === undefined ? {} : { model }),
      type,
      byte_size: bytes,
    })),
  };
}

/** Statistics of these model versions. There is no response cache, so its counts stay 0. */
export function statisticsReport(served: readonly ServedModel[]): StatisticsReport {
  return { model_stats: served.map(row) };
}

function row({ model, statistics, persistentBytes, ephemeralBytes }: ServedModel): StatisticsRow {
  return {
    name: model.name,
    version: String(model.version),
    last_inference: statistics.lastInferenceMillis,
    inference_count: statistics.inferenceCount,
    execution_count: statistics.executionCount,
    inference_stats: {
      success: duration(statistics.success),
      fail: duration(statistics.fail),
      queue: duration(statistics.queue),
      compute_input: duration(statistics.computeInput),
      compute_infer: duration(statistics.computeInfer),
      compute_output: duration(statistics.computeOutput),
      cache_hit: { count: 0, ns: 0 },
      cache_miss: { count: 0, ns: 0 },
    },
    response_stats: {},
    batch_stats: [...statistics.batches].sort(([a], [b]) => a - b).map(([size, batch]) => ({
      batch_size: size,
      compute_input: duration(batch.computeInput),
      compute_infer: duration(batch.computeInfer),
      compute_output: duration(batch.computeOutput),
    })),
    memory_usage: [
      { type: "persistent", id: 0, byte_size: persistentBytes },
      { type: "ephemeral", id: 0, byte_size: ephemeralBytes },
    ],
  };
}

/** Whole nanoseconds, which clients read into integers. */
function duration({ count, ns }: Duration): Duration {
  return { count, ns: Math.round(ns) };
}
