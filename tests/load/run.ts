/**
 * A run from the scenario to the report.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import { closedLoop } from "./closed_loop.ts";
import { type Exchange, exchangeWith } from "./exchange.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { LatencySummary } from "./latency.ts";
import { openLoop } from "./open_loop.ts";
import { type Plan, planAlone, planRun, type Traces } from "./plan.ts";
import { intervalSeconds, type Measurements, Recorder } from "./recorder.ts";
import { makeReport, type Report } from "./report.ts";
import { makeRequests } from "./requests.ts";
import type { Scenario } from "./scenario.ts";
import type { Sample } from "./sender.ts";
import { difference, readCounters } from "./server_statistics.ts";
import { type Fetch, Target } from "./target.ts";
import { parseTrace } from "./trace.ts";

/** What a run touches. */
export interface Surroundings {
  /** Real or virtual. */
  readonly clock: Clock;
  /** Sends requests. */
  readonly fetch: Fetch;
  /** Reads traces and inputs. */
  readonly readFile: (path: string) => Promise<string>;
  /** Ends the run early. */
  readonly stop: AbortSignal;
  /** Gets every request when it has ended; for progress. */
  readonly watch: (sample: Sample) => void;
  /** Told what begins, e.g. `digits alone`. */
  readonly phase: (what: string) => void;
}

/**
 * Does what a scenario says. Everything that can be wrong with it is found before the first request.
 *
 * @param alone Run each model by itself first.
 * @throws {SluiceError} `not_ready` when no server answers; else what is wrong, naming it.
 */
export async function runLoad(
  scenario: Scenario,
  alone: boolean,
  surroundings: Surroundings,
): Promise<Report> {
  const { clock, fetch, stop, phase } = surroundings;
  const plan = planRun(scenario, await readTraces(scenario, surroundings));
  const target = new Target(scenario.url, fetch);
  const requests = await makeRequests(scenario, target, surroundings);
  // Anew each time: the requests of a model that runs alone are those it gets with the others.
  const drive = (part: Plan) => {
    const exchange = exchangeWith(target, requests, clock, scenario.timeoutSeconds * 1e6);
    return driveRun(scenario, part, exchange, surroundings);
  };

  const apart: Measurements[] = [];
  for (const [index, { name }] of scenario.models.entries()) {
    if (!alone || stop.aborted) break;
    phase(`${name} alone`);
    apart.push((await drive(planAlone(plan, index))).records[index]);
  }
  phase(apart.length > 0 ? "all together" : "");
  const before = await readCounters(target);
  const startedAt = new Date().toISOString();
  const { records, seconds, loopLag } = await drive(plan);
  const after = before && await readCounters(target);
  return makeReport(
    scenario,
    scenario.models.map(({ name, model = name }, index) => ({
      record: records[index],
      alone: apart[index],
      server: difference(before?.get(model), after?.get(model)),
    })),
    { startedAt, seconds, loopLag, partial: stop.aborted },
  );
}

/** Sends a plan; gives what was seen of each model of the scenario, and of the generator. */
async function driveRun(
  { models, warmupSeconds, durationSeconds, connections }: Scenario,
  plan: Plan,
  exchange: Exchange,
  { clock, stop, watch }: Surroundings,
): Promise<{ records: Measurements[]; seconds: number; loopLag: LatencySummary }> {
  const recorders = models.map((model) =>
    new Recorder(model, warmupSeconds, intervalSeconds(durationSeconds))
  );
  const startMicros = clock.nowMicros();
  let stoppedMicros = plan.endMicros;
  const stopped = () => stoppedMicros = Math.min(stoppedMicros, clock.nowMicros() - startMicros);
  if (stop.aborted) stopped();
  stop.addEventListener("abort", stopped, { once: true });
  const record = (sample: Sample) => {
    recorders[sample.model].add(sample);
    watch(sample);
  };
  using heartbeat = new Heartbeat(clock, startMicros + warmupSeconds * 1e6);
  const sending = { clock, startMicros, exchange, record, stop };
  await Promise.all([
    openLoop(plan.arrivals, connections, sending),
    ...plan.clients.map((client) => closedLoop(client, plan.endMicros, sending)),
  ]);
  stop.removeEventListener("abort", stopped);
  return {
    records: recorders.map((recorder) => recorder.measurements()),
    seconds: Math.max(0, stoppedMicros / 1e6 - warmupSeconds),
    loopLag: heartbeat.summary(),
  };
}

async function readTraces(scenario: Scenario, { readFile }: Surroundings): Promise<Traces> {
  const names = scenario.models.map(({ name }) => name);
  const traces = new Map();
  for (const { arrivals } of [scenario, ...scenario.models]) {
    if (arrivals?.kind !== "trace") continue;
    traces.set(arrivals.file, parseTrace(await readFile(arrivals.file), arrivals.file, names));
  }
  return traces;
}
