import assert from "node:assert/strict";
import { openCpuDevice } from "../../models/cpu/mod.ts";
import type { Executable, Lane, SequenceState, Step } from "../../models/device.ts";
import type { BatchingProbe } from "../../models/manifest.ts";
import type { Model } from "../../models/model.ts";
import { seededRandom } from "../../models/random.ts";
import { PROBED_SEQUENCES, probeSequences } from "../../models/sequence_probe.ts";
import type { Tensor } from "../../models/tensor.ts";
import { modelOf } from "../conformance/device_models.ts";
import { modelWith } from "../fixtures/model.ts";
import { onnxModel, weights } from "../fixtures/onnx.ts";
import { recurrentModel, withSequences } from "../fixtures/sequence_models.ts";

const WIDTH = 3;
const LANE: Lane = { id: 1, bytes: 0, depth: 1, resize() {}, [Symbol.dispose]() {} };

/** What one iteration sees and leaves, a row for each sequence. */
interface Batch {
  readonly x: Float32Array[];
  readonly rate: number;
  readonly states: Float32Array[];
  readonly y: Float32Array[];
}

/** A model of inputs `x` and `rate`, output `y`, and a state as wide as they are. */
function fakeModel(changes: Partial<Model> = {}): Model {
  const wide = (name: string) => ({ name, datatype: "FP32" as const, shape: [-1, WIDTH] });
  const model = modelWith("recurrent", {
    inputs: [wide("x"), { name: "rate", datatype: "FP32", shape: [] }, wide("state")],
    outputs: [wide("y"), wide("next")],
  }, changes);
  return {
    ...model,
    sequence: {
      carry: [
        { input: "state", output: "next", datatype: "FP32", shape: [1, WIDTH], batchAxis: 0 },
      ],
      batching: { ...model.batching, batchedInputs: [true, false, false], probe: true },
      maxIdleMicros: 1e6,
      required: false,
      checkpoint: "recurrent",
    },
  };
}

/** An executable of such a model that computes in place what `compute` says. */
class FakeExecutable implements Pick<Executable, "openSequence" | "start"> {
  open = 0;
  mostOpen = 0;
  readonly steps: Step[] = [];
  readonly #values = new Map<SequenceState, Float32Array<ArrayBuffer>>();

  constructor(readonly compute: (batch: Batch) => void) {}

  openSequence(): SequenceState {
    this.mostOpen = Math.max(this.mostOpen, ++this.open);
    const values = new Float32Array(WIDTH);
    const state: SequenceState = {
      read: () => [fp32("state", [1, WIDTH], values.slice())],
      [Symbol.dispose]: () => this.open--,
    };
    this.#values.set(state, values);
    return state;
  }

