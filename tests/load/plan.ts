/**
 * A whole run's requests, fixed by the scenario and its seed before the first is sent.
 *
 * @module
 */
import { type Random, seededRandom } from "../../models/random.ts";
import { arrivalTimes } from "./arrivals.ts";
import type { Arrivals, Scenario } from "./scenario.ts";
import type { TraceLine } from "./trace.ts";

/** A request of an open loop. */
export interface Arrival {
  /** Since the run's beginning. */
  readonly atMicros: number;
  /** Index of the model among the scenario's. */
  readonly model: number;
}

/** A client of a closed loop. */
export interface Client {
  /** Index of the model among the scenario's. */
  readonly model: number;
  /** Mean pause between two requests. */
  readonly thinkMicros: number;
  /** Draws the pauses. */
  readonly seed: number;
  /** Requests of each sequence; absent where they do not belong together. */
  readonly steps?: number;
}

/** What will be sent. */
export interface Plan {
  /** Ascending. */
  readonly arrivals: readonly Arrival[];
  /** They send side by side with the arrivals. */
  readonly clients: readonly Client[];
  /** When the last request may be sent. */
  readonly endMicros: number;
}

/** Traces by their files' names. */
export type Traces = ReadonlyMap<string, readonly TraceLine[]>;

/** Makes the plan; warm-up and counted time are one schedule. */
export function planRun(scenario: Scenario, traces: Traces): Plan {
  const { models, seed, warmupSeconds, durationSeconds } = scenario;
  const seconds = warmupSeconds + durationSeconds;
  const indices = models.map((_, index) => index);
  const arrivals: Arrival[] = [];
  const draw = (from: Arrivals, stream: number, mine: readonly number[], zipf: number) => {
    const pick = weighted(mine, zipf, seededRandom(mixSeed(seed, 2 * stream)));
    const random = seededRandom(mixSeed(seed, 2 * stream + 1));
    for (const line of requests(from, traces, seconds, random)) {
      const named = line.model === undefined
        ? undefined
        : models.findIndex(({ name }) => name === line.model);
      if (named !== undefined && !mine.includes(named)) continue;
      arrivals.push({ atMicros: Math.round(line.seconds * 1e6), model: named ?? pick() });
    }
  };
  const sharing = indices.filter((index) => !models[index].arrivals && !models[index].closed);
  if (scenario.arrivals && sharing.length > 0) {
    draw(scenario.arrivals, models.length, sharing, scenario.zipf);
  }
  for (const index of indices) {
    const own = models[index].arrivals;
    if (own) draw(own, index, [index], 0);
  }
  arrivals.sort((a, b) => a.atMicros - b.atMicros);
  return { arrivals, clients: clients(scenario, sharing), endMicros: Math.round(seconds * 1e6) };
}

/** The same requests, those of the other models left out. */
export function planAlone(plan: Plan, model: number): Plan {
  return {
    ...plan,
    arrivals: plan.arrivals.filter((arrival) => arrival.model === model),
    clients: plan.clients.filter((client) => client.model === model),
  };
}

function requests(from: Arrivals, traces: Traces, seconds: number, random: Random): TraceLine[] {
  if (from.kind !== "trace") {
    return arrivalTimes(from, seconds, random).map((at) => ({ seconds: at }));
  }
  return traces.get(from.file)!.filter((line) => line.seconds < seconds);
}

function clients({ models, closed, seed }: Scenario, sharing: readonly number[]): Client[] {
  return models.flatMap((load, model) => {
    const loop = load.closed ?? (sharing.includes(model) ? closed : undefined);
    return Array.from({ length: loop?.concurrency ?? 0 }, (_, index) => ({
      model,
      thinkMicros: loop!.thinkMs * 1000,
      seed: mixSeed(mixSeed(seed, model), index),
      steps: load.sequence?.steps,
    }));
  });
}

/** Picks the n-th with a probability that goes as 1/n^zipf. */
function weighted(indices: readonly number[], zipf: number, random: Random): () => number {
  let sum = 0;
  const upTo = indices.map((_, n) => sum += (n + 1) ** -zipf);
  return () => {
    const at = random() * sum;
    return indices[upTo.findIndex((bound) => at < bound)];
  };
}

/** A seed for each of several streams, so that none repeats another. */
function mixSeed(seed: number, stream: number): number {
  return Math.floor(seededRandom(seed ^ Math.imul(stream + 1, 0x9e3779b1))() * 2 ** 32);
}
