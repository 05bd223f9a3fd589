import assert from "node:assert/strict";
import fc from "fast-check";
import { openCpuDevice } from "../../../models/cpu/mod.ts";
import { openCudaDevice } from "../../../models/cuda/mod.ts";
import type {
  Device,
  DeviceFault,
  Executable,
  IterationResult,
  Lane,
  MemoryUse,
  StagedModel,
} from "../../../models/device.ts";
import { SluiceError } from "../../../models/errors.ts";
import type { Model } from "../../../models/model.ts";
import { DENSE_DIGITS } from "../../../models/starter/starters.ts";
import type { Tensor } from "../../../models/tensor.ts";
import { relativeDifference } from "../../../models/tensor_difference.ts";
import {
  fp32Tensor,
  iterate,
  modelOf,
  outputsOf,
  signatureFor,
  stepOf,
} from "../../conformance/device_models.ts";
import {
  externalDataModel,
  heavyModel,
  identityModel,
  mlpModel,
  onnxModel,
  scaleModel,
  seededValues,
  slowModel,
  weights,
} from "../../fixtures/onnx.ts";
import { repositoryWith } from "../../fixtures/repository.ts";
import { recurrentModel } from "../../fixtures/sequence_models.ts";
import { type SoftwareGpu, softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { randomModels } from "./random_graphs.ts";

const CHUNK = 2 << 20;
const MEMORY = 64 << 20;
const OUT_OF_MEMORY = 2, ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801;

/** A test on a fresh software GPU. */
function cudaTest(name: string, test: (device: Device, gpu: SoftwareGpu) => Promise<void>): void {
  softwareGpuTest(name, async (gpu) => {
    await using device = await openCudaDevice({ driverPath: gpu.path, memoryBytes: MEMORY });
    await test(device, gpu);
  });
}

interface Loaded {
  readonly staged: StagedModel;
  readonly executable: Executable;
  readonly lane: Lane;
}

/** Loads a model, with a lane for iterations on these inputs. */
async function load(device: Device, model: Model, inputs: readonly Tensor[]): Promise<Loaded> {
  const staged = await device.stage(model);
  const executable = await staged.upload();
  const lane = device.openLane(staged.ephemeralBytes(signatureFor(inputs)));
  return { staged, executable, lane };
}

async function unload({ staged, executable, lane }: Loaded): Promise<void> {
  await executable[Symbol.asyncDispose]();
  await staged[Symbol.asyncDispose]();
  lane[Symbol.dispose]();
}

function x(...shape: number[]): Tensor {
  const count = shape.reduce((product, dim) => product * dim, 1);
  return fp32Tensor("x", shape, seededValues(3, count));
}

async function cpuAnswers(model: Model, inputs: readonly Tensor[]): Promise<Tensor[]> {
  await using device = openCpuDevice({ threads: 1 });
  await using staged = await device.stage(model);
  await using executable = await staged.upload();
  return await outputsOf(executable, device.openLane(0), stepOf(inputs));
}

function assertEqual(given: readonly Tensor[], expected: readonly Tensor[]): void {
  assert.equal(given.length, expected.length);
  for (const [i, { name, shape, datatype, data }] of given.entries()) {
    assert.deepEqual({ name, shape }, { name: expected[i].name, shape: expected[i].shape });
    const difference = relativeDifference(datatype, data, expected[i].data);
    assert.ok(difference <= 1e-5, `${name} differs by ${difference}`);
  }
}

function bytesOf(uses: readonly MemoryUse[], kind: MemoryUse["class"]): number {
  return uses.reduce((sum, use) => sum + (use.class === kind ? use.bytes : 0), 0);
}

function codeOf({ error }: Pick<IterationResult, "error">): string | undefined {
  return error instanceof SluiceError ? error.code : undefined;
}

const MLP = modelOf("mlp", mlpModel(1, [64, 100, 10]));

for (
  const [how, options] of [
    ["", {}],
    [", whatever the order and the memory", { adversarialSeed: 11 }],
    [", and reads nothing that nobody wrote", { checkUninitialised: true }],
  ] as const
) {
  cudaTest(`start() answers random graphs as the CPU device does${how}`, async (device, gpu) => {
    gpu.control.configure(options);
    await fc.assert(
      fc.asyncProperty(randomModels(), async ({ bytes, inputs }) => {
        const model = modelOf("random", bytes);
        const loaded = await load(device, model, inputs);
        const given = await outputsOf(loaded.executable, loaded.lane, stepOf(inputs));
        await unload(loaded);
        assertEqual(given, await cpuAnswers(model, inputs));
      }),
      { numRuns: 20, seed: 7 },
    );
  });
}

cudaTest(
  "start() tells every digit as the CPU device does, in batches of any size",
  async (device) => {
    const file = new URL(`../../../models/starter/${DENSE_DIGITS.source}`, import.meta.url);
    const model = modelOf("digits", await Deno.readFile(file));
    const pixels = (rows: number) => [{ ...x(rows, 64), name: "pixels" }];
    const loaded = await load(device, model, pixels(100));
    for (const inputs of [...DENSE_DIGITS.samples.slice(0, 3), pixels(8), pixels(9), pixels(100)]) {
      const given = await outputsOf(loaded.executable, loaded.lane, stepOf(inputs));
      assertEqual(given, await cpuAnswers(model, inputs));
    }
    await unload(loaded);
  },
);

cudaTest("start() multiplies matrices that have no common elements", async (device) => {
  const model = modelOf(
    "empty",
    onnxModel({
      inputs: [{ name: "x", datatype: "FP32", shape: ["n", 0] }],
      outputs: [{ name: "y", datatype: "FP32", shape: ["n", 6] }],
      initializers: [weights("w", [0, 6], 1), weights("b", [6], 2)],
      nodes: [{ op: "Gemm", inputs: ["x", "w", "b"], outputs: ["y"] }],
    }),
  );
  const loaded = await load(device, model, [x(20, 0)]);
  for (const rows of [2, 20]) {
    const given = await outputsOf(loaded.executable, loaded.lane, stepOf([x(rows, 0)]));
    assertEqual(given, await cpuAnswers(model, [x(rows, 0)]));
  }
  await unload(loaded);
});

cudaTest("start() replays an iteration by one launch of a graph", async (device, { control }) => {
  const inputs = [x(2, 64)];
  const loaded = await load(device, MLP, inputs);
  const { executable, lane } = loaded;
  await executable.prepare(signatureFor(inputs), lane);
  const calls = (name: string) => control.counter(`calls:${name}`);
  const before = {
    instantiated: calls("cuGraphInstantiateWithFlags"),
    graphs: calls("cuGraphLaunch"),
    kernels: calls("cuLaunchKernel"),
  };
  for (let i = 0; i < 5; i++) await outputsOf(executable, lane, stepOf(inputs));
  assert.equal(calls("cuGraphInstantiateWithFlags"), before.instantiated);
  assert.equal(calls("cuLaunchKernel"), before.kernels);
  assert.equal(calls("cuGraphLaunch"), before.graphs + 5);
  await unload(loaded);
});

cudaTest("start() charges the time on the device", async (device, { control }) => {
  control.configure({ timed: true, defaultKernelNanos: 3_000_000 });
  const inputs = [x(2, 64)];
  const loaded = await load(device, MLP, inputs);
  const result = await iterate(loaded.executable, loaded.lane, stepOf(inputs));
  const { deviceMicros } = result;
  result.release();
  assert.ok(deviceMicros >= 6000, `two launches of 3 ms took ${deviceMicros} us`);
  await unload(loaded);
});

cudaTest("ephemeralBytes() is what the lane has to have, and memory() names it", async (device) => {
  const wide = [x(3000, 256)];
  const staged = await device.stage(modelOf("slow", slowModel(3, 256)));
  const needed = staged.ephemeralBytes(signatureFor(wide));
  // Input, two intermediate results by turns, and the output.
  const bytes = 3000 * 256 * 4;
  assert.equal(needed, Math.ceil(4 * bytes / CHUNK) * CHUNK);
  const executable = await staged.upload();
  const lane = device.openLane(needed - CHUNK);
  const refused = await iterate(executable, lane, stepOf(wide));
  assert.equal(codeOf(refused), "out_of_memory");
  assert.match(String(refused.error), new RegExp(`needs \\d+ bytes.*lane 0 has ${needed - CHUNK}`));
  lane.resize(needed);
  await outputsOf(executable, lane, stepOf(wide));
  assert.equal(bytesOf(device.memory(), "ephemeral"), needed);
  lane.resize(0);
  assert.equal(bytesOf(device.memory(), "ephemeral"), 0);
  await unload({ staged, executable, lane });
});

cudaTest(
  "a lane keeps its addresses when its memory goes and comes",
  async (device, { control }) => {
    const inputs = [x(2, 64)];
    const first = await load(device, MLP, inputs);
    const expected = await outputsOf(first.executable, first.lane, stepOf(inputs));
    const captured = control.counter("calls:cuGraphInstantiateWithFlags");
    for (let round = 0; round < 3; round++) {
      first.lane.resize(0);
      const other = device.openLane(CHUNK); // takes the chunk that was the first one's
      await outputsOf(first.executable, other, stepOf([x(1, 64)]));
      first.lane.resize(CHUNK);
      assertEqual(await outputsOf(first.executable, first.lane, stepOf(inputs)), expected);
      other[Symbol.dispose]();
    }
    // One for each of the other lanes.
    assert.equal(control.counter("calls:cuGraphInstantiateWithFlags"), captured + 3);
    await unload(first);
  },
);

cudaTest(
  "memory() names weights in whole chunks, and all of it comes back",
  async (device, { control }) => {
    const overhead = bytesOf(device.memory(), "overhead");
    const counters = ["liveBytes", "liveHandles"] as const;
    const before = counters.map((name) => control.counter(name));
    const model = modelOf("heavy", heavyModel(5 << 20));
    const inputs = [x(1, (5 << 20) / 4)];
    const loaded = await load(device, model, inputs);
    assert.equal(loaded.staged.persistentBytes, 3 * CHUNK);
    assertEqual(
      await outputsOf(loaded.executable, loaded.lane, stepOf(inputs)),
      [{ ...inputs[0], name: "y" }],
    );
    const uses = device.memory();
    assert.deepEqual(
      uses.filter((use) => use.class === "persistent"),
      [{ model: "heavy", class: "persistent", bytes: 3 * CHUNK }],
    );
    assert.ok(bytesOf(uses, "host") >= (5 << 20) + 2 * (5 << 20));
    await unload(loaded);
    assert.equal(bytesOf(device.memory(), "overhead"), overhead + 8 * CHUNK, "chunks are pooled");
    await device.trim();
    assert.deepEqual(
      device.memory().map(({ class: kind }) => kind),
      overhead > 0 ? ["overhead"] : [],
    );
    assert.deepEqual(counters.map((name) => control.counter(name)), before);
  },
);

cudaTest(
  "stage() refuses what the device does not run, naming model, operator and node",
  async (device) => {
    const conv = onnxModel({
      inputs: [{ name: "x", datatype: "FP32", shape: ["n", 1, 8, 8] }],
      outputs: [{ name: "y", datatype: "FP32", shape: ["n", 1, 8, 8] }],
      nodes: [{ op: "Conv", inputs: ["x", "x"], outputs: ["y"] }],
    });
    const cases: [Model, string][] = [
      [
        modelOf("net", conv),
        'Model "net" version 1: operator Conv (node "y") is not one that the cuda device runs; ' +
        "--device cpu does",
      ],
      [
        modelOf("text", identityModel("BYTES")),
        'Model "text" version 1 has strings in "x", which the cuda device does not run on; ' +
        "--device cpu does",
      ],
      [
        recurrentModel(),
        'Model "recurrent" version 1 carries state from one iteration to the next, which the cuda ' +
        "device does not; --device cpu does",
      ],
    ];
    for (const [model, message] of cases) {
      await assert.rejects(device.stage(model), { code: "unsupported", message });
    }
  },
);

cudaTest("stage() reads weights from files beside the model", async (device) => {
  const { model: bytes, data } = externalDataModel("folder/weights.bin");
  await using repository = await repositoryWith({
    "model.onnx": bytes,
    "folder/weights.bin": data,
    "short/model.onnx": bytes,
    "short/folder/weights.bin": data.subarray(1),
  });
  const at = (folder: string) => ({
    ...modelOf("external", bytes),
    file: { path: `${repository.path}/${folder}model.onnx` },
  });
  const loaded = await load(device, at(""), [x(2, 4)]);
  assertEqual(
    await outputsOf(
      loaded.executable,
      loaded.lane,
      stepOf([fp32Tensor("x", [1, 4], [1, 1, 1, 1])]),
    ),
    [fp32Tensor("y", [1, 4], [1, 2, 3, 4])],
  );
  await unload(loaded);
  await assert.rejects(device.stage(at("short/")), {
    code: "invalid_argument",
    message: /keeps 16 bytes of weights in "folder\/weights\.bin" from byte 0 on; .* 15 are there/,
  });
  await assert.rejects(device.stage(at("missing/")), { code: "invalid_argument" });
});

cudaTest("start() fails on shapes that the model cannot run on, and runs on", async (device) => {
  const model = modelOf("any", mlpModel(1, [4, 3]));
  const loaded = await load(device, model, [x(2, 4)]);
  const wrong = await iterate(loaded.executable, loaded.lane, stepOf([x(2, 5)]));
  assert.equal(loaded.staged.ephemeralBytes(signatureFor([x(2, 5)])), 0);
  assert.equal(codeOf(wrong), "execution_failed");
  assert.match(
    String(wrong.error),
    /Model "any" version 1 cannot run on this input: operator Gemm \(node "y"\) cannot run: /,
  );
  await outputsOf(loaded.executable, loaded.lane, stepOf([x(2, 4)]));
  await unload(loaded);
});

softwareGpuTest("openCudaDevice() takes the device's memory, or less of it", async (gpu) => {
  gpu.control.configure({ memoryBytes: 100 << 20, deviceCount: 2 });
  const driverPath = gpu.path;
  const capacity = async (memoryBytes?: number, ordinal?: number) => {
    await using device = await openCudaDevice({ driverPath, memoryBytes, ordinal });
    return device.memoryBytes;
  };
  assert.equal(await capacity(5 << 20), 4 << 20);
  const all = await capacity();
  assert.ok(all > 80 << 20 && all < 100 << 20 && all % CHUNK === 0, `${all}`);
  assert.equal(await capacity(5 << 20, 1), 4 << 20);
  for (const bytes of [1000, 200 << 20]) {
    await assert.rejects(capacity(bytes), {
      code: "invalid_argument",
      message: new RegExp(`cannot give models ${bytes} bytes: expected from ${CHUNK}, `),
    });
  }
  await assert.rejects(capacity(undefined, 2), /there is no device 2/);
});

softwareGpuTest("openCudaDevice() refuses a GPU that cannot run its kernels", async (gpu) => {
  gpu.control.configure({ computeCapability: 75 });
  await assert.rejects(openCudaDevice({ driverPath: gpu.path }), {
    code: "unsupported",
    message: /^The cuda device needs a GPU of compute capability 8\.0 or more; .+ has 7\.5$/,
  });
});

cudaTest(
  "upload() says how much a model needs when the device has less",
  async (device, { control }) => {
    const staged = await device.stage(MLP);
    control.inject("cuMemCreate", 1, OUT_OF_MEMORY);
    await assert.rejects(staged.upload(), {
      code: "out_of_memory",
      message: new RegExp(
        `^Model "mlp" version 1 needs ${CHUNK} bytes for its weights: cuMemCreate `,
      ),
    });
    const executable = await staged.upload();
    await executable[Symbol.asyncDispose]();
  },
);

cudaTest(
  "a lane that the device has no memory for refuses iterations until it has",
  async (device, { control }) => {
    const inputs = [x(2, 64)];
    const staged = await device.stage(MLP);
    const executable = await staged.upload();
    control.inject("cuMemCreate", 1, OUT_OF_MEMORY);
    control.inject("cuMemCreate", 2, OUT_OF_MEMORY);
    const lane = device.openLane(CHUNK);
    assert.equal(lane.bytes, CHUNK);
    const refused = await iterate(executable, lane, stepOf(inputs));
    assert.equal(codeOf(refused), "out_of_memory");
    await outputsOf(executable, lane, stepOf(inputs));
    await unload({ staged, executable, lane });
  },
);

for (const call of ["cuGraphLaunch", "cuGraphInstantiateWithFlags", "cuMemHostAlloc"]) {
  cudaTest(
    `start() fails one iteration when ${call} does, and runs on`,
    async (device, { control }) => {
      const inputs = [x(2, 64)];
      const loaded = await load(device, MLP, inputs);
      control.inject(call, 1, NOT_SUPPORTED);
      const failed = await iterate(loaded.executable, loaded.lane, stepOf(inputs));
      assert.equal(codeOf(failed), "device_failed");
      assert.match(String(failed.error), new RegExp(`Model "mlp" version 1 .*${call} failed`));
      failed.release();
      await outputsOf(loaded.executable, loaded.lane, stepOf(inputs));
      await unload(loaded);
    },
  );
}

softwareGpuTest(
  "a sticky fault ends what is in flight and all that follows, and is told once",
  async (gpu) => {
    const device = await openCudaDevice({ driverPath: gpu.path, memoryBytes: MEMORY });
    const faults: DeviceFault[] = [];
    device.onFault((fault) => faults.push(fault));
    const inputs = [x(2, 64)];
    const { executable, staged, lane } = await load(device, MLP, inputs);
    const other = device.openLane(CHUNK);
    device.openLane(CHUNK).resize(0); // its chunk waits for the next who needs one
    await executable.prepare(signatureFor(inputs), lane);
    await executable.prepare(signatureFor(inputs), other);
    const inFlight: Promise<IterationResult>[] = [];
    for (const place of [lane, lane, other]) {
      inFlight.push(iterate(executable, place, stepOf(inputs)));
    }
    gpu.control.inject("cuEventQuery", 1, ILLEGAL_ADDRESS);
    for (const { error } of await Promise.all(inFlight)) {
      assert.equal(codeOf({ error }), "device_failed");
    }
    const late = await iterate(executable, lane, stepOf(inputs));
    assert.equal(codeOf(late), "device_failed");
    await assert.rejects(device.stage(MLP), { code: "device_failed" });
    await assert.rejects(staged.upload(), { code: "device_failed" });
    await device.trim();
    assert.deepEqual(faults.map(({ fatal }) => fatal), [true]);
    assert.match(faults[0].message, /ILLEGAL_ADDRESS/);
    await device[Symbol.asyncDispose]();
    gpu.control.reset(); // as the end of the process would
  },
);

cudaTest("resize() is refused while an iteration runs", async (device) => {
  const inputs = [x(2, 64)];
  const loaded = await load(device, MLP, inputs);
  const running = iterate(loaded.executable, loaded.lane, stepOf(inputs));
  assert.throws(() => loaded.lane.resize(0), { code: "internal" });
  (await running).release();
  await unload(loaded);
});

cudaTest(
  "start() refuses more than the lane's depth, and lanes of other devices",
  async (device, gpu) => {
    const inputs = [x(2, 64)];
    const loaded = await load(device, MLP, inputs);
    const { executable, lane } = loaded;
    const started = Array.from({ length: 3 }, () => iterate(executable, lane, stepOf(inputs)));
    await executable.prepare(signatureFor(inputs), lane); // takes no place on the lane
    const results = await Promise.all(started);
    assert.deepEqual(results.map(({ error }) => codeOf({ error })), [
      undefined,
      undefined,
      "internal",
    ]);
    for (const result of results) result.release();
    const closed = device.openLane(CHUNK);
    closed[Symbol.dispose]();
    for (const foreign of [closed, openCpuLane()]) {
      const { error } = await iterate(executable, foreign, stepOf(inputs));
      assert.equal(codeOf({ error }), "internal");
    }
    assert.ok(gpu.control.counter("launches") >= 4);
    await unload(loaded);
  },
);

function openCpuLane(): Lane {
  return { id: 9, bytes: CHUNK, depth: 2, resize() {}, [Symbol.dispose]() {} };
}

softwareGpuTest("a model goes while another one hangs on its lane", async ({ path, control }) => {
  const device = await openCudaDevice({ driverPath: path, memoryBytes: MEMORY });
  const [first, second] = [[x(2, 4)], [x(2, 64)]];
  const gone = await load(device, modelOf("scale", scaleModel()), first);
  const stays = await load(device, MLP, second);
  control.delayKernel("gemm_f32_few_rows", 1, Infinity);
  const answered = iterate(gone.executable, gone.lane, stepOf(first));
  let ended = false;
  const hanging = iterate(stays.executable, gone.lane, stepOf(second));
  hanging.then(() => ended = true);
  (await answered).release();
  // Whatever waited for the device would wait for ever.
  await gone.executable[Symbol.asyncDispose]();
  await device.trim();
  await (await device.stage(MLP)).upload();
  assert.equal(ended, false);
  assert.deepEqual(
    device.memory().filter((use) => use.class === "persistent").map(({ model }) => model),
    ["mlp", "mlp"],
  );
  control.loseDevice();
  assert.equal(codeOf(await hanging), "device_failed");
  await device[Symbol.asyncDispose]();
  control.reset(); // as the end of the process would
});

cudaTest("iterations of many signatures are kept within bounds", async (device, { control }) => {
  const loaded = await load(device, modelOf("scale", scaleModel()), [x(300, 4)]);
  const { executable, lane } = loaded;
  for (let rows = 1; rows <= 200; rows++) await outputsOf(executable, lane, stepOf([x(rows, 4)]));
  const created = control.counter("calls:cuGraphInstantiateWithFlags");
  const destroyed = control.counter("calls:cuGraphExecDestroy");
  assert.equal(created, 200);
  assert.equal(created - destroyed, 128);
  await unload(loaded);
});

cudaTest("a large iteration is kept on every lane", async (device, { control }) => {
  const inputs = [x(1, 3_000_000)];
  const loaded = await load(device, modelOf("same", identityModel("FP32", ["n", "m"])), inputs);
  const lanes = [
    loaded.lane,
    device.openLane(loaded.lane.bytes),
    device.openLane(loaded.lane.bytes),
  ];
  for (let round = 0; round < 2; round++) {
    for (const lane of lanes) await outputsOf(loaded.executable, lane, stepOf(inputs));
  }
  assert.equal(control.counter("calls:cuGraphInstantiateWithFlags"), lanes.length);
  for (const lane of lanes) lane[Symbol.dispose]();
  await unload(loaded);
});
