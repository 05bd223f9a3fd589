/**
 * An engine on the simulated device and a virtual clock, with models made up on the spot.
 *
 * @module
 */
import { VirtualClock } from "../../../models/clock.ts";
import type { Model, ModelOverride, Repository, SequenceRule } from "../../../models/model.ts";
import { SluiceError } from "../../../models/errors.ts";
import {
  openSimulatedDevice,
  type SimulatedDevice,
  type SimulatedOptions,
} from "../../../models/simulated/device.ts";
import type { Tensor } from "../../../models/tensor.ts";
import type { Engine, Timing } from "../../../server/engine/api.ts";
import { type EngineOptions, openEngine } from "../../../server/engine/engine.ts";
import { modelWith } from "../../fixtures/model.ts";

/** A model of one FP32 input and one like output, `[-1, 4]`, that may be joined. */
export function testModel(name: string, changes: Partial<Model> = {}): Model {
  const spec = (tensor: string) => ({ name: tensor, datatype: "FP32" as const, shape: [-1, 4] });
  return modelWith(name, { inputs: [spec("x")], outputs: [spec("y")] }, {
    file: { path: `/models/${name}.onnx` },
    fingerprint: `${name}-1`,
    ...changes,
  });
}

/** The same, with a state of two numbers from one iteration of a sequence to the next. */
export function sequenceModel(name: string, changes: Partial<SequenceRule> = {}): Model {
  const spec = (tensor: string, size: number) => (
    { name: tensor, datatype: "FP32" as const, shape: [-1, size] }
  );
  const signature = { inputs: [spec("x", 4), spec("s", 2)], outputs: [spec("y", 4), spec("t", 2)] };
  const { batching, ...model } = modelWith(name, signature);
  return {
    ...model,
    batching,
    sequence: {
      carry: [{ input: "s", output: "t", datatype: "FP32", shape: [1, 2], batchAxis: 0 }],
      batching: { ...batching, batchedInputs: [true, false] },
      maxIdleMicros: 1e6,
      required: false,
      checkpoint: name,
      ...changes,
    },
  };
}

/** A repository in memory, changeable. */
export class MemoryRepository implements Repository {
  constructor(readonly models: Map<string, Model[]>) {}
  list(): Promise<string[]> {
    return Promise.resolve([...this.models.keys()].sort());
  }
  read(name: string, _override?: ModelOverride): Promise<Model[]> {
    const models = this.models.get(name);
    if (models === undefined) {
      return Promise.reject(new SluiceError("not_found", `no model '${name}'`));
    }
    return Promise.resolve(models);
  }
}

/** What became of a request. */
export interface Answer {
  readonly outputs?: readonly Tensor[];
  readonly timing?: Timing;
  readonly error?: SluiceError;
  readonly atMicros: number;
}

/** An engine in virtual time and what is around it. */
export interface VirtualEngine extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly device: SimulatedDevice;
  readonly repository: MemoryRepository;
  readonly engine: Engine & AsyncDisposable;
  readonly reports: string[];
  /** Sends a request; the answer appears in the returned array, once. */
  send(model: string, options?: SendOptions): Answer[];
}

/** What a test sends. */
export interface SendOptions {
  readonly rows?: number;
  readonly value?: number;
  readonly priority?: number;
  readonly timeoutMicros?: number;
  readonly signal?: AbortSignal;
  readonly inputs?: readonly Tensor[];
  readonly onAnswer?: () => void;
}

/** The tensor that {@linkcode testModel} takes, every element `value`. */
export function input(rows: number, value: number): Tensor {
  const data = new Uint8Array(new Float32Array(rows * 4).fill(value).buffer);
  return { name: "x", datatype: "FP32", shape: [rows, 4], data };
}

/** Opens an engine on a virtual clock. */
export async function openVirtualEngine(
  models: readonly Model[],
  device: Omit<SimulatedOptions, "clock"> = {},
  options: Partial<EngineOptions> = {},
): Promise<VirtualEngine> {
  const clock = new VirtualClock();
  const simulated = openSimulatedDevice({ clock, depth: 1, ...device });
  const byName = new Map<string, Model[]>();
  for (const model of models) byName.set(model.name, [...byName.get(model.name) ?? [], model]);
  const repository = new MemoryRepository(byName);
  const reports: string[] = [];
  const engine = await openEngine({
    device: simulated,
    repository,
    clock,
    lanes: 1,
    report: (message) => reports.push(message),
    ...options,
  });
  return {
    clock,
    device: simulated,
    repository,
    engine,
    reports,
    send: (model, sent = {}) => send(engine, clock, model, sent),
    async [Symbol.asyncDispose]() {
      const closing = engine[Symbol.asyncDispose]();
      clock.advanceTo(clock.nowMicros() + 60e6);
      await closing;
      await simulated[Symbol.asyncDispose]();
    },
  };
}

function send(engine: Engine, clock: VirtualClock, model: string, options: SendOptions): Answer[] {
  const answers: Answer[] = [];
  const { rows = 1, value = 1, priority = 0, timeoutMicros = 0, signal, inputs } = options;
  const answer = (given: Omit<Answer, "atMicros">) => {
    answers.push({ ...given, atMicros: clock.nowMicros() });
    options.onAnswer?.();
  };
  engine.submit({
    served: engine.find(model),
    id: "",
    inputs: inputs ?? [input(rows, value)],
    priority,
    timeoutMicros,
    signal,
    respond: (outputs, timing) =>
      answer({ outputs: outputs.map((o) => ({ ...o, data: o.data.slice() })), timing }),
    fail: (error) => answer({ error }),
  });
  return answers;
}
