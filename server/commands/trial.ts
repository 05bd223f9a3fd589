/**
 * Tries a model before it is registered: in an engine of its own, just as it will be served.
 *
 * @module
 */
import type { Device } from "../../models/device.ts";
import type { SluiceError } from "../../models/errors.ts";
import type { Model } from "../../models/model.ts";
import { type Tensor, zeroTensor } from "../../models/tensor.ts";
import type { Engine, ServedModel } from "../engine/api.ts";
import { openEngine } from "../engine/engine.ts";

/** What a trial found. */
export interface Trial {
  /** The model, with the rule for joining requests that a probe gave. */
  readonly model: Model;
  /** Bytes that it keeps while it is loaded. */
  readonly persistentBytes: number;
  /** Bytes of working memory of the iteration that was tried. */
  readonly ephemeralBytes: number;
  /** Bytes that one sequence keeps between its iterations; 0 for a model without any. */
  readonly stateBytes: number;
  /** Why it did not run on zeros, which need not mean anything. */
  readonly warning?: string;
}

/**
 * Loads a model and runs it once: on its first sample, or on zeros of its shapes. What runs in
 * sequences makes one of a single iteration.
 *
 * @throws {SluiceError} `invalid_argument` when it does not load, `execution_failed` when it does not
 * run on its own sample.
 */
export async function tryModel(model: Model, device: Device): Promise<Trial> {
  const repository = {
    list: () => Promise.resolve([model.name]),
    read: () => Promise.resolve([model]),
  };
  await using engine = await openEngine({ device, repository, loadAll: false, lanes: 1 });
  await engine.load(model.name);
  const served = engine.find(model.name);
  const [sample] = model.samples;
  const inputs = sample ??
    model.signature.inputs.filter((input) => !input.optional).map((input) => zeroTensor(input));
  const { error, stateBytes } = await runOnce(engine, served, inputs);
  if (error !== undefined && sample !== undefined) throw error;
  const { persistentBytes, ephemeralBytes } = served;
  return {
    model: served.model,
    persistentBytes,
    ephemeralBytes,
    stateBytes,
    warning: error?.message,
  };
}

/** What came of a run. */
interface Outcome {
  readonly error?: SluiceError;
  readonly stateBytes: number;
}

function runOnce(
  engine: Engine,
  served: ServedModel,
  inputs: readonly Tensor[],
): Promise<Outcome> {
  const carried = served.model.sequence?.carry.map(({ input }) => input);
  const request = { served, id: "", priority: 0, timeoutMicros: 0 };
  return new Promise((resolve) => {
    const fail = (error: SluiceError) => resolve({ error, stateBytes: served.stateBytes });
    const respond = () => resolve({ stateBytes: served.stateBytes });
    if (carried === undefined) {
      engine.submit({ ...request, inputs, respond, fail });
      return;
    }
    engine.openSequence({
      ...request,
      inputs: inputs.filter(({ name }) => !carried.includes(name)),
      iterations: 1,
      endless: false,
      advance() {
        respond();
        return "end";
      },
      fail,
    });
  });
}
