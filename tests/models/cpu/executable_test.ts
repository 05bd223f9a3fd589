import assert from "node:assert/strict";
import { openCpuDevice } from "../../../models/cpu/mod.ts";
import type { Device, Executable, Lane } from "../../../models/device.ts";
import type { Model } from "../../../models/model.ts";
import { type Datatype, DATATYPE_BYTES, type Tensor } from "../../../models/tensor.ts";
import { seededRandom } from "../../../models/random.ts";
import { randomTensor } from "../../../models/random_tensor.ts";
import {
  addModel,
  branchModel,
  constantModel,
  fp32,
  gatherModel,
  identityModel,
  int64,
  mlpModel,
  onnxModel,
  optionalInputModel,
  scalarInputModel,
  scaleModel,
  seededValues,
  sequenceOutputModel,
  slowModel,
} from "../../fixtures/onnx.ts";
import { hasCode } from "../../conformance/device.ts";
import {
  fp32Tensor,
  fp32Values,
  iterate,
  modelOf,
  outputsOf,
  stepOf,
} from "../../conformance/device_models.ts";

interface Loaded {
  readonly device: Device;
  readonly executable: Executable;
  readonly lane: Lane;
}

/** Runs a check with a model loaded on a device of its own. */
async function withModel(
  bytes: Uint8Array<ArrayBuffer>,
  check: (loaded: Loaded) => Promise<void>,
  settings: Partial<Model> = {},
): Promise<void> {
  await using device = openCpuDevice({ threads: 2 });
  await using staged = await device.stage(modelOf("model", bytes, settings));
  await using executable = await staged.upload();
  using lane = device.openLane(0);
  await check({ device, executable, lane });
}

for (const datatype of Object.keys(DATATYPE_BYTES) as Datatype[]) {
  Deno.test(`start() carries ${datatype} both ways, scalars and empty tensors too`, async () => {
    for (const shape of [[2, 3], [], [0, 3], [1]]) {
      const dims = shape.length === 2 ? ["n", 3] : shape;
      await withModel(identityModel(datatype, dims), async ({ executable, lane }) => {
        const x = randomTensor({ name: "x", datatype, shape }, seededRandom(1));
        // The second run is bound to the shapes that the first has shown, the third runs in place.
        for (const expected of [Infinity, Infinity, 1]) {
          const [y] = await outputsOf(executable, lane, stepOf([x]), expected);
          assert.deepEqual(y, { ...x, name: "y" });
        }
      });
    }
  });
}

Deno.test("start() carries any bytes in BYTES elements, empty ones, NUL and invalid UTF-8", async () => {
  const elements = [[], [0], [0x61, 0, 0x62], [0xff, 0xfe, 0x80], [0xc3], Array(300).fill(0x7a)];
  const data = bytesTensor("x", [elements.length], elements);
  await withModel(identityModel("BYTES", ["n"]), async ({ executable, lane }) => {
    for (let i = 0; i < 3; i++) {
      const [y] = await outputsOf(executable, lane, stepOf([data]));
      assert.deepEqual(y, { ...data, name: "y" });
    }
    // Shorter elements in the same binding leave nothing of the longer ones behind.
    const shorter = bytesTensor("x", [elements.length], elements.map((e) => e.slice(0, 1)));
    const [y] = await outputsOf(executable, lane, stepOf([shorter]));
    assert.deepEqual(y.data, shorter.data);
  });
});

Deno.test("start() joins pieces of BYTES, and refuses too few, too many and broken elements", async () => {
  await withModel(identityModel("BYTES", ["n"]), async ({ executable, lane }) => {
    const whole = bytesTensor("x", [2], [[1], [2, 3]]);
    const step = stepOf([whole]);
    const pieces = [whole.data.subarray(0, 5), whole.data.subarray(5)];
    const [y] = await outputsOf(executable, lane, { ...step, inputs: [pieces] });
    assert.deepEqual(y.data, whole.data);
    const wrong = [
      whole.data.subarray(0, 5),
      bytesTensor("x", [3], [[1], [2], [3]]).data,
      whole.data.subarray(0, 10),
      new Uint8Array([255, 255, 255, 255, 0]),
    ];
    for (const data of wrong) {
      const result = await iterate(executable, lane, { ...step, inputs: [[data]] });
      assert.ok(hasCode("invalid_argument")(result.error), String(result.error));
      result.release();
    }
    assert.deepEqual((await outputsOf(executable, lane, step))[0].data, whole.data);
  });
});

