import assert from "node:assert/strict";
import { join } from "node:path";
import { openCpuDevice } from "../../../models/cpu/mod.ts";
import type { Device, StagedModel } from "../../../models/device.ts";
import { SluiceError } from "../../../models/errors.ts";
import type { Model } from "../../../models/model.ts";
import {
  branchModel,
  externalDataModel,
  heavyModel,
  identityModel,
  mlpModel,
  onnxModel,
  scaleModel,
  truncated,
} from "../../fixtures/onnx.ts";
import { withFolder } from "../../fixtures/with_folder.ts";
import { hasCode } from "../../conformance/device.ts";
import {
  fp32Tensor,
  fp32Values,
  iterate,
  modelOf,
  outputsOf,
  signatureFor,
  stepOf,
} from "../../conformance/device_models.ts";

/** A model in a file instead of in memory. */
async function modelInFile(
  folder: string,
  bytes: Uint8Array<ArrayBuffer>,
  name = "model.onnx",
): Promise<Model> {
  const path = join(folder, name);
  await Deno.writeFile(path, bytes);
  return { ...modelOf("model", bytes), file: { path } };
}

async function runOnce(device: Device, staged: StagedModel): Promise<number[]> {
  await using executable = await staged.upload();
  const step = stepOf([fp32Tensor("x", [1, 4], [1, 1, 1, 1])]);
  const [y] = await outputsOf(executable, device.openLane(0), step);
  return fp32Values(y);
}

Deno.test("stage() loads from a file and from bytes alike", async () => {
  await using device = openCpuDevice({ threads: 2 });
  await withFolder(async (folder) => {
    await using fromFile = await device.stage(await modelInFile(folder, scaleModel(3)));
    assert.deepEqual(await runOnce(device, fromFile), [3, 3, 3, 3]);
  });
  await using fromBytes = await device.stage(modelOf("bytes", scaleModel(4)));
  assert.deepEqual(await runOnce(device, fromBytes), [4, 4, 4, 4]);
});

Deno.test("stage() leaves uploaded bytes as they are, for the next load", async () => {
  await using device = openCpuDevice({ threads: 2 });
  const bytes = scaleModel(2);
  const copy = bytes.slice();
  for (let i = 0; i < 2; i++) {
    await using staged = await device.stage(modelOf("bytes", bytes));
    assert.deepEqual(await runOnce(device, staged), [2, 2, 2, 2]);
  }
  assert.deepEqual(bytes, copy);
});

Deno.test("stage() finds external data beside and below the model", async () => {
  await using device = openCpuDevice({ threads: 2 });
  await withFolder(async (folder) => {
    await Deno.mkdir(join(folder, "weights"));
    for (const location of ["k.bin", "weights/k.bin", "weights/../k.bin", "..k.bin"]) {
      const { model, data } = externalDataModel(location);
      await Deno.writeFile(join(folder, location), data);
      await using staged = await device.stage(await modelInFile(folder, model));
      assert.deepEqual(await runOnce(device, staged), [1, 2, 3, 4], location);
    }
  });
});

Deno.test("stage() refuses external data outside the model's folder", async () => {
  await using device = openCpuDevice({ threads: 2 });
  await withFolder(async (outside) => {
    const folder = join(outside, "model");
    await Deno.mkdir(folder);
    const { data } = externalDataModel();
    await Deno.writeFile(join(outside, "k.bin"), data);
    await Deno.symlink(join(outside, "k.bin"), join(folder, "link.bin"));
    await Deno.symlink(outside, join(folder, "up"));
    const locations = [
      "../k.bin",
      "../../k.bin",
      "up/k.bin",
      "link.bin",
      join(outside, "k.bin"),
      "/etc/passwd",
      "..",
      "",
    ];
    for (const location of locations) {
      const model = await modelInFile(folder, externalDataModel(location).model);
      await assert.rejects(device.stage(model), (error) => {
        assert.ok(hasCode("invalid_argument")(error), String(error));
        assert.match(
          String(error),
          /Model "model" version 1 keeps weights in ".*", which (is outside|leads outside|names no)/,
        );
        return true;
      });
    }
    const nested = await modelInFile(folder, branchModel({ location: "../k.bin" }));
    await assert.rejects(device.stage(nested), hasCode("invalid_argument"));
  });
});

