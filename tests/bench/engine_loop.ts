/**
 * Models through the engine and the CPU device, without HTTP.
 *
 * @module
 */
import { openCpuDevice } from "../../models/cpu/mod.ts";
import { FileRepository } from "../../models/repository.ts";
import type { Tensor } from "../../models/tensor.ts";
import { POLICIES } from "../../policies/mod.ts";
import type { Engine } from "../../server/engine/api.ts";
import { openEngine } from "../../server/engine/engine.ts";

/** A model of the repository, and the request to send it. */
export interface LoopedModel {
  /** Its name in the repository. */
  readonly name: string;
  /** One complete request. */
  readonly inputs: readonly Tensor[];
}

/** How the loops run. */
export interface EngineLoopOptions {
  /** Threads of ONNX Runtime's pool. */
  readonly threads: number;
  /** Iterations that may run at once. */
  readonly lanes: number;
  /** Name of the policy; the default one where none is named. */
  readonly policy?: string;
  /** How long, the warm-up included. */
  readonly seconds: number;
}

const IN_FLIGHT_PER_LANE = 2;
const WARM_UP_SHARE = 0.2;

/**
 * Opens an engine over a repository, loads the models, keeps two requests per lane in flight,
 * shared evenly among the models, and closes it all. A fifth of the time goes before the count.
 *
 * @returns Answers per second, by model in the order given.
 */
export async function engineRates(
  repository: string,
  models: readonly LoopedModel[],
  { threads, lanes, policy, seconds }: EngineLoopOptions,
): Promise<number[]> {
  await using device = await openCpuDevice({ threads });
  await using engine = await openEngine({
    device,
    repository: new FileRepository(repository),
    lanes,
    policy: policy === undefined ? undefined : POLICIES.get(policy),
    loadAll: false,
  });
  for (const { name } of models) await engine.load(name);

  const perModel = lanes * IN_FLIGHT_PER_LANE / models.length;
  await keepBusy(engine, models, perModel, seconds * WARM_UP_SHARE);
  return await keepBusy(engine, models, perModel, seconds * (1 - WARM_UP_SHARE));
}

/**
 * Keeps so many requests of each model in flight.
 *
 * @returns Answers per second, by model in the order given.
 */
export async function keepBusy(
  engine: Engine,
  models: readonly LoopedModel[],
  perModel: number,
  seconds: number,
): Promise<number[]> {
  const answers = models.map(() => 0);
  const started = performance.now();
  const loop = async (index: number) => {
    for (; performance.now() < started + seconds * 1000; answers[index]++) {
      await answer(engine, models[index]);
    }
  };
  await Promise.all(
    models.flatMap((_, index) => Array.from({ length: perModel }, () => loop(index))),
  );
  const elapsed = (performance.now() - started) / 1000;
  return answers.map((count) => count / elapsed);
}

function answer(engine: Engine, { name, inputs }: LoopedModel): Promise<void> {
  return new Promise((resolve, fail) =>
    engine.submit({
      served: engine.find(name),
      id: "",
      inputs,
      priority: 0,
      timeoutMicros: 0,
      respond: () => resolve(),
      fail,
    })
  );
}