Deno.test("start() follows output shapes that depend on the data", async () => {
  const bytes = onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: ["n"] }],
    outputs: [
      { name: "positions", datatype: "INT64", shape: [1, "found"] },
      { name: "same", datatype: "FP32", shape: ["n"] },
    ],
    nodes: [
      { op: "NonZero", inputs: ["x"], outputs: ["positions"] },
      { op: "Neg", inputs: ["x"], outputs: ["same"] },
    ],
  });
  await withModel(bytes, async ({ executable, lane }) => {
    const cases = [[1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 9], [0, 0, 5, 9]];
    for (const expected of [Infinity, 1]) {
      for (const values of cases) {
        const step = stepOf([fp32Tensor("x", [4], values)]);
        const [positions, same] = await outputsOf(executable, lane, step, expected);
        const found = values.flatMap((value, i) => value === 0 ? [] : [i]);
        assert.deepEqual(positions.shape, [1, found.length]);
        assert.deepEqual(positions.data, int64(found));
        assert.deepEqual(fp32Values(same), values.map((value) => -value));
      }
    }
  });
});

Deno.test("start() reports a model's failure and runs on", async () => {
  await withModel(gatherModel(), async ({ executable, lane }) => {
    const index = (value: number): Tensor => ({
      name: "index",
      datatype: "INT64",
      shape: [1],
      data: int64([value]),
    });
    for (const expected of [Infinity, 1, Infinity, 1]) {
      const [value] = await outputsOf(executable, lane, stepOf([index(7)]), expected);
      assert.deepEqual(fp32Values(value), [70]);
      const result = await iterate(executable, lane, stepOf([index(99)]), expected);
      assert.ok(hasCode("execution_failed")(result.error));
      assert.match(String(result.error), /"model" version 1 failed on this input: .*idx=99/);
      assert.deepEqual(result.outputs, []);
      result.release();
    }
  });
});

Deno.test("start() reports inputs that the model does not have, or of another rank", async () => {
  await withModel(addModel(), async ({ executable, lane }) => {
    const a = fp32Tensor("a", [1, 4], [1, 2, 3, 4]);
    for (const inputs of [[a], [a, { ...a, name: "c" }], [a, { ...a, name: "b", shape: [4] }]]) {
      const result = await iterate(executable, lane, stepOf(inputs));
      assert.ok(hasCode("execution_failed")(result.error), String(result.error));
      result.release();
    }
    const [sum] = await outputsOf(executable, lane, stepOf([a, { ...a, name: "b" }]));
    assert.deepEqual(fp32Values(sum), [2, 4, 6, 8]);
  });
});

Deno.test("start() uses a model's default where an optional input is left out", async () => {
  await withModel(optionalInputModel(), async ({ executable, lane }) => {
    const x = fp32Tensor("x", [1, 4], [1, 2, 3, 4]);
    for (let i = 0; i < 2; i++) {
      const [byDefault] = await outputsOf(executable, lane, stepOf([x]));
      assert.deepEqual(fp32Values(byDefault), [2, 4, 6, 8]);
      const [given] = await outputsOf(executable, lane, stepOf([x, fp32Tensor("k", [1], [10])]));
      assert.deepEqual(fp32Values(given), [10, 20, 30, 40]);
    }
  });
});

Deno.test("start() runs models without inputs, with scalars, with branches", async () => {
  await withModel(constantModel(), async ({ executable, lane }) => {
    for (let i = 0; i < 2; i++) {
      const [y] = await outputsOf(executable, lane, stepOf([]));
      assert.deepEqual(fp32Values(y), [1, 2, 3]);
    }
  });
  await withModel(scalarInputModel(), async ({ executable, lane }) => {
    const x = fp32Tensor("x", [1, 4], [1, 2, 3, 4]);
    const [y] = await outputsOf(executable, lane, stepOf([x, fp32Tensor("rate", [], [3])]));
    assert.deepEqual(fp32Values(y), [3, 6, 9, 12]);
  });
  await withModel(branchModel(), async ({ executable, lane }) => {
    for (const sign of [1, -1, 1]) {
      const [y] = await outputsOf(
        executable,
        lane,
        stepOf([fp32Tensor("x", [4], [sign, 0, 0, 0])]),
      );
      assert.deepEqual(fp32Values(y), [sign, sign, sign, sign]);
    }
  });
});

Deno.test("start() serves the tensors of a model that also gives a sequence", async () => {
  await withModel(sequenceOutputModel(), async ({ executable, lane }) => {
    const x = fp32Tensor("x", [1, 4], [1, 2, 3, 4]);
    const outputs = await outputsOf(executable, lane, stepOf([x]));
    assert.deepEqual(outputs, [{ ...x, name: "y" }]);
  });
});

