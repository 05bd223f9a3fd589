/**
 * Tries a model before it is registered: in an engine of its own, just as it will be served.
 *
 * @module
 */
import type { Device } from "../../models/device.ts";
import type { SluiceError } from "../../models/errors.ts";
import type { Model } from "../../models/model.ts";
import { zeroTensor } from "../../models/tensor.ts";
import type { ServedModel } from "../engine/api.ts";
import { openEngine } from "../engine/engine.ts";

/** What a trial found. */
export interface Trial {
  /** The model, with the rule for joining requests that a probe gave. */
  readonly model: Model;
  /** Bytes that it keeps while it is loaded. */
  readonly persistentBytes: number;
  /** Bytes of working memory of the iteration that was tried. */
  readonly ephemeralBytes: number;
  /** Why it did not run on zeros, which need not mean anything. */
  readonly warning?: string;
}

/**
 * Loads a model and runs it once: on its first sample, or on zeros of its shapes.
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
  const error = await new Promise<SluiceError | undefined>((resolve) =>
    engine.submit({
      served,
      id: "",
      inputs,
      priority: 0,
      timeoutMicros: 0,
      respond: () => resolve(undefined),
      fail: resolve,
    })
  );
  if (error !== undefined && sample !== undefined) throw error;
  return { ...figures(served), warning: error?.message };
}

function figures({ model, persistentBytes, ephemeralBytes }: ServedModel): Trial {
  return { model, persistentBytes, ephemeralBytes };
}
