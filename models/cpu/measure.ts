/**
 * Measures a model's working memory with trial runs in an arena of its own, since the shared one
 * tells only what all models need together.
 *
 * @module
 */
import type { Environment } from "../../ffi/onnxruntime/environment.ts";
import { Session } from "../../ffi/onnxruntime/session.ts";
import type { Model } from "../model.ts";
import { Binding } from "./binding.ts";
import { repeated, type Trial, trialsOf } from "./trial.ts";
import { inputElements, type MemorySample, WorkingMemory } from "./working_memory.ts";

/** What a model needs of an arena. */
export interface MemoryMeasurement {
  /** Weights that stay in the arena: those that no operator packs in a form of its own. */
  readonly arenaWeightBytes: number;
  /** What its iterations need besides. */
  readonly workingMemory: WorkingMemory;
}

/** Runs that a load is worth. */
const MOST_RUNS = 3;
/** A trial that is expected to take longer is left out, after the first. */
const LONGEST_TRIAL_MICROS = 250_000;

/**
 * Runs the model's samples, and the first of them joined to a larger and to the largest batch where
 * requests may be joined. What fails is left out: without fitting samples a model may refuse zeros.
 *
 * @param source What the model is loaded from, a second time.
 */
export async function measureMemory(
  environment: Environment,
  model: Model,
  source: string | Uint8Array<ArrayBuffer>,
  options: { readonly ownThreads?: number; readonly signal?: AbortSignal },
): Promise<MemoryMeasurement> {
  using session = await Session.load(environment, source, { ...options, sharedArena: false });
  const arenaWeightBytes = session.arenaStatistics().inUse;
  const samples: MemorySample[] = [];
  let microsPerRow = 0;
  for (const trial of trialsBySize(model)) {
    if (samples.length === MOST_RUNS || options.signal?.aborted) break;
    if (microsPerRow * trial.rows > LONGEST_TRIAL_MICROS) break;
    try {
      const { micros, sample } = await runTrial(session, model, trial);
      samples.push(sample);
      microsPerRow = micros / trial.rows;
    } catch {
      continue;
    }
  }
  return { arenaWeightBytes, workingMemory: new WorkingMemory(samples) };
}

/** Ascending, since an arena that has grown for one run shows nothing of a smaller one. */
function trialsBySize(model: Model): Trial[] {
  const trials = trialsOf(model);
  const { join, maxRows } = model.batching;
  if (join && maxRows > 1) {
    for (const rows of new Set([Math.ceil(Math.sqrt(maxRows)), maxRows])) {
      if (rows > 1) trials.push(repeated(trials[0], rows, model));
    }
  }
  return trials.toSorted((a, b) => inputElements(a.inputs) - inputElements(b.inputs));
}

async function runTrial(
  session: Session,
  model: Model,
  trial: Trial,
): Promise<{ micros: number; sample: MemorySample }> {
  using binding = new Binding(session, trial.inputs, model.signature.outputs);
  binding.write(trial.inputs.map((input) => [input.data]));
  const micros = await binding.runNonblocking();
  // What is in use between runs is weights.
  const { allocated, inUse, maxInUse } = session.arenaStatistics();
  const elements = inputElements(trial.inputs);
  return {
    micros,
    sample: { elements, arenaBytes: allocated - inUse, tensorBytes: maxInUse - inUse },
  };
}