Deno.test("start() copies where an output is an input or a constant itself", async () => {
  const bytes = onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: ["n"] }],
    outputs: [
      { name: "x", datatype: "FP32", shape: ["n"] },
      { name: "c", datatype: "FP32", shape: [2] },
      { name: "y", datatype: "FP32", shape: ["n"] },
    ],
    initializers: [{ name: "c", datatype: "FP32", shape: [2], raw: fp32([5, 6]) }],
    nodes: [{ op: "Neg", inputs: ["x"], outputs: ["y"] }],
  });
  await withModel(bytes, async ({ executable, lane }) => {
    for (const values of [[1, 2, 3], [4, 5, 6], [7, 8, 9]]) {
      const outputs = await outputsOf(executable, lane, stepOf([fp32Tensor("x", [3], values)]));
      assert.deepEqual(outputs.map(fp32Values), [values, [5, 6], values.map((value) => -value)]);
    }
  });
});

Deno.test("start() takes names that are arbitrary text", async () => {
  const [input, output] = ["StatefulPartitionedCall/x:0", '{"ö": [1, "→"]}'];
  const bytes = onnxModel({
    inputs: [{ name: input, datatype: "FP32", shape: [1] }],
    outputs: [{ name: output, datatype: "FP32", shape: [1] }],
    nodes: [{ op: "Neg", inputs: [input], outputs: [output] }],
  });
  await withModel(bytes, async ({ executable, lane }) => {
    const outputs = await outputsOf(executable, lane, stepOf([fp32Tensor(input, [1], [2])]));
    assert.deepEqual(outputs, [fp32Tensor(output, [1], [-2])]);
  });
});

Deno.test("start() runs in place what is short, and calls back later otherwise", async () => {
  const endsOf = async (model: Uint8Array<ArrayBuffer>, columns: number) => {
    const ends: string[] = [];
    await withModel(model, async ({ executable, lane }) => {
      const step = stepOf([fp32Tensor("x", [1, columns], Array(columns).fill(0.1))]);
      await new Promise<void>((resolve) => {
        executable.start(lane, step, Infinity, (result) => {
          ends.push("done");
          result.release();
          resolve();
        });
        ends.push("started");
      });
    });
    return ends;
  };
  assert.deepEqual(await endsOf(scaleModel(), 4), ["done", "started"], "as its trial has shown");
  assert.deepEqual(await endsOf(slowModel(200, 256), 256), ["started", "done"]);
});

Deno.test("start() never runs much input in place, however short it is expected to be", async () => {
  await withModel(identityModel(), async ({ executable, lane }) => {
    const rows = 100_000;
    const step = stepOf([fp32Tensor("x", [rows, 4], Array(rows * 4).fill(1))]);
    const { promise, resolve } = Promise.withResolvers<void>();
    let ended = false;
    executable.start(lane, step, 1, (result) => {
      ended = true;
      result.release();
      resolve();
    });
    assert.equal(ended, false);
    await promise;
  });
});

Deno.test("start() queues what comes while its lane is busy", async () => {
  await withModel(slowModel(5, 64), async ({ executable, lane }) => {
    const order: number[] = [];
    const ends = Array.from({ length: 4 }, (_, i) => {
      const step = stepOf([fp32Tensor("x", [i + 1, 64], Array((i + 1) * 64).fill(i))]);
      return new Promise<void>((resolve) =>
        executable.start(lane, step, i % 2 === 0 ? Infinity : 1, (result) => {
          assert.deepEqual(result.outputs[0].shape, [i + 1, 64]);
          order.push(i);
          result.release();
          resolve();
        })
      );
    });
    await Promise.all(ends);
    assert.deepEqual(order, [0, 1, 2, 3]);
  });
});

Deno.test("start() leaves the event loop free meanwhile", async () => {
  await withModel(slowModel(200, 256), async ({ executable, lane }) => {
    const rows = 256; // long enough for a busy machine to come round to this thread
    const step = stepOf([fp32Tensor("x", [rows, 256], Array(rows * 256).fill(0.1))], rows);
    let running = true, turns = 0;
    const turn = () => {
      turns++;
      if (running) setImmediate(turn);
    };
    setImmediate(turn);
    (await iterate(executable, lane, step)).release();
    running = false;
    assert.ok(turns > 1, `${turns} turns`);
  });
});