Deno.test("stage() refuses external data that is missing, too short or uploaded without", async () => {
  await using device = openCpuDevice({ threads: 2 });
  await withFolder(async (folder) => {
    const { model, data } = externalDataModel("k.bin");
    const inFile = await modelInFile(folder, model);
    await assert.rejects(device.stage(inFile), /keeps weights in "k.bin", which is not there/);
    await Deno.writeFile(join(folder, "k.bin"), data.subarray(0, 7));
    await assert.rejects(device.stage(inFile), hasCode("invalid_argument"));
    await assert.rejects(device.stage(modelOf("model", model)), /uploaded as one file/);
  });
});

Deno.test("stage() says what is wrong with a file", async () => {
  await using device = openCpuDevice({ threads: 2 });
  const good = mlpModel(1, [4, 8, 2]);
  const wrongOperator = onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: [4] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [4] }],
    nodes: [{ op: "Levitate", inputs: ["x"], outputs: ["y"] }],
  });
  const cases: [Uint8Array<ArrayBuffer>, RegExp][] = [
    [truncated(good), /no ONNX file that can be read/],
    [new TextEncoder().encode("<html>not found</html>"), /it is text/],
    [new Uint8Array(0), /it is empty/],
    [wrongOperator, /cannot be loaded by ONNX Runtime: .*Levitate/],
  ];
  for (const [bytes, reason] of cases) {
    const model = { ...modelOf("model", good), file: { bytes } };
    await assert.rejects(device.stage(model), (error) => {
      assert.ok(hasCode("invalid_argument")(error), String(error));
      assert.match(String(error), /Model "model" version 1/);
      assert.match(String(error), reason);
      return true;
    });
  }
  await assert.rejects(
    device.stage({ ...modelOf("model", good), file: { path: "/no/such/model.onnx" } }),
    hasCode("invalid_argument"),
  );
  assert.deepEqual(device.memory().map((use) => use.class), ["overhead"]);
});

Deno.test("stage() takes turns, and what fails or is cancelled holds nothing up", async () => {
  await using device = openCpuDevice({ threads: 2 });
  const abort = new AbortController();
  const good = modelOf("good", scaleModel(5));
  const staged = [
    device.stage(good),
    device.stage({ ...good, file: { bytes: new Uint8Array(3) } }),
    device.stage(good, abort.signal),
    device.stage(good),
  ];
  abort.abort();
  const results = await Promise.allSettled(staged);
  assert.deepEqual(
    results.map((result) => result.status),
    ["fulfilled", "rejected", "rejected", "fulfilled"],
  );
  assert.ok(results[2].status === "rejected" && hasCode("cancelled")(results[2].reason));
  for (const result of results) {
    if (result.status === "fulfilled") await result.value[Symbol.asyncDispose]();
  }
});

Deno.test("stage() measures weights, and no less than the file has", async () => {
  await using device = openCpuDevice({ threads: 2 });
  const bytes = heavyModel(8 << 20);
  await using staged = await device.stage(modelOf("heavy", bytes));
  assert.ok(staged.persistentBytes >= bytes.length);
  assert.ok(staged.persistentBytes < 3 * bytes.length, String(staged.persistentBytes));
});

Deno.test("stage() measures working memory on samples and on batches of them", async () => {
  await using device = openCpuDevice({ threads: 2 });
  const width = 50_000;
  const twoLayers = onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: ["n", width] }],
    outputs: [{ name: "y", datatype: "FP32", shape: ["n", width] }],
    nodes: [
      { op: "Sin", inputs: ["x"], outputs: ["a"] },
      { op: "Cos", inputs: ["a"], outputs: ["b"] },
      { op: "Mul", inputs: ["a", "b"], outputs: ["y"] },
    ],
  });
  const sample = [fp32Tensor("x", [1, width], Array(width).fill(1))];
  await using staged = await device.stage(modelOf("sin", twoLayers, { samples: [sample] }));
  const bytesFor = (rows: number) =>
    staged.ephemeralBytes(signatureFor([{ name: "x", datatype: "FP32", shape: [rows, width] }]));
  // At least what must exist at one time: one operand and one result of a layer.
  for (const rows of [1, 8, 100]) assert.ok(bytesFor(rows) >= 2 * rows * width * 4, `${rows} rows`);
  assert.ok(bytesFor(8) < 8 * 8 * width * 4);
  // The arena did take no more than it was said to.
  await using executable = await staged.upload();
  const step = stepOf([fp32Tensor("x", [100, width], Array(100 * width).fill(1))], 100);
  (await iterate(executable, device.openLane(0), step)).release();
  const ephemeral = device.memory().find((use) => use.class === "ephemeral")?.bytes ?? 0;
  assert.ok(ephemeral > 0 && ephemeral <= bytesFor(100), `${ephemeral} of ${bytesFor(100)}`);
});

