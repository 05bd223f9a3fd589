/**
 * What `/metrics` shows and where it comes from: Triton's names, which people already graph, and what
 * Triton lacks.
 *
 * @module
 */
import process from "node:process";
import type { Duration, Engine, ModelStatistics, ServedModel } from "../engine/api.ts";
import { type GenerationStatistics, generationStatistics } from "../generation/statistics.ts";
import type { Jobs } from "../jobs/jobs.ts";

/** Labels of a sample. */
export type Labels = Record<string, string | number>;
/** One sample. */
export type Sample = readonly [labels: Labels, value: number];

/** What the metrics are of. */
export interface Exposed {
  /** Its models, lanes and policy. */
  readonly engine: Engine;
  /** Sequences that nobody waits for. */
  readonly jobs: Jobs;
}

/** A metric and where its samples come from. */
export interface Source {
  /** The metric's name. */
  readonly name: string;
  /** What it measures. */
  readonly help: string;
  /** Labels of every sample. */
  readonly labelNames: string[];
  /** The samples at this moment. */
  samples(engine: Engine, jobs: Jobs): Iterable<Sample>;
}

/** The models that generate text. */
function textModels(engine: Engine): readonly ServedModel[] {
  return engine.served().filter(({ model }) => model.sequence?.generation !== undefined);
}

/** One sample of every model version that generates text. */
function perTextModel(
  name: string,
  help: string,
  value: (statistics: GenerationStatistics) => number,
): Source {
  return {
    name,
    help,
    labelNames: ["model", "version"],
    samples: (engine) =>
      textModels(engine).map((served) => [labelsOf(served), value(generationStatistics(served))]),
  };
}

/** The labels of a model version. */
export function labelsOf({ model }: ServedModel): { model: string; version: string } {
  return { model: model.name, version: String(model.version) };
}

/** One sample of every model version. */
function perModel(name: string, help: string, value: (served: ServedModel) => number): Source {
  return {
    name,
    help,
    labelNames: ["model", "version"],
    samples: (engine) => engine.served().map((served) => [labelsOf(served), value(served)]),
  };
}

/** One sample of every lane. */
function perLane(
  name: string,
  help: string,
  value: (lane: ReturnType<Engine["lanes"]>[number]) => number,
): Source {
  return {
    name,
    help,
    labelNames: ["lane"],
    samples: (engine) => engine.lanes().map((lane) => [{ lane: lane.id }, value(lane)]),
  };
}

/** One sample without labels. */
function single(name: string, help: string, value: (engine: Engine) => number): Source {
  return { name, help, labelNames: [], samples: (engine) => [[{}, value(engine)]] };
}

/** A duration of Triton's, in its unit. */
function micros(
  name: string,
  what: string,
  read: (statistics: ModelStatistics) => Duration,
): Source {
  return perModel(
    name,
    `Cumulative ${what} in microseconds`,
    ({ statistics }) => Math.round(read(statistics).ns / 1000),
  );
}

/** What only grows. */
export const COUNTERS: readonly Source[] = [
  perModel(
    "nv_inference_request_success",
    "Number of successful inference requests",
    ({ statistics }) => statistics.success.count,
  ),
  {
    name: "nv_inference_request_failure",
    help: "Number of failed inference requests",
    labelNames: ["model", "version", "reason"],
    *samples(engine) {
      for (const served of engine.served()) {
        for (const [reason, count] of Object.entries(served.statistics.failures)) {
          yield [{ ...labelsOf(served), reason }, count];
        }
      }
    },
  },
  perModel(
    "nv_inference_count",
    "Number of inferences performed: rows, not requests",
    ({ statistics }) => statistics.inferenceCount,
  ),
  perModel(
    "nv_inference_exec_count",
    "Number of iterations run",
    ({ statistics }) => statistics.executionCount,
  ),
  micros("nv_inference_request_duration_us", "inference request duration", (s) => s.success),
  micros("nv_inference_queue_duration_us", "inference queuing duration", (s) => s.queue),
  micros("nv_inference_compute_input_duration_us", "compute input duration", (s) => s.computeInput),
  micros(
    "nv_inference_compute_infer_duration_us",
    "compute inference duration",
    (s) => s.computeInfer,
  ),
  micros(
    "nv_inference_compute_output_duration_us",
    "compute output duration",
    (s) => s.computeOutput,
  ),
  perModel(
    "sluice_device_seconds_total",
    "Device time charged under the policy",
    ({ statistics }) => statistics.chargedMicros / 1e6,
  ),
  perTextModel(
    "sluice_prompt_tokens_total",
    "Tokens of the prompts of generations",
    ({ promptTokens }) => promptTokens,
  ),
  perTextModel(
    "sluice_generated_tokens_total",
    "Tokens generated",
    ({ generatedTokens }) => generatedTokens,
  ),
  perLane(
    "sluice_lane_busy_seconds_total",
    "Time with at least one iteration running",
    ({ busyMicros }) => busyMicros / 1e6,
  ),
  perLane("sluice_lane_iterations_total", "Iterations run", ({ iterations }) => iterations),
  single("process_cpu_seconds_total", "User and system CPU time spent", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }),
];

