/** Models and steps for tests of the simulated device. */
import type { IterationResult, Signature, Step } from "../../../models/device.ts";
import type { Model } from "../../../models/model.ts";
import { byteLength, type TensorShape, type TensorSpec } from "../../../models/tensor.ts";
import { modelWith } from "../../fixtures/model.ts";

export function modelOf(
  name: string,
  inputs: readonly TensorSpec[],
  outputs: readonly TensorSpec[],
  batched = true,
): Model {
  const model = modelWith(name, { inputs, outputs });
  const maxRows = batched ? 32 : 1;
  const batchedInputs = inputs.map(() => batched);
  return { ...model, batching: { ...model.batching, maxRows, join: batched, batchedInputs } };
}

/** One FP32 input `x` and one FP32 output `y`, both [-1, width]. */
export function floatModel(name: string, width = 2): Model {
  const shape = [-1, width];
  return modelOf(name, [{ name: "x", datatype: "FP32", shape }], [
    { name: "y", datatype: "FP32", shape },
  ]);
}

export function signatureOf(inputs: readonly TensorShape[]): Signature {
  return { key: inputs.map((input) => input.shape.join("x")).join(","), inputs };
}

/** A step of so many rows of {@linkcode floatModel}, one piece per row. */
export function floatStep(rows: number, width = 2): Step {
  const pieces = Array.from(
    { length: rows },
    (_, row) => new Uint8Array(byteLength("FP32", [width])).fill(row + 1),
  );
  return {
    signature: signatureOf([{ name: "x", datatype: "FP32", shape: [rows, width] }]),
    rows,
    inputs: [pieces],
  };
}

/** Collects results in the order in which they come, with the time at which they came. */
export class Results {
  readonly all: { label: string; atMicros: number; result: IterationResult }[] = [];
  constructor(readonly clock: { nowMicros(): number }) {}
  done(label: string): (result: IterationResult) => void {
    return (result) => this.all.push({ label, atMicros: this.clock.nowMicros(), result });
  }
  get times(): [string, number][] {
    return this.all.map(({ label, atMicros }) => [label, atMicros]);
  }
  get micros(): number[] {
    return this.all.map(({ result }) => result.deviceMicros);
  }
}