Deno.test("stage() does not measure a model again that it knows by its fingerprint", async () => {
  await using device = openCpuDevice({ threads: 2 });
  const samples = [[fp32Tensor("x", [3, 4], Array(12).fill(0))]];
  const model = modelOf("mlp", mlpModel(1, [4, 8, 2]), { samples });
  const first = await device.stage(model);
  await first[Symbol.asyncDispose]();
  // Were it measured again, this sample could not be read.
  const unreadable = {
    ...model,
    get samples(): never {
      throw new SluiceError("internal", "The samples were asked for");
    },
  };
  await using again = await device.stage(unreadable);
  const signature = signatureFor(samples[0]);
  assert.equal(again.ephemeralBytes(signature), first.ephemeralBytes(signature));
});

Deno.test("stage() loads a model that its samples and zeros do not fit", async () => {
  await using device = openCpuDevice({ threads: 2 });
  const samples = [[fp32Tensor("x", [1, 5], [1, 2, 3, 4, 5])]];
  await using staged = await device.stage(modelOf("mlp", mlpModel(1, [4, 8, 2]), { samples }));
  const bytes = staged.ephemeralBytes(signatureFor([fp32Tensor("x", [1, 4], [])]));
  assert.ok(bytes >= 1 << 20);
});

Deno.test("trim() gives back what a large iteration took, while others stay loaded", async () => {
  await using device = openCpuDevice({ threads: 2 });
  const kept = await device.stage(modelOf("kept", scaleModel(6)));
  const large = await device.stage(modelOf("large", identityModel("FP32", ["n"])));
  const executable = await large.upload();
  const n = 4 << 20;
  const step = stepOf([{ name: "x", datatype: "FP32", shape: [n], data: new Uint8Array(n * 4) }]);
  (await iterate(executable, device.openLane(0), step)).release();
  const ephemeral = () => device.memory().find((use) => use.class === "ephemeral")?.bytes ?? 0;
  assert.ok(ephemeral() >= n * 4);
  await executable[Symbol.asyncDispose]();
  await large[Symbol.asyncDispose]();
  await device.trim();
  assert.equal(ephemeral(), 0);
  assert.deepEqual(await runOnce(device, kept), [6, 6, 6, 6]);
  await kept[Symbol.asyncDispose]();
});

Deno.test("openCpuDevice() refuses an iteration beyond its capacity and runs on", async () => {
  await using device = openCpuDevice({ threads: 1, memoryBytes: 64 << 20 });
  await using staged = await device.stage(modelOf("id", identityModel("FP32", ["n"])));
  await using executable = await staged.upload();
  const lane = device.openLane(0);
  const n = 32 << 20;
  const step = stepOf([{ name: "x", datatype: "FP32", shape: [n], data: new Uint8Array(n * 4) }]);
  const result = await iterate(executable, lane, step);
  assert.ok(hasCode("execution_failed")(result.error), String(result.error));
  result.release();
  const [y] = await outputsOf(executable, lane, stepOf([fp32Tensor("x", [1], [1])]));
  assert.deepEqual(fp32Values(y), [1]);
});

Deno.test("dispose() of the device frees every model and refuses new ones", async () => {
  const device = openCpuDevice({ threads: 2 });
  const staged = await device.stage(modelOf("scale", scaleModel()));
  const executable = await staged.upload();
  await device[Symbol.asyncDispose]();
  await assert.rejects(device.stage(modelOf("scale", scaleModel())), hasCode("not_ready"));
  await assert.rejects(staged.upload(), hasCode("not_ready"));
  const step = stepOf([fp32Tensor("x", [1, 4], [1, 2, 3, 4])]);
  const result = await iterate(executable, device.openLane(0), step);
  assert.ok(hasCode("not_ready")(result.error));
  assert.deepEqual(device.memory(), []);
});