/** What goes up and down. */
export const GAUGES: readonly Source[] = [
  perModel(
    "nv_inference_pending_request_count",
    "Number of requests waiting for execution",
    ({ queuedRequests }) => queuedRequests,
  ),
  perModel(
    "sluice_queue_bytes",
    "Bytes of the inputs that wait for execution",
    ({ queuedBytes }) => queuedBytes,
  ),
  perModel(
    "sluice_running_requests",
    "Number of requests in an iteration",
    ({ runningRequests }) => runningRequests,
  ),
  perModel(
    "sluice_open_sequences",
    "Number of sequences that have state on the device",
    ({ openSequences }) => openSequences,
  ),
  perModel(
    "sluice_sequence_state_bytes",
    "Device memory reserved for the state of sequences",
    ({ stateBytes }) => stateBytes,
  ),
  {
    name: "sluice_max_joined_rows",
    help: "Rows that an iteration may join, and why; 1 where requests are not joined",
    labelNames: ["model", "version", "reason"],
    samples: (engine) =>
      engine.served().map((served) => {
        const { join, maxRows, reason } = served.model.batching;
        return [{ ...labelsOf(served), reason }, join ? maxRows : 1];
      }),
  },
  {
    name: "sluice_max_joined_sequences",
    help: "Sequences that an iteration may join, and why; absent for a model that has none",
    labelNames: ["model", "version", "reason"],
    samples: (engine) =>
      engine.served().flatMap((served): Sample[] => {
        const { sequence } = served.model;
        if (sequence === undefined) return [];
        const { join, maxRows, reason } = sequence.batching;
        return [[{ ...labelsOf(served), reason }, join ? maxRows : 1]];
      }),
  },
  perLane("sluice_lane_bytes", "Working memory of the lane", ({ bytes }) => bytes),
  {
    name: "sluice_memory_bytes",
    help: "Device memory held, by model (empty where it is no model's) and class",
    labelNames: ["model", "class"],
    samples(engine) {
      const held = new Map<string, [Labels, number]>();
      for (const { model = "", class: kind, bytes } of engine.memory()) {
        const key = `${kind} ${model}`;
        held.set(key, [{ model, class: kind }, bytes + (held.get(key)?.[1] ?? 0)]);
      }
      return held.values();
    },
  },
  single(
    "sluice_memory_capacity_bytes",
    "Device memory that models, lanes and state may take together",
    (engine) => engine.capacityBytes,
  ),
  {
    name: "sluice_jobs",
    help: "Number of jobs, those that have ended as long as they are remembered",
    labelNames: ["state"],
    samples: (_engine, jobs) => Array.from(jobs.counts(), ([state, count]) => [{ state }, count]),
  },
  {
    name: "sluice_policy_info",
    help: "The scheduling policy in force; 1",
    labelNames: ["policy"],
    samples: (engine) => [[{ policy: engine.policy().name }, 1]],
  },
  single(
    "sluice_policy_fault",
    "1 when the policy broke and fifo took over",
    (engine) => engine.policy().fault === undefined ? 0 : 1,
  ),
  single(
    "sluice_ready",
    "1 when the server is ready",
    (engine) => engine.notReadyReason() === undefined ? 1 : 0,
  ),
  single("process_resident_memory_bytes", "Resident memory", () => Deno.memoryUsage().rss),
];
