/**
 * The gaps between iterations on the CPU device, told apart by whether the model changes.
 *
 * @module
 */
import { build, type Histogram } from "hdr-histogram-js";
import { openCpuDevice } from "../../models/cpu/mod.ts";
import { FileRepository } from "../../models/repository.ts";
import { POLICIES } from "../../policies/mod.ts";
import type { LogEntry } from "../../server/engine/decision_log.ts";
import { openEngine } from "../../server/engine/engine.ts";
import { keepBusy, type LoopedModel } from "./engine_loop.ts";

/** Gaps of one kind, microseconds. */
export interface Gaps {
  /** How many. */
  readonly count: number;
  /** Median. */
  readonly p50: number;
  /** All but one in a hundred are no longer. */
  readonly p99: number;
}

/** What lies between the end of an iteration's run and the beginning of the next one's. */
export interface SwitchFigures {
  /** Both of the same model. */
  readonly same: Gaps;
  /** Of two. */
  readonly different: Gaps;
}

/** Draws the next model, so that both kinds of gap come from one run. */
const POLICY = "lottery";
/** Whatever is drawn has requests waiting. */
const IN_FLIGHT = 10;
/** One request an iteration: many gaps, however long a row takes. */
const UNJOINED = JSON.stringify({ max_batch_size: 0 });
const WARM_UP_SHARE = 0.2;

/** Keeps requests of each model waiting for one lane and measures every gap. */
export async function switchGaps(
  repository: string,
  models: readonly LoopedModel[],
  { threads, seconds }: { readonly threads: number; readonly seconds: number },
): Promise<SwitchFigures> {
  const same = build({ numberOfSignificantValueDigits: 3 });
  const different = build({ numberOfSignificantValueDigits: 3 });
  const log = readGaps((gapMicros, switched) =>
    (switched ? different : same).recordValue(Math.max(0, Math.round(gapMicros)))
  );
  await using device = await openCpuDevice({ threads });
  await using engine = await openEngine({
    device,
    repository: new FileRepository(repository),
    lanes: 1,
    policy: POLICIES.get(POLICY),
    loadAll: false,
    decisionLog: log,
  });
  for (const { name } of models) await engine.load(name, { config: UNJOINED });
  await keepBusy(engine, models, IN_FLIGHT, seconds * WARM_UP_SHARE);
  same.reset();
  different.reset();
  await keepBusy(engine, models, IN_FLIGHT, seconds * (1 - WARM_UP_SHARE));
  return { same: gaps(same), different: gaps(different) };
}

/**
 * Finds the gaps in the decision log of one lane: a run began when it finished, less what it took.
 * Gaps with arrivals in them are left out: those are turns of the event loop, in which other things
 * happen as well.
 */
function readGaps(
  found: (gapMicros: number, switched: boolean) => void,
): (entry: LogEntry) => void {
  let finishedMicros = -Infinity, before = "", running = "";
  let quiet = false, counts = false;
  return (entry) => {
    if (entry.event === "arrive") quiet = false;
    if (entry.event === "start") {
      before = running;
      running = entry.model;
      counts = quiet;
    }
    if (entry.event !== "finish") return;
    if (counts) found(entry.at - entry.deviceMicros - finishedMicros, running !== before);
    finishedMicros = entry.at;
    quiet = true;
  };
}

function gaps(histogram: Histogram): Gaps {
  return {
    count: histogram.totalCount,
    p50: histogram.getValueAtPercentile(50),
    p99: histogram.getValueAtPercentile(99),
  };
}
