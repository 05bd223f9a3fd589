import assert from "node:assert/strict";
import { VirtualClock } from "../../../models/clock.ts";
import type { SequenceState, Step } from "../../../models/device.ts";
import { openSimulatedDevice, type SimulatedOptions } from "../../../models/simulated/device.ts";
import type { TensorSpec } from "../../../models/tensor.ts";
import { hasCode } from "../../conformance/device.ts";
import { fp32Tensor } from "../../conformance/device_models.ts";
import { withSequences } from "../../fixtures/sequence_models.ts";
import { floatStep, modelOf, Results } from "./fixtures.ts";

const spec = (name: string): TensorSpec => ({ name, datatype: "FP32", shape: [-1, 2] });
/** All of one shape: an output could be taken for a copy of any input. */
const MODEL = withSequences(modelOf("a", ["x", "h"].map(spec), ["y", "h_next"].map(spec)), {
  h_next: "h",
});
const STATE_BYTES = 8;

async function open(options: Omit<SimulatedOptions, "clock"> = {}) {
  const clock = new VirtualClock();
  const device = openSimulatedDevice({ clock, ...options });
  const staged = await device.stage(MODEL);
  const executable = await staged.upload();
  const lane = device.openLane(1_000);
  const results = new Results(clock);
  const run = (...states: SequenceState[]) => {
    const plain = floatStep(states.length);
    const signature = { ...plain.signature, sequences: states.length };
    const step: Step = { ...plain, signature, states };
    executable.start(lane, step, Infinity, results.done(""));
    clock.runAll();
    return results.all.at(-1)!.result;
  };
  return { device, staged, executable, run };
}

Deno.test("an answer depends on the state, and on nothing else but the row's inputs", async () => {
  const { executable, run } = await open();
  const h = fp32Tensor("h", [1, 2], [1, 2]);
  const [zeros, one, same] = [[], [h], [h]].map((initial) => executable.openSequence(initial));
  const [first] = run(zeros).outputs;
  const [second] = run(one).outputs;
  const [third] = run(same).outputs;
  assert.equal(first.name, "y");
  assert.notDeepEqual(first.data, second.data);
  assert.deepEqual(second.data, third.data);
  assert.deepEqual(one.read(), same.read());
  assert.notDeepEqual(one.read(), [h]);
  const [fourth] = run(one).outputs;
  assert.notDeepEqual(fourth.data, second.data, "the state has changed");
});

Deno.test("faults.iteration leaves the states as they were", async () => {
  const { executable, run } = await open({
    faults: { iteration: (_model, index) => index === 1 ? "execution_failed" : undefined },
  });
  const states = [executable.openSequence(), executable.openSequence()];
  run(...states);
  const before = states.map((state) => state.read());
  assert.ok(hasCode("execution_failed")(run(...states).error));
  assert.deepEqual(states.map((state) => state.read()), before);
  run(...states);
  assert.notDeepEqual(states.map((state) => state.read()), before);
});

Deno.test("openSequence() takes memory up to the capacity, beside weights and lanes", async () => {
  const { device, staged, executable } = await open({ memoryBytes: 2_000 + 2 * STATE_BYTES });
  assert.equal(staged.stateBytes, STATE_BYTES);
  const [first] = [executable.openSequence(), executable.openSequence()];
  assert.deepEqual(device.memory(), [
    { model: "a", class: "persistent", bytes: 1_000 },
    { model: "a", class: "state", bytes: 2 * STATE_BYTES },
    { class: "ephemeral", bytes: 1_000 },
  ]);
  assert.throws(() => executable.openSequence(), hasCode("out_of_memory"));
  assert.throws(() => device.openLane(1), hasCode("out_of_memory"));
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  executable.openSequence();
  assert.throws(() => executable.openSequence(), hasCode("out_of_memory"));
});
