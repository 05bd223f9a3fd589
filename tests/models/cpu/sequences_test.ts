import assert from "node:assert/strict";
import { CpuExecutable } from "../../../models/cpu/executable.ts";
import { openCpuDevice } from "../../../models/cpu/mod.ts";
import type { Device, Executable, Lane, SequenceState, Step } from "../../../models/device.ts";
import type { Model } from "../../../models/model.ts";
import { type Starter, STARTERS, starterSource } from "../../../models/starter/starters.ts";
import { fetchPath } from "../../../models/sources/fetch.ts";
import type { Tensor } from "../../../models/tensor.ts";
import { relativeDifference } from "../../../models/tensor_difference.ts";
import { hasCode } from "../../conformance/device.ts";
import {
  fp32Tensor,
  iterate,
  modelOf,
  outputsOf,
  signatureFor,
  stepOf,
} from "../../conformance/device_models.ts";
import { type Node, onnxModel, seededValues } from "../../fixtures/onnx.ts";
import { recurrentModel, withSequences } from "../../fixtures/sequence_models.ts";

interface Loaded {
  readonly device: Device;
  readonly executable: Executable;
  readonly lane: Lane;
}

async function withModel(model: Model, check: (loaded: Loaded) => Promise<void>): Promise<void> {
  await using device = openCpuDevice({ threads: 2 });
  await using staged = await device.stage(model);
  await using executable = await staged.upload();
  using lane = device.openLane(0);
  await check({ device, executable, lane });
}

/** A step of these inputs, which are joined already. */
function sequenceStep(inputs: readonly Tensor[], states: readonly SequenceState[]): Step {
  const plain = stepOf(inputs, states.length);
  const { key } = plain.signature;
  const signature = { inputs, key: `${key} with state`, sequences: states.length };
  return { ...plain, signature, states };
}

/** Carries `s` [batch, 2] over from an output of the shape of `x`: `x` itself, or what is made of it. */
function misshapenModel(output: "x" | "negative"): Model {
  const shape = ["batch", "n"];
  const negative: Node = { op: "Neg", inputs: ["x"], outputs: ["negative"] };
  const bytes = onnxModel({
    inputs: [
      { name: "x", datatype: "FP32", shape },
      { name: "s", datatype: "FP32", shape: ["batch", 2] },
    ],
    outputs: [
      { name: "y", datatype: "FP32", shape: ["batch", 2] },
      { name: output, datatype: "FP32", shape },
    ],
    nodes: [
      { op: "Neg", inputs: ["s"], outputs: ["y"] },
      ...(output === "negative" ? [negative] : []),
    ],
  });
  return withSequences(modelOf("misshapen", bytes), { [output]: "s" });
}

for (const output of ["x", "negative"] as const) {
  Deno.test(`start() refuses a carried output "${output}" that has not its input's shape`, async () => {
    await withModel(misshapenModel(output), async ({ executable, lane }) => {
      const initial = fp32Tensor("s", [1, 2], [1, 2]);
      using state = executable.openSequence([initial]);
      for (const expected of [Infinity, 1]) {
        const wrong = sequenceStep([fp32Tensor("x", [1, 3], [1, 2, 3])], [state]);
        const result = await iterate(executable, lane, wrong, expected);
        assert.ok(hasCode("execution_failed")(result.error), String(result.error));
        assert.match(String(result.error), /1,3/);
        result.release();
        assert.deepEqual(state.read(), [initial]);
      }
      const right = sequenceStep([fp32Tensor("x", [1, 2], [3, 4])], [state]);
      const [y] = await outputsOf(executable, lane, right);
      assert.deepEqual(y, fp32Tensor("y", [1, 2], [-1, -2]));
      const carried = output === "x" ? [3, 4] : [-3, -4];
      assert.deepEqual(state.read(), [fp32Tensor("s", [1, 2], carried)]);
    });
  });
}

Deno.test("an executable frees its sequences when it is disposed of", async () => {
  await withModel(recurrentModel(), async ({ executable }) => {
    assert.ok(executable instanceof CpuExecutable);
    executable.openSequence();
    assert.ok(executable.stateBytes > 0);
    await executable[Symbol.asyncDispose]();
    assert.equal(executable.stateBytes, 0);
  });
});

Deno.test("ephemeralBytes() counts what sequences carry over like inputs of a request", async () => {
  await using device = openCpuDevice({ threads: 2 });
  const model = recurrentModel();
  await using staged = await device.stage(model);
  for (const rows of [1, 8, 9000]) {
    const index = { name: "index", datatype: "INT64", shape: [rows] } as const;
    const byHand = signatureFor([
      index,
      { name: "memory", datatype: "FP32", shape: [2, rows, 3] },
      { name: "last", datatype: "INT64", shape: [rows] },
    ]);
    const withState = { ...signatureFor([index]), sequences: rows };
    assert.equal(staged.ephemeralBytes(withState), staged.ephemeralBytes(byHand));
  }
});

Deno.test("stage() refuses an initialiser that no single sequence can start from", async () => {
  await using device = openCpuDevice({ threads: 2 });
  const model = recurrentModel([1, 2, 3, 4, 5, 6]);
  const { sequence } = model;
  const [memory, ...others] = sequence!.carry;
  const carry = [{ ...memory, shape: [2, 1, 4] }, ...others];
  await assert.rejects(device.stage({ ...model, sequence: { ...sequence!, carry } }), (error) => {
    assert.match(String(error), /"memory" is FP32 of shape \[2,1,3\]; expected .*\[2,1,4\]/);
    return hasCode("invalid_argument")(error);
  });
});

for (const starter of STARTERS.filter(({ name }) => name.startsWith("silero"))) {
  Deno.test(`${starter.name} hears the same with its state on the device`, async () => {
    await withModel(await vad(starter), async ({ executable, lane }) => {
      const [sample] = starter.samples;
      const { name, shape } = sample.find(({ name }) => name === "input")!;
      const sr = sample.find(({ name }) => name === "sr")!;
      const samples = shape[1];
      const chunk = (seed: number, rows: number) =>
        fp32Tensor(name, [rows, samples], seededValues(seed, rows * samples));
      const states = [1, 2, 3].map(() => executable.openSequence());
      const byHand = states.map((state) => state.read()[0]);
      for (let i = 0; i < 4; i++) {
        const joined = chunk(i, 3);
        const [heard] = await outputsOf(executable, lane, sequenceStep([joined, sr], states));
        for (const [row, state] of states.entries()) {
          const data = joined.data.slice(row * samples * 4, (row + 1) * samples * 4);
          const alone = { ...joined, shape: [1, samples], data };
          const [answer, next] = await outputsOf(
            executable,
            lane,
            stepOf([alone, byHand[row], sr]),
          );
          byHand[row] = { ...next, name: "state" };
          assertClose(answer.data, heard.data.slice(row * 4, row * 4 + 4));
          assertClose(byHand[row].data, state.read()[0].data);
        }
      }
    });
  });
}

/** As it comes from npm, its state [2, batch, 128] carried over. */
async function vad(starter: Starter): Promise<Model> {
  await using file = await fetchPath(starterSource(starter));
  const { name, samples } = starter;
  return withSequences(modelOf(name, await Deno.readFile(file.path), { samples }), {
    stateN: "state",
  });
}

function assertClose(one: Uint8Array<ArrayBuffer>, other: Uint8Array<ArrayBuffer>): void {
  assert.ok(relativeDifference("FP32", one, other) < 1e-5);
}
