/**
 * Whether requests of a model may share an iteration, as far as its files tell.
 *
 * @module
 */
import type { BatchingRule, ModelSignature } from "../model.ts";
import { type BatchingProbe, DEFAULT_MAX_BATCH } from "../manifest.ts";
import type { TensorSpec } from "../tensor.ts";
import type { ModelConfig } from "../triton_config/model_config.ts";

/** What the rule depends on. */
export interface BatchingFacts {
  /** Inputs and outputs. */
  readonly signature: ModelSignature;
  /** Values are quantised by the range of the whole batch. */
  readonly isDynamicallyQuantised: boolean;
  /** Triton's configuration, where there is one. */
  readonly config?: ModelConfig;
  /** What a probe found out about this version. */
  readonly probe?: BatchingProbe;
  /** The manifest's limit of rows. */
  readonly maxBatch?: number;
}

/**
 * The rule: what Triton's configuration says of batching, else what a probe found, else whether a
 * probe is worth making.
 */
export function batchingRule(facts: BatchingFacts): BatchingRule {
  const { signature, config, probe } = facts;
  const leading = signature.inputs.map(leadsFree);
  const separate = (reason: string, maxRows = 1): BatchingRule => ({
    maxRows,
    join: false,
    reason,
    batchedInputs: leading,
    maxDelayMicros: 0,
    probe: false,
  });
  const declared = config?.max_batch_size;
  if (facts.isDynamicallyQuantised) {
    return separate(
      "The model quantises by the range of the whole batch, so joining would move answers",
      Math.max(1, declared ?? 1),
    );
  }
  if (declared === 0) return separate("Its configuration sets max_batch_size to 0");
  if (declared !== undefined) {
    const batcher = config?.dynamic_batching;
    if (batcher === undefined) {
      return separate("Its configuration has no dynamic_batching", declared);
    }
    return {
      maxRows: declared,
      join: declared > 1,
      reason: "Its configuration has dynamic_batching",
      batchedInputs: leading,
      maxDelayMicros: batcher.max_queue_delay_microseconds ?? 0,
      probe: false,
    };
  }
  const maxRows = facts.maxBatch ?? DEFAULT_MAX_BATCH;
  if (maxRows === 1) return separate("Its manifest limits it to one row");
  if (probe !== undefined && probe.batchedInputs.length === signature.inputs.length) {
    const { join, reason, batchedInputs } = probe;
    return {
      maxRows: join ? maxRows : 1,
      join,
      reason,
      batchedInputs,
      maxDelayMicros: 0,
      probe: false,
    };
  }
  const obstacle = obstacleToJoining(signature);
  if (obstacle !== undefined) return separate(obstacle);
  return { ...separate("Not probed yet", maxRows), probe: true };
}

/** Why no dimension can be the batch, judged by the declared shapes alone. */
function obstacleToJoining({ inputs, outputs }: ModelSignature): string | undefined {
  const batched = inputs.filter(leadsFree);
  if (batched.length === 0) return "No input leads with a free dimension";
  const named = batched.filter((input) => input.dimNames?.[0] !== undefined);
  const other = named.find((input) => input.dimNames![0] !== named[0].dimNames![0]);
  if (other !== undefined) {
    return `Inputs ${quote(named[0])} and ${quote(other)} lead with different free dimensions ` +
      `(${named[0].dimNames![0]}, ${other.dimNames![0]})`;
  }
  const fixed = outputs.find((output) => !output.unranked && !leadsFree(output));
  if (fixed !== undefined) {
    return `Output ${quote(fixed)} does not lead with a free dimension (shape [${fixed.shape}])`;
  }
  return undefined;
}

function leadsFree({ shape }: TensorSpec): boolean {
  return shape[0] === -1;
}

function quote({ name }: TensorSpec): string {
  return JSON.stringify(name);
}
