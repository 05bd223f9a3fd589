/**
 * How a model runs in sequences, as its manifest and its configuration declare it.
 *
 * @module
 */
import { SluiceError } from "../errors.ts";
import type { BatchingProbe } from "../manifest.ts";
import type { ModelSignature, SequenceRule } from "../model.ts";
import { batchingRule } from "./batching.ts";
import { carriedTensors, type Carry, type CarrySources } from "./carried_tensors.ts";
import { checkGeneration } from "./generation_rule.ts";

/** What the rule depends on. */
export interface SequenceFacts extends CarrySources {
  /** The model's name. */
  readonly name: string;
  /** What carries over, as declared. */
  readonly carry: readonly Carry[];
  /** Inputs and outputs, those that are carried among them. */
  readonly signature: ModelSignature;
  /** Values are quantised by the range of the whole batch. */
  readonly isDynamicallyQuantised: boolean;
  /** What a probe of sequences found out about this version. */
  readonly probe?: BatchingProbe;
}

const DEFAULT_IDLE_SECONDS = 60;

/**
 * The rule; undefined for a model of which nothing carries over.
 *
 * @throws {SluiceError} `invalid_argument` where a declaration does not fit the model, `unsupported`
 *   for a configuration with sequences without a state.
 */
export function sequenceRule(facts: SequenceFacts): SequenceRule | undefined {
  const { name, manifest, manifestName, config, where, signature } = facts;
  const { generation, maxIdleSeconds = DEFAULT_IDLE_SECONDS, checkpoint = name } = manifest;
  const sequenceBatching = config?.sequence_batching;
  if (facts.carry.length === 0) {
    if (sequenceBatching !== undefined) {
      throw new SluiceError(
        "unsupported",
        `${where}: "sequence_batching" has no "state"; expected one, or "carry" in ${manifestName}`,
      );
    }
    for (const key of ["generation", "maxIdleSeconds", "checkpoint"] as const) {
      if (manifest[key] === undefined) continue;
      throw new SluiceError(
        "invalid_argument",
        `${manifestName}: "${key}" is for models that run in sequences; expected "carry" beside it`,
      );
    }
    return undefined;
  }
  const carry = carriedTensors(facts.carry, signature);
  if (generation !== undefined) checkGeneration(generation, signature, carry, manifestName);
  return {
    carry,
    batching: batchingRule({ ...facts, carry, maxBatch: manifest.maxBatch }),
    // Triton takes 0 for "not said" as well.
    maxIdleMicros: sequenceBatching?.max_sequence_idle_microseconds ||
      Math.round(maxIdleSeconds * 1e6),
    required: sequenceBatching !== undefined,
    ...(generation && { generation }),
    checkpoint,
  };
}