  start(_lane: Lane, step: Step, _expected: number, done: Parameters<Executable["start"]>[3]) {
    this.steps.push(step);
    const [x, [rate]] = step.inputs.map(([data]) => new Float32Array(data.slice().buffer));
    const states = step.states!.map((state) => this.#values.get(state)!);
    const rows = states.map((_, row) => x.slice(row * WIDTH, (row + 1) * WIDTH));
    const y = new Float32Array(rows.length * WIDTH);
    const answers = states.map((_, row) => y.subarray(row * WIDTH, (row + 1) * WIDTH));
    const result = { deviceMicros: 1, release() {} };
    try {
      this.compute({ x: rows, rate, states, y: answers });
      done({ ...result, outputs: [fp32("y", [rows.length, WIDTH], y)] });
    } catch (error) {
      done({ ...result, outputs: [], error: error as Error });
    }
  }
}

function fp32(name: string, shape: readonly number[], values: Float32Array<ArrayBuffer>): Tensor {
  return { name, datatype: "FP32", shape, data: new Uint8Array(values.buffer) };
}

/** Each row by itself: the state adds up what came, times the rate. */
function accumulate({ x, rate, states, y }: Batch): void {
  for (const [row, state] of states.entries()) {
    for (let i = 0; i < WIDTH; i++) y[row][i] = state[i] += rate * x[row][i];
  }
}

async function probe(executable: FakeExecutable, changes: Partial<Model> = {}) {
  const model = fakeModel(changes);
  return await probeSequences(model, model.sequence!, executable, LANE, seededRandom(1));
}

Deno.test("probeSequences() allows sequences that do not touch each other", async () => {
  const executable = new FakeExecutable(accumulate);
  const found: BatchingProbe = await probe(executable);
  assert.deepEqual(found, {
    join: true,
    reason: "Trial sequences gave the same answers alone and together; only sequences with the " +
      'same "rate" are joined',
    batchedInputs: [true, false, false],
  });
  assert.deepEqual(executable.steps.map(({ rows }) => rows), [1, 1, 1, 1, 2, 2]);
  for (const { signature, rows, inputs } of executable.steps) {
    assert.equal(signature.sequences, rows);
    assert.deepEqual(signature.inputs.map(({ name }) => name), ["x", "rate"]);
    assert.deepEqual(signature.inputs[0].shape, [rows, WIDTH]);
    assert.deepEqual(inputs[1], executable.steps[0].inputs[1], "the rate is the same in all");
  }
  const keys = executable.steps.map(({ signature }) => signature.key);
  assert.deepEqual([keys[0] === keys[3], keys[0] === keys[4]], [true, false]);
  assert.deepEqual([executable.open, executable.mostOpen], [0, PROBED_SEQUENCES]);
});

Deno.test("probeSequences() refuses answers that change with the company", async () => {
  const found = await probe(
    new FakeExecutable((batch) => {
      accumulate(batch);
      for (const row of batch.y) row[0] *= batch.y.length;
    }),
  );
  assert.equal(found.join, false);
  assert.match(
    found.reason,
    /^Joined sequences get other answers .*: output "y" differs by \d+ % of its largest value$/,
  );
});

Deno.test("probeSequences() sees in the second step what the first did to the state", async () => {
  const swapped = new FakeExecutable((batch) => {
    accumulate(batch);
    const [first, second] = batch.states;
    if (second === undefined) return;
    const kept = first.slice();
    first.set(second);
    second.set(kept);
  });
  const found = await probe(swapped);
  assert.equal(found.join, false);
  assert.match(found.reason, /other answers than separate ones: output "y"/);
  assert.equal(swapped.steps.length, 6);
});

Deno.test("probeSequences() compares the states too, which no answer may show", async () => {
  const found = await probe(
    new FakeExecutable((batch) => {
      accumulate(batch);
      for (const row of batch.y) row.fill(0);
      for (const state of batch.states) state[1] += batch.states.length;
    }),
  );
  assert.equal(found.join, false);
  assert.match(
    found.reason,
    /^Joined sequences are left in other states than separate ones: "state" differs by/,
  );
});

Deno.test("probeSequences() takes a sample's shapes, and its values where they are shared", async () => {
  const executable = new FakeExecutable((batch) => {
    assert.equal(batch.rate, 16);
    accumulate(batch);
  });
  const sample = [
    fp32("x", [2, WIDTH], new Float32Array(2 * WIDTH)),
    fp32("rate", [], Float32Array.of(16)),
    fp32("state", [2, WIDTH], new Float32Array(2 * WIDTH)),
  ];
  const { join, reason } = await probe(executable, { samples: [sample] });
  assert.ok(join, reason);
  assert.deepEqual(executable.steps[0].signature.inputs[0].shape, [1, WIDTH]);
});

Deno.test("probeSequences() falls back on a sample's values where random ones fail", async () => {
  const executable = new FakeExecutable((batch) => {
    if (batch.x.some((row) => row.some((value) => value % 8 !== 0))) throw new Error("no octave");
    accumulate(batch);
  });
  const sample = [
    fp32("x", [1, WIDTH], Float32Array.of(32, 64, 96)),
    fp32("rate", [], Float32Array.of(1)),
  ];
  const { join, reason } = await probe(executable, { samples: [sample] });
  assert.ok(join, reason);
  assert.equal(executable.open, 0);
});

Deno.test("probeSequences() says why no sequences could be run, and frees their states", async () => {
  const executable = new FakeExecutable(() => {
    throw new Error("not today");
  });
  const { join, reason } = await probe(executable);
  assert.equal(join, false);
  assert.equal(
    reason,
    "No two trial sequences could be run alone and together: not today",
  );
  assert.equal(executable.open, 0);
});

async function probeOnCpu(model: Model): Promise<BatchingProbe> {
  await using device = openCpuDevice({ threads: 1 });
  await using staged = await device.stage(model);
  await using executable = await staged.upload();
  using lane = device.openLane(0);
  const found = await probeSequences(model, model.sequence!, executable, lane, seededRandom(1));
  assert.deepEqual(device.memory().filter((use) => use.class === "state" && use.bytes > 0), []);
  return found;
}

Deno.test("probeSequences() allows a model that keeps rows apart, its batch on another axis", async () => {
  const { join, reason } = await probeOnCpu(recurrentModel());
  assert.ok(join, reason);
});

Deno.test("probeSequences() refuses a model that remembers a mean over the batch", async () => {
  const bytes = onnxModel({
    inputs: [
      { name: "x", datatype: "FP32", shape: ["n", 2] },
      { name: "state", datatype: "FP32", shape: ["n", 2] },
    ],
    outputs: [
      { name: "y", datatype: "FP32", shape: ["n", 2] },
      { name: "next", datatype: "FP32", shape: ["n", 2] },
    ],
    nodes: [
      { op: "ReduceMean", inputs: ["x"], outputs: ["mean"], attributes: { axes: { ints: [0] } } },
      { op: "Add", inputs: ["state", "mean"], outputs: ["next"] },
      { op: "Add", inputs: ["x", "state"], outputs: ["y"] },
    ],
  });
  const { join, reason } = await probeOnCpu(
    withSequences(modelOf("mean", bytes), { next: "state" }),
  );
  assert.equal(join, false);
  assert.match(
    reason,
    /^Joined sequences get other answers than separate ones: output "y" differs/,
  );
});

Deno.test("probeSequences() finds the size of a chunk of sound", async () => {
  const bytes = onnxModel({
    inputs: [
      { name: "x", datatype: "FP32", shape: ["n", "samples"] },
      { name: "state", datatype: "FP32", shape: ["n", 2] },
    ],
    outputs: [
      { name: "y", datatype: "FP32", shape: ["n", 2] },
      { name: "next", datatype: "FP32", shape: ["n", 2] },
    ],
    initializers: [weights("w", [512, 2], 1)],
    nodes: [
      { op: "MatMul", inputs: ["x", "w"], outputs: ["y"] },
      { op: "Add", inputs: ["y", "state"], outputs: ["next"] },
    ],
  });
  const { join, reason } = await probeOnCpu(
    withSequences(modelOf("sound", bytes), { next: "state" }),
  );
  assert.ok(join, reason);
});
