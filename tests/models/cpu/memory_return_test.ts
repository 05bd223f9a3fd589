import assert from "node:assert/strict";
import { openHeap } from "../../../ffi/libc/heap.ts";
import { openCpuDevice } from "../../../models/cpu/mod.ts";
import { heavyModel, mlpModel, slowModel } from "../../fixtures/onnx.ts";
import { iterate, modelOf, stepOf } from "../../conformance/device_models.ts";

Deno.test({
  name: "dispose() and trim() give everything back, cycle after cycle",
  ignore: openHeap()?.usedBytes() === undefined,
  async fn() {
    const weightBytes = 4 << 20;
    const models = [
      modelOf("heavy", heavyModel(weightBytes)),
      modelOf("mlp", mlpModel()),
      modelOf("slow", slowModel(2, 512)),
    ];
    using heap = openHeap();
    await using device = openCpuDevice({ threads: 2 });
    const lane = device.openLane(0);

    async function cycle(): Promise<number> {
      for (const model of models) {
        await using staged = await device.stage(model);
        await using executable = await staged.upload();
        const [{ name, datatype, shape: [, width] }] = model.signature.inputs;
        const data = new Uint8Array(width * 4);
        const result = await iterate(
          executable,
          lane,
          stepOf([{ name, datatype, shape: [1, width], data }]),
        );
        assert.equal(result.error, undefined);
        result.release();
        // This copy of the input would else count until it is collected.
        data.buffer.transfer(0);
      }
      await device.trim();
      return heap?.usedBytes() ?? 0;
    }

    const first = await cycle();
    let last = first;
    for (let i = 0; i < 20; i++) last = await cycle();
    // One lost copy of the weights per cycle would be 80 MiB.
    assert.ok(last - first < 2 * weightBytes, `${last - first} bytes more in use`);
    assert.deepEqual(device.memory().map((use) => use.class), ["overhead"]);
  },
});