Deno.test("start() keeps answers apart when lanes, batch sizes and ways to run mix", async () => {
  await withModel(mlpModel(1, [8, 32, 4]), async ({ device, executable, lane }) => {
    const steps = Array.from({ length: 12 }, (_, i) => {
      const rows = 1 + i % 4;
      return stepOf([fp32Tensor("x", [rows, 8], seededValues(i, rows * 8))], rows);
    });
    const alone: Tensor[][] = [];
    for (const step of steps) alone.push(await outputsOf(executable, lane, step));
    const lanes = [lane, device.openLane(0), device.openLane(0)];
    await Promise.all(Array.from({ length: 300 }, async (_, i) => {
      const which = i * 7 % steps.length;
      const expected = i % 3 === 0 ? 1 : Infinity;
      const outputs = await outputsOf(executable, lanes[i % 3], steps[which], expected);
      assert.deepEqual(outputs, alone[which]);
    }));
  });
});

Deno.test("start() works a long queue off without growing the stack", async () => {
  await withModel(scaleModel(), async ({ executable, lane }) => {
    const step = stepOf([fp32Tensor("x", [1, 4], [1, 2, 3, 4])]);
    // The first does not end in place, so the others queue up behind it.
    const first = iterate(executable, lane, step, Infinity);
    let ended = 0;
    const rest = Array.from(
      { length: 20_000 },
      () =>
        new Promise<void>((resolve) =>
          executable.start(lane, step, 1, (result) => {
            ended++;
            result.release();
            resolve();
          })
        ),
    );
    (await first).release();
    await Promise.all(rest);
    assert.equal(ended, 20_000);
  });
});

Deno.test("start() lets another iteration start from done", async () => {
  await withModel(scaleModel(), async ({ executable, lane }) => {
    const values: number[] = [];
    await new Promise<void>((resolve) => {
      const next = (value: number) => {
        const step = stepOf([fp32Tensor("x", [1, 4], [value, 0, 0, 0])]);
        executable.start(lane, step, 1, (result) => {
          values.push(fp32Values(result.outputs[0])[0]);
          result.release();
          if (values.length === 20) resolve();
          else next(value + 1);
        });
      };
      next(0);
    });
    assert.deepEqual(values, Array.from({ length: 20 }, (_, i) => i * 2));
  });
});

Deno.test("start() keeps no more host memory than its limits for many signatures", async () => {
  await withModel(identityModel("FP32", ["n"]), async ({ device, executable, lane }) => {
    const hostBytes = () => device.memory().find(({ class: kind }) => kind === "host")?.bytes ?? 0;
    const filled = (n: number, value: number): Tensor => ({
      name: "x",
      datatype: "FP32",
      shape: [n],
      data: new Uint8Array(new Float32Array(n).fill(value).buffer),
    });
    for (let i = 0; i < 40; i++) {
      const n = (1 << 18) + i;
      const [y] = await outputsOf(executable, lane, stepOf([filled(n, i)]));
      assert.deepEqual(y.data, filled(n, i).data);
      // 32 MiB, and the input and output of the one in use.
      assert.ok(hostBytes() <= (34 << 20) + 1000, `${hostBytes()} bytes after ${i + 1}`);
    }
    for (let n = 1; n <= 200; n++) {
      await outputsOf(executable, lane, stepOf([filled(n, n)]));
    }
    assert.ok(hostBytes() < 64 * 2 * 4 * 256, `${hostBytes()} bytes`);
  });
});

Deno.test("start() keeps a result that outlives its model readable", async () => {
  await using device = openCpuDevice({ threads: 2 });
  const staged = await device.stage(modelOf("mlp", mlpModel(1, [4, 8, 2])));
  const executable = await staged.upload();
  const step = stepOf([fp32Tensor("x", [1, 4], [1, 2, 3, 4])]);
  const result = await iterate(executable, device.openLane(0), step);
  const before = fp32Values(result.outputs[0]);
  await executable[Symbol.asyncDispose]();
  await staged[Symbol.asyncDispose]();
  await device.trim();
  assert.deepEqual(fp32Values(result.outputs[0]), before);
  result.release();
  assert.deepEqual(device.memory().map((use) => use.class), ["overhead"]);
});

function bytesTensor(
  name: string,
  shape: readonly number[],
  elements: readonly (readonly number[])[],
): Tensor {
  const data = elements.flatMap((
    element,
  ) => [element.length & 255, element.length >> 8, 0, 0, ...element]);
  return { name, datatype: "BYTES", shape, data: Uint8Array.from(data) };
}
