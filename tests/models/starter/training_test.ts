import assert from "node:assert/strict";
import { openCpuDevice } from "../../../models/cpu/mod.ts";
import trainings from "../../../models/starter/expected_training.json" with { type: "json" };
import expected from "../../../models/starter/expected.json" with { type: "json" };
import { type Starter, starterSource } from "../../../models/starter/starters.ts";
import { DIGITS_TRAINING, TRAINED_DIGITS } from "../../../models/starter/training.ts";
import type { Tensor } from "../../../models/tensor.ts";
import { readNumbers } from "../../../models/tensor_values.ts";
import { fp32Tensor, modelOf, outputsOf, stepOf } from "../../conformance/device_models.ts";

type Run = (inputs: readonly Tensor[]) => Promise<Map<string, Tensor>>;

/** Runs a starter on plain requests, alone on a device. */
async function withStarter(starter: Starter, use: (run: Run) => Promise<void>): Promise<void> {
  const bytes = await Deno.readFile(new URL(starterSource(starter)));
  await using device = openCpuDevice({ threads: 1 });
  await using staged = await device.stage(modelOf(starter.name, bytes));
  await using executable = await staged.upload();
  const lane = device.openLane(0);
  await use(async (inputs) => {
    const outputs = await outputsOf(executable, lane, stepOf(inputs));
    return new Map(outputs.map((output) => [output.name, output]));
  });
}

for (const { learningRate, losses, accuracy, norms } of trainings.runs) {
  Deno.test(`digits_training.onnx learns as numpy does at a rate of ${learningRate}`, async () => {
    await withStarter(DIGITS_TRAINING, async (run) => {
      let inputs = [fp32Tensor("learning_rate", [], Float32Array.of(learningRate))];
      let outputs = new Map<string, Tensor>();
      const [rate] = inputs;
      for (const [step, loss] of losses.entries()) {
        outputs = await run(inputs);
        assertClose(floats(outputs, "loss")[0], loss, `loss of step ${step}`);
        const carried = Object.entries(DIGITS_TRAINING.carry!);
        inputs = [rate, ...carried.map(([from, name]) => ({ ...outputs.get(from)!, name }))];
      }
      assertClose(floats(outputs, "accuracy")[0], accuracy, "accuracy");
      for (const [name, norm] of Object.entries(norms)) {
        assertClose(Math.hypot(...floats(outputs, `next.${name}`)), norm, `norm of ${name}`);
      }
      const { datatype, data } = outputs.get("next.step")!;
      assert.equal(datatype, "INT64");
      assert.equal(new BigInt64Array(data.slice().buffer)[0], BigInt(losses.length));
    });
  });
}

Deno.test("expected_training.json shows trainings that get somewhere", () => {
  for (const { losses, accuracy } of trainings.runs) {
    assert.ok(losses.at(-1)! < losses[0] / 4);
    assert.ok(accuracy > 0.9);
  }
});

Deno.test("digits_trained.onnx answers each row, and says that it was not trained", async () => {
  await withStarter(TRAINED_DIGITS, async (run) => {
    const rows = expected.digits_dense.samples.map(({ values }) => values);
    const pixels = fp32Tensor("pixels", [rows.length, 64], Float32Array.from(rows.flat()));
    const outputs = await run([pixels]);
    assert.deepEqual(outputs.get("logits")!.shape, [rows.length, 10]);
    const steps = outputs.get("trained_steps")!;
    assert.deepEqual(
      { ...steps, data: undefined },
      { name: "trained_steps", datatype: "INT64", shape: [rows.length], data: undefined },
    );
    assert.ok(steps.data.every((byte) => byte === 0));
  });
});

function floats(outputs: ReadonlyMap<string, Tensor>, name: string): Float32Array {
  return Float32Array.from(readNumbers("FP32", outputs.get(name)!.data));
}

function assertClose(actual: number, wanted: number, what: string): void {
  const difference = Math.abs(actual - wanted) / Math.abs(wanted);
  assert.ok(difference <= 1e-4, `${what}: ${actual}, not ${wanted}`);
}
