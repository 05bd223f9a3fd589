/**
 * Whether requests of a model may share an iteration, as far as its files tell.
 *
 * @module
 */
import type { BatchingRule, CarriedTensor, ModelSignature } from "../model.ts";
import { type BatchingProbe, DEFAULT_MAX_BATCH } from "../manifest.ts";
import { leadsWithFreeAxis, type TensorSpec } from "../tensor.ts";
import type { ModelConfig } from "../triton_config/model_config.ts";
import { sequenceDelayMicros } from "../triton_config/sequence_batching.ts";

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
  /** The rule is for sequences, which these tensors make; it is for plain requests when absent. */
  readonly carry?: readonly CarriedTensor[];
}

/**
 * The rule: what Triton's configuration says of batching, else what a probe found, else whether a
 * probe is worth making.
 */
export function batchingRule(facts: BatchingFacts): BatchingRule {
  const { signature, config, probe } = facts;
  const declared = config?.max_batch_size;
  if (config !== undefined && declared !== undefined && declared > 0) {
    return declaredRule(facts, declared, config);
  }
  if (facts.carry === undefined && config?.sequence_batching !== undefined) {
    return separate(signature, "Its requests are all parts of sequences");
  }
  if (facts.isDynamicallyQuantised) return separate(signature, QUANTISED);
  if (declared === 0) return separate(signature, "Its configuration sets max_batch_size to 0");
  const maxRows = facts.maxBatch ?? DEFAULT_MAX_BATCH;
  if (maxRows === 1) return separate(signature, "Its manifest limits it to one row");
  if (probe !== undefined && probe.batchedInputs.length === signature.inputs.length) {
    if (!probe.join) return separate(signature, probe.reason);
    return { ...probe, maxRows, maxDelayMicros: 0, probe: false };
  }
  const obstacle = obstacleToJoining(facts);
  if (obstacle !== undefined) return separate(signature, obstacle);
  const open = { ...separate(signature, "Not probed yet"), maxRows, probe: true };
  if (facts.carry === undefined) return open;
  // A device that joins sequences must know which inputs have rows, the probe's own among them.
  return { ...open, batchedInputs: signature.inputs.map(mayLeadWithBatch(facts.carry)) };
}

const QUANTISED =
  "The model quantises by the range of the whole batch, so joining would move answers";

/** With a batch dimension that the configuration vouches for, as Triton does. */
function declaredRule(
  { signature, isDynamicallyQuantised, carry }: BatchingFacts,
  maxRows: number,
  config: ModelConfig,
): BatchingRule {
  const { dynamic_batching, sequence_batching } = config;
  const isOfSequences = carry !== undefined && sequence_batching !== undefined;
  const scheduler = isOfSequences ? "sequence_batching" : "dynamic_batching";
  const isThere = config[scheduler] !== undefined;
  return {
    maxRows,
    join: isThere && maxRows > 1 && !isDynamicallyQuantised,
    reason: !isThere
      ? `Its configuration has no ${scheduler}`
      : isDynamicallyQuantised
      ? QUANTISED
      : `Its configuration has ${scheduler} with max_batch_size ${maxRows}`,
    batchedInputs: signature.inputs.map(({ name }) => !carry?.some(({ input }) => input === name)),
    maxDelayMicros: isOfSequences
      ? sequenceDelayMicros(sequence_batching)
      : dynamic_batching?.max_queue_delay_microseconds ?? 0,
    probe: false,
  };
}

function mayLeadWithBatch(carry: readonly CarriedTensor[]): (spec: TensorSpec) => boolean {
  return (spec) => leadsWithFreeAxis(spec) && !carry.some(({ input }) => input === spec.name);
}

/** No batch dimension is known, so each request is one row, whatever its shapes. */
function separate({ inputs }: ModelSignature, reason: string): BatchingRule {
  return {
    maxRows: 1,
    join: false,
    reason,
    batchedInputs: inputs.map(() => false),
    maxDelayMicros: 0,
    probe: false,
  };
}

/** Why no dimension can be the batch, judged by the declared shapes alone. */
function obstacleToJoining({ signature, carry = [] }: BatchingFacts): string | undefined {
  const whole = carry.find(({ batchAxis }) => batchAxis < 0);
  if (whole !== undefined) {
    return `Carried input "${whole.input}" has no free dimension to join sequences along`;
  }
  const batched = signature.inputs.filter(mayLeadWithBatch(carry));
  const outputs = signature.outputs.filter(({ name }) =>
    !carry.some(({ output }) => output === name)
  );
  if (batched.length === 0) return "No input leads with a free dimension";
  const joined = [
    ...batched.map((spec) => ({ spec, dimension: spec.dimNames?.[0] })),
    ...carry.map(({ input, batchAxis }) => {
      const spec = signature.inputs.find(({ name }) => name === input)!;
      return { spec, dimension: spec.dimNames?.[batchAxis] };
    }),
  ];
  const named = joined.filter(({ dimension }) => dimension !== undefined);
  const other = named.find(({ dimension }) => dimension !== named[0].dimension);
  if (other !== undefined) {
    return `Inputs ${quote(named[0].spec)} and ${quote(other.spec)} have different free ` +
      `dimensions (${named[0].dimension}, ${other.dimension})`;
  }
  const fixed = outputs.find((output) => !output.unranked && !leadsWithFreeAxis(output));
  if (fixed !== undefined) {
    return `Output ${quote(fixed)} does not lead with a free dimension (shape [${fixed.shape}])`;
  }
  return undefined;
}

function quote({ name }: TensorSpec): string {
  return JSON.stringify(name);
}
