/**
 * An engine without queues, devices or files, for tests of the protocols: it answers at once with
 * what the test gives, by default with the inputs under the outputs' names.
 *
 * @module
 */
import { build, type Histogram } from "hdr-histogram-js";
import { SluiceError } from "../../../models/errors.ts";
import type { Model, ModelOverride } from "../../../models/model.ts";
import type { Tensor, TensorSpec } from "../../../models/tensor.ts";
import type {
  Duration,
  Engine,
  IndexRow,
  InferenceRequest,
  ModelStatistics,
  OpenSequence,
  SequenceRequest,
  ServedModel,
  Timing,
} from "../../../server/engine/api.ts";
import { modelWith } from "../../fixtures/model.ts";

/** A model for the fake engine; everything has a default. */
export function fakeModel(
  name: string,
  inputs: readonly TensorSpec[],
  outputs: readonly TensorSpec[],
  rest: Partial<Model> = {},
): Model {
  return modelWith(name, { inputs, outputs }, {
    batching: {
      maxRows: 1,
      join: false,
      reason: "A fake",
      batchedInputs: inputs.map(() => false),
      maxDelayMicros: 0,
      probe: false,
    },
    config: { name, platform: "", backend: "onnxruntime", max_batch_size: rest.maxBatchSize ?? 0 },
    ...rest,
  });
}

/** What the fake engine gives as every answer's timing. */
export const FAKE_TIMING: Timing = {
  queueMicros: 12,
  computeMicros: 40,
  batchRows: 8,
  lane: 0,
  because: "oldest first",
};

/** How a fake engine behaves; what is left out has a default. */
export interface FakeBehaviour {
  /** Answers a request; by default its inputs under the names of the outputs. */
  answer?(request: InferenceRequest): void;
  /** Opens a sequence; by default none can be. */
  open?(request: SequenceRequest): OpenSequence | undefined;
  /** Rows of the index beside those of the models. */
  readonly rows?: readonly IndexRow[];
  readonly notReadyReason?: string;
  readonly brokenModels?: readonly string[];
  readonly live?: boolean;
  /** Called for every load. */
  load?(name: string, override: ModelOverride | undefined): Promise<void>;
}

/** A fake engine that keeps what it was given. */
export interface FakeEngine extends Engine {
  readonly submitted: InferenceRequest[];
  readonly loads: { readonly name: string; readonly override: ModelOverride | undefined }[];
  readonly unloads: string[];
}

/** Makes a fake engine over these models. */
export function fakeEngine(models: readonly Model[], behaviour: FakeBehaviour = {}): FakeEngine {
  const served = models.map(fakeServed);
  const { answer = echo } = behaviour;
  let policy = "fifo";
  const engine: FakeEngine = {
    submitted: [],
    loads: [],
    unloads: [],
    deviceName: "fake",
    capacityBytes: 1_000_000,
    live: behaviour.live ?? true,
    notReadyReason: () => behaviour.notReadyReason,
    brokenModels: () => behaviour.brokenModels ?? [],
    find(name, version) {
      const found = served.findLast(({ model }) =>
        model.name === name && (version === undefined || String(model.version) === version)
      );
      if (found !== undefined) return found;
      const row = behaviour.rows?.find((row) => row.name === name);
      if (row !== undefined) throw new SluiceError("not_ready", `Model '${name}' is not ready`);
      const suffix = version === undefined ? "" : ` version ${version}`;
      throw new SluiceError(
        "not_found",
        `Request for unknown model: '${name}'${suffix} is not found`,
      );
    },
    versions: (name) => served.filter(({ model }) => model.name === name),
    served: () => served,
    index: () =>
      Promise.resolve([
        ...models.map(({ name, version }): IndexRow => ({
          name,
          version: String(version),
          state: "READY",
        })),
        ...behaviour.rows ?? [],
      ]),
    submit(request) {
      engine.submitted.push(request);
      answer(request);
    },
    openSequence(request) {
      if (behaviour.open !== undefined) return behaviour.open(request);
      request.fail(
        new SluiceError("queue_full", "No memory for another sequence, try again later"),
      );
      return undefined;
    },
    load(name, override) {
      engine.loads.push({ name, override });
      return behaviour.load?.(name, override) ?? Promise.resolve();
    },
    unload(name) {
      engine.unloads.push(name);
      return Promise.resolve();
    },
    policy: () => ({ name: policy, available: ["fair", "fifo"] }),
    setPolicy(name) {
      if (name !== "fair" && name !== "fifo") {
        throw new SluiceError("invalid_argument", `Policy '${name}' is not known`);
      }
      policy = name;
    },
    lanes: () => [{ id: 0, bytes: 1000, busyMicros: 2_500_000, iterations: 7, running: [] }],
    memory: () => [
      { class: "overhead", bytes: 5 },
      ...models.map(({ name }) => ({ model: name, class: "persistent" as const, bytes: 300 })),
    ],
    announceShutdown: () => {},
    drain: () => Promise.resolve(),
  };
  return engine;
}

/** Answers with the inputs, in order, under the names of the outputs. */
export function echo(request: InferenceRequest): void {
  const { outputs } = request.served.model.signature;
  request.respond(
    outputs.map(({ name }, i): Tensor => ({ ...request.inputs[i], name })),
    FAKE_TIMING,
  );
}

function fakeServed(model: Model): ServedModel {
  return {
    model,
    state: "READY",
    persistentBytes: 300,
    ephemeralBytes: 200,
    queuedRequests: 3,
    queuedBytes: 96,
    runningRequests: 1,
    openSequences: 2,
    stateBytes: 640,
    statistics: fakeStatistics(),
  };
}

/** Statistics after 3 requests in 2 iterations of 1 and 3 rows. */
function fakeStatistics(): ModelStatistics {
  const duration = (count: number, ns: number): Duration => ({ count, ns });
  const histogram = (...values: number[]): Histogram => {
    const made = build();
    for (const value of values) made.recordValue(value);
    return made;
  };
  const batch = (ns: number) => ({
    computeInput: duration(1, ns),
    computeInfer: duration(1, ns * 2),
    computeOutput: duration(1, ns * 3),
  });
  return {
    lastInferenceMillis: 1_700_000_000_000,
    inferenceCount: 4,
    executionCount: 2,
    success: duration(3, 3_000_000),
    fail: duration(1, 1000),
    failures: { REJECTED: 1, CANCELED: 0, BACKEND: 0, OTHER: 0 },
    queue: duration(3, 600_000),
    computeInput: duration(3, 3000),
    computeInfer: duration(3, 2_000_000),
    computeOutput: duration(3, 6000),
    batches: new Map([[3, batch(30)], [1, batch(10)]]),
    requestMicros: histogram(300, 700, 2000),
    queueMicros: histogram(100, 200, 300),
    computeMicros: histogram(150, 900),
    chargedMicros: 1050,
  };
}
