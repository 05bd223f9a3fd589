/**
 * Measures a model with trial runs: its working memory, in an arena of its own, since the shared one
 * tells only what all models need together; and how long a short run takes, while nothing else does.
 *
 * @module
 */
import type { Environment } from "../../ffi/onnxruntime/environment.ts";
import { Session } from "../../ffi/onnxruntime/session.ts";
import type { Model } from "../model.ts";
import { Binding } from "./binding.ts";
import { joiningOf, repeated, type Trial, trialsOf } from "./trial.ts";
import { inputElements, type MemorySample, WorkingMemory } from "./working_memory.ts";

/** What trial runs of a model have shown. */
export interface Measurement {
  /** Weights that stay in the arena: those that no operator packs in a form of its own. */
  readonly arenaWeightBytes: number;
  /** What its iterations need besides. */
  readonly workingMemory: WorkingMemory;
  /** Trials that were short, ascending. */
  readonly shortRuns: readonly ShortRun[];
  /**
   * Its shortest runs gain nothing from the threads that models share: such a model runs on the
   * thread that calls it, does not wait for others to wake up, and leaves them to its neighbours.
   */
  readonly ownThread: boolean;
}

/** A run so short that it could be made in place. */
export interface ShortRun {
  /** Elements of all its inputs together. */
  readonly elements: number;
  /** Its time in ONNX Runtime, microseconds, without a hop to a thread. */
  readonly micros: number;
}

/**
 * What a run of so many elements is expected to take in place: no more than a larger trial, and
 * beyond the largest in proportion to it. Infinity where no trial was short.
 */
export function inPlaceEstimate(shortRuns: readonly ShortRun[], elements: number): number {
  let micros = Infinity;
  for (const run of shortRuns) {
    if (run.elements >= elements) return run.micros;
    micros = run.micros * elements / Math.max(1, run.elements);
  }
  return micros;
}

/** Runs that a load is worth. */
const MOST_RUNS = 4;
/** A trial that is expected to take longer is left out, after the first. */
const LONGEST_TRIAL_MICROS = 250_000;
/** What looks shorter than this, hop included, is worth holding the event loop for once more. */
const SHORT_MICROS = 2000;
/** Runs this short are hardly ever quicker for waking other threads up. */
const WAKE_UPS_COUNT_MICROS = 500;
/** Shared threads have to make such runs this much shorter to be worth it. */
const WORTH_SHARING = 0.8;
/** Of several runs of a trial the shortest counts. */
const SHORT_TRIALS = 4;

/**
 * Runs the model's samples, and the first of them joined to a larger and to the largest batch where
 * requests may be joined. What fails is left out: without fitting samples a model may refuse zeros.
 *
 * @param source What the model is loaded from, a second time.
 */
export async function measure(
  environment: Environment,
  model: Model,
  source: string | Uint8Array<ArrayBuffer>,
  options: { readonly ownThreads?: number; readonly signal?: AbortSignal },
): Promise<Measurement> {
  using session = await Session.load(environment, source, { ...options, sharedArena: false });
  const arenaWeightBytes = session.arenaStatistics().inUse;
  const samples: MemorySample[] = [];
  let microsPerElement = 0;
  const shortTrials: Trial[] = [];
  const shortRuns: ShortRun[] = [];
  for (const trial of trialsBySize(model)) {
    if (samples.length === MOST_RUNS || options.signal?.aborted) break;
    const elements = inputElements(trial.inputs);
    if (microsPerElement * elements > LONGEST_TRIAL_MICROS) break;
    try {
      const { micros, sample, inPlaceMicros } = await runTrial(session, model, trial);
      samples.push(sample);
      if (inPlaceMicros !== undefined) {
        shortTrials.push(trial);
        shortRuns.push({ elements: sample.elements, micros: inPlaceMicros });
      }
      microsPerElement = micros / Math.max(1, elements);
    } catch {
      continue;
    }
  }
  const workingMemory = new WorkingMemory(samples);
  const shared = { arenaWeightBytes, workingMemory, shortRuns, ownThread: false };
  const [shortest] = shortRuns;
  if (shortest === undefined || shortest.micros > WAKE_UPS_COUNT_MICROS) return shared;
  if (options.ownThreads !== undefined) return shared;
  const alone = await onOwnThread(environment, model, source, shortTrials, options.signal);
  return gainsFromSharing(shortest.micros, alone[0].micros)
    ? shared
    : { ...shared, shortRuns: alone, ownThread: true };
}

/** Whether a run is so much quicker with the threads that models share that it should have them. */
export function gainsFromSharing(sharedMicros: number, aloneMicros: number): boolean {
  return sharedMicros < aloneMicros * WORTH_SHARING;
}

/** The same trials without the threads that models share. */
async function onOwnThread(
  environment: Environment,
  model: Model,
  source: string | Uint8Array<ArrayBuffer>,
  trials: readonly Trial[],
  signal: AbortSignal | undefined,
): Promise<ShortRun[]> {
  const options = { ownThreads: 1, sharedArena: false, signal };
  using session = await Session.load(environment, source, options);
  return trials.map(({ inputs }) => {
    using binding = new Binding(session, { inputs, outputs: model.signature.outputs });
    binding.write(inputs.map((input) => [input.data]));
    return { elements: inputElements(inputs), micros: quickest(binding) };
  });
}

/** The first run over bound outputs pays for proving them. */
function quickest(binding: Binding): number {
  let micros = Infinity;
  for (let run = 0; run < SHORT_TRIALS; run++) micros = Math.min(micros, binding.run());
  return micros;
}

/** Ascending, since an arena that has grown for one run shows nothing of a smaller one. */
function trialsBySize(model: Model): Trial[] {
  const trials = trialsOf(model);
  const { join, maxRows } = joiningOf(model);
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
): Promise<{ micros: number; sample: MemorySample; inPlaceMicros?: number }> {
  const { inputs } = trial;
  using binding = new Binding(session, { inputs, outputs: model.signature.outputs });
  binding.write(inputs.map((input) => [input.data]));
  const micros = await binding.runNonblocking();
  // What is in use between runs is weights.
  const { allocated, inUse, maxInUse } = session.arenaStatistics();
  const elements = inputElements(inputs);
  return {
    micros,
    inPlaceMicros: micros < SHORT_MICROS ? quickest(binding) : undefined,
    sample: { elements, arenaBytes: allocated - inUse, tensorBytes: maxInUse - inUse },
  };
}
