import assert from "node:assert/strict";
import fc from "fast-check";
import { openCpuDevice } from "../../../models/cpu/mod.ts";
import type { Tensor } from "../../../models/tensor.ts";
import { relativeDifference } from "../../../models/tensor_difference.ts";
import { modelOf, outputsOf, stepOf } from "../../conformance/device_models.ts";
import { answers, prepared } from "./reference.ts";
import { randomModels } from "./random_graphs.ts";

async function onnxRuntimeAnswers(
  bytes: Uint8Array<ArrayBuffer>,
  inputs: readonly Tensor[],
): Promise<Tensor[]> {
  await using device = openCpuDevice({ threads: 1 });
  await using staged = await device.stage(modelOf("model", bytes));
  await using executable = await staged.upload();
  return await outputsOf(executable, device.openLane(0), stepOf(inputs));
}

Deno.test("planIteration() plans random graphs so that they answer as ONNX Runtime does", async () => {
  await fc.assert(
    fc.asyncProperty(randomModels(), async ({ bytes, inputs }) => {
      const expected = await onnxRuntimeAnswers(bytes, inputs);
      const given = answers(await prepared(bytes), inputs);
      assert.equal(given.length, expected.length);
      for (const [i, { name, datatype, shape, data }] of given.entries()) {
        assert.deepEqual({ name, shape }, { name: expected[i].name, shape: expected[i].shape });
        const difference = relativeDifference(datatype, data, expected[i].data);
        assert.ok(difference <= 1e-5, `${name} differs by ${difference}`);
      }
    }),
    { numRuns: 60, seed: 5 },
  );
});
