/**
 * The scheduler alone: the whole engine on a device that runs in place and takes no time.
 *
 * @module
 */
import { build } from "hdr-histogram-js";
import { SystemClock } from "../../models/clock.ts";
import { seededRandom } from "../../models/random.ts";
import { openSimulatedDevice } from "../../models/simulated/device.ts";
import { contain } from "../../policies/contained.ts";
import { POLICIES } from "../../policies/mod.ts";
import type { PolicyDefinition } from "../../policies/policy.ts";
import type { Engine } from "../../server/engine/api.ts";
import { openEngine } from "../../server/engine/engine.ts";
import { input, MemoryRepository, testModel } from "../server/engine/fixture.ts";

/** How much waits, and for how long it goes on. */
export interface SchedulerLoopOptions {
  /** Models, each with requests waiting at every decision. */
  readonly queues: number;
  /** Requests that wait, all together. */
  readonly waiting: number;
  /** The warm-up included. */
  readonly seconds: number;
}

/** What it took. */
export interface SchedulerFigures {
  /** Decisions counted. */
  readonly decisions: number;
  /** Of the policy's `next`, with what contains its faults; microseconds. */
  readonly decisionP50: number;
  /** All but one in a hundred took no longer. */
  readonly decisionP99: number;
  /** Of an iteration, all in: admission, queue, decision, the device's pretence, the answer. */
  readonly iterationMicros: number;
}

const WARM_UP_SHARE = 0.2;
/** Before its cost is known, an iteration of a queue waits for a timer. */
const WARM_UP_ITERATIONS = 20;
/** No deadline passes meanwhile. */
const HOUR_MICROS = 3600e6;
const TENANTS = 10;

/** Keeps the queues full under a policy; every answer brings the next request of its model. */
export async function schedulerFigures(
  policy: string,
  { queues, waiting, seconds }: SchedulerLoopOptions,
): Promise<SchedulerFigures> {
  const nanos = build({ numberOfSignificantValueDigits: 3 });
  const names = Array.from({ length: queues }, (_, index) => `model_${index}`);
  // Not joined, so that an iteration is a request.
  const { batching } = testModel("any");
  const models = names.map((name, index) =>
    testModel(name, { weight: 1 + index % 3, batching: { ...batching, join: false, maxRows: 1 } })
  );
  await using device = openSimulatedDevice({
    clock: new SystemClock(),
    inPlaceMicros: Infinity,
    depth: 1,
    costs: new Map(names.map((name, index) => [name, { byRows: [[1, 50 + 10 * index]] }])),
  });
  await using engine = await openEngine({
    device,
    repository: new MemoryRepository(new Map(models.map((model) => [model.name, [model]]))),
    policy: timed(POLICIES.get(policy)!, (millis) => nanos.recordValue(Math.round(millis * 1e6))),
  });

  let iterations = 0, ended = false;
  const random = seededRandom(1);
  const send = (name: string) =>
    submit(engine, name, random, () => {
      iterations++;
      if (!ended) send(name);
    });
  for (let n = 0; n < waiting; n++) send(names[n % queues]);

  const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  await pause(seconds * WARM_UP_SHARE);
  while (iterations < WARM_UP_ITERATIONS * queues) await pause(0.1);
  nanos.reset();
  const before = iterations, started = performance.now();
  await pause(seconds * (1 - WARM_UP_SHARE));
  const micros = (performance.now() - started) * 1000;
  const counted = iterations - before;
  ended = true;
  return {
    decisions: nanos.totalCount,
    decisionP50: nanos.getValueAtPercentile(50) / 1000,
    decisionP99: nanos.getValueAtPercentile(99) / 1000,
    iterationMicros: micros / counted,
  };
}

/** The policy, each of whose decisions is timed together with what contains its faults. */
function timed(definition: PolicyDefinition, record: (millis: number) => void): PolicyDefinition {
  return {
    ...definition,
    create: (env) => {
      const policy = contain(definition.create(env), (fault) => {
        throw new Error(fault);
      });
      return {
        rank: (request) => policy.rank?.(request) ?? 0,
        observe: (event) => policy.observe?.(event),
        next: (snapshot) => {
          const started = performance.now();
          const decision = policy.next(snapshot);
          record(performance.now() - started);
          return decision;
        },
      };
    },
  };
}

/** A request like no other in what policies look at: urgency, deadline, tenant. */
function submit(engine: Engine, name: string, random: () => number, answered: () => void): void {
  engine.submit({
    served: engine.find(name),
    id: "",
    inputs: [input(1, 1)],
    priority: 1 + Math.floor(random() * 8),
    timeoutMicros: random() < 0.5 ? 0 : Math.ceil(HOUR_MICROS * (1 + random())),
    tenant: `tenant ${Math.floor(random() * TENANTS)}`,
    respond: answered,
    fail: () => {}, // when the engine is closed
  });
}
