import assert from "node:assert/strict";
import { VirtualClock } from "../../../models/clock.ts";
import type { DeviceFault, Executable } from "../../../models/device.ts";
import { SluiceError } from "../../../models/errors.ts";
import {
  openSimulatedDevice,
  type SimulatedDevice,
  type SimulatedOptions,
} from "../../../models/simulated/device.ts";
import { floatModel, floatStep, Results } from "./fixtures.ts";

const COST = { byRows: [[1, 100], [2, 150]] } as const;

function open(options: Omit<SimulatedOptions, "clock"> = {}) {
  const clock = new VirtualClock();
  const costs = new Map([["a", COST], ["b", COST]]);
  const device = openSimulatedDevice({ clock, costs, ...options });
  return { clock, device, results: new Results(clock) };
}

async function load(device: SimulatedDevice, name: string): Promise<Executable> {
  const staged = await device.stage(floatModel(name));
  return await staged.upload();
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof SluiceError && error.code === code;
}

Deno.test("lane runs a second iteration behind the first when its depth allows", async () => {
  const { clock, device, results } = open();
  const a = await load(device, "a");
  const lane = device.openLane(1_000);
  a.start(lane, floatStep(1), 0, results.done("first"));
  a.start(lane, floatStep(2), 0, results.done("second"));
  assert.deepEqual(results.times, []);
  clock.runAll();
  assert.deepEqual(results.times, [["first", 100], ["second", 250]]);
  assert.deepEqual(results.micros, [100, 150]);
});

Deno.test("lane refuses an iteration beyond its depth", async () => {
  const { clock, device, results } = open({ depth: 1 });
  const a = await load(device, "a");
  const lane = device.openLane(1_000);
  a.start(lane, floatStep(1), 0, results.done("first"));
  a.start(lane, floatStep(1), 0, results.done("second"));
  clock.runAll();
  assert.deepEqual(results.times, [["second", 0], ["first", 100]]);
  assert.ok(hasCode("internal")(results.all[0].result.error));
});

Deno.test("lanes run in parallel, undisturbed when no slowdown is set", async () => {
  const { clock, device, results } = open();
  const [a, b] = [await load(device, "a"), await load(device, "b")];
  a.start(device.openLane(1_000), floatStep(1), 0, results.done("a"));
  b.start(device.openLane(1_000), floatStep(1), 0, results.done("b"));
  clock.runAll();
  assert.deepEqual(results.times, [["a", 100], ["b", 100]]);
});

Deno.test("lanes slow each other down while both are busy", async () => {
  const { clock, device, results } = open({ slowdown: 1 });
  const [a, b] = [await load(device, "a"), await load(device, "b")];
  a.start(device.openLane(1_000), floatStep(1), 0, results.done("a"));
  clock.advanceTo(50);
  b.start(device.openLane(1_000), floatStep(1), 0, results.done("b"));
  clock.runAll();
  // From 50 on at half speed: a's other 50 take 100. Then b's other 50 run at full speed.
  assert.deepEqual(results.times, [["a", 150], ["b", 200]]);
  assert.deepEqual(results.micros, [150, 150]);
});

Deno.test("durations replay what was recorded, by model and iteration", async () => {
  const recorded = [70, 30];
  const { clock, device, results } = open({ durations: (_model, index) => recorded[index] });
  const a = await load(device, "a");
  const lane = device.openLane(1_000);
  for (const label of ["0", "1", "2"]) {
    a.start(lane, floatStep(1), 0, results.done(label));
    clock.runAll();
  }
  assert.deepEqual(results.micros, [70, 30, 100]);
});

Deno.test("start() runs in place when the lane is idle and the iteration short", async () => {
  const { clock, device, results } = open({ inPlaceMicros: 150 });
  const a = await load(device, "a");
  const lane = device.openLane(1_000);
  a.start(lane, floatStep(1), 100, results.done("short"));
  assert.deepEqual(results.times, [["short", 0]]);
  a.start(lane, floatStep(1), 200, results.done("long"));
  a.start(lane, floatStep(1), 100, results.done("behind"));
  assert.equal(results.all.length, 1);
  clock.runAll();
  assert.deepEqual(results.times, [["short", 0], ["long", 100], ["behind", 200]]);
});

Deno.test("iteration reads its inputs when it ends and spoils its outputs on release", async () => {
  const { clock, device, results } = open();
  const a = await load(device, "a");
  const step = floatStep(1);
  a.start(device.openLane(1_000), step, 0, results.done("a"));
  clock.runAll();
  const { result } = results.all[0];
  assert.deepEqual(result.outputs[0].shape, [1, 2]);
  assert.deepEqual(result.outputs[0].data, step.inputs[0][0]);
  assert.deepEqual(device.memory().at(-1), { class: "host", bytes: 8 });
  result.release();
  assert.notDeepEqual(result.outputs[0].data, step.inputs[0][0]);
  assert.equal(device.memory().some((use) => use.class === "host"), false);
  assert.throws(() => result.release(), hasCode("internal"));
});

Deno.test("faults.iteration fails just the iteration it names", async () => {
  const { clock, device, results } = open({
    faults: {
      iteration: (model, index) =>
        model.name === "a" && index === 1 ? "execution_failed" : undefined,
    },
  });
  const a = await load(device, "a");
  const lane = device.openLane(1_000);
  for (const label of ["0", "1", "2"]) {
    a.start(lane, floatStep(1), 0, results.done(label));
    clock.runAll();
  }
  const codes = results.all.map(({ result }) =>
    result.error && hasCode("execution_failed")(result.error)
  );
  assert.deepEqual(codes, [undefined, true, undefined]);
  assert.deepEqual(results.times, [["0", 100], ["1", 200], ["2", 300]]);
});

Deno.test("a fatal fault fails what is in flight and all that follows", async () => {
  const { clock, device, results } = open({
    faults: { iteration: (_model, index) => index === 0 ? "device_failed" : undefined },
  });
  const faults: DeviceFault[] = [];
  device.onFault((fault) => faults.push(fault));
  const a = await load(device, "a");
  const [lane, other] = [device.openLane(1_000), device.openLane(1_000)];
  a.start(lane, floatStep(1), 0, results.done("breaks"));
  a.start(lane, floatStep(1), 0, results.done("behind"));
  a.start(other, floatStep(2), 0, results.done("beside"));
  clock.advanceTo(100);
  assert.equal(results.all.length, 3);
  a.start(lane, floatStep(1), 0, results.done("after"));
  clock.runAll();
  assert.equal(faults.length, 1);
  assert.equal(faults[0].fatal, true);
  assert.deepEqual(results.all.map(({ label }) => label).sort(), [
    "after",
    "behind",
    "beside",
    "breaks",
  ]);
  for (const { result } of results.all) assert.ok(hasCode("device_failed")(result.error));
  await assert.rejects(() => device.stage(floatModel("c")), hasCode("device_failed"));
  await a[Symbol.asyncDispose]();
});

Deno.test("breakDown() only reports a fault that is not fatal", async () => {
  const { clock, device, results } = open();
  const faults: DeviceFault[] = [];
  device.onFault((fault) => faults.push(fault));
  const a = await load(device, "a");
  a.start(device.openLane(1_000), floatStep(1), 0, results.done("a"));
  device.breakDown({ message: "A page was corrected", fatal: false });
  clock.runAll();
  assert.deepEqual(faults, [{ message: "A page was corrected", fatal: false }]);
  assert.equal(results.all[0].result.error, undefined);
});

Deno.test("a hung iteration ends when it is released, and holds what is behind it", async () => {
  const { clock, device, results } = open({
    faults: { iteration: (_model, index) => index === 0 ? "hang" : undefined },
  });
  const a = await load(device, "a");
  const lane = device.openLane(1_000);
  a.start(lane, floatStep(1), 0, results.done("hung"));
  a.start(lane, floatStep(1), 0, results.done("behind"));
  clock.runAll();
  clock.advanceTo(5_000);
  assert.deepEqual(results.times, []);
  device.releaseHung();
  clock.runAll();
  assert.deepEqual(results.times, [["hung", 5_000], ["behind", 5_100]]);
  assert.deepEqual(results.micros, [5_000, 100]);
});

Deno.test("stage() takes its time, fails when told to, and stops when aborted", async () => {
  const { clock, device } = open({
    stageMicros: (model) => model.name === "slow" ? 1_000 : 0,
    faults: {
      stage: (model) =>
        model.name === "broken" ? new SluiceError("invalid_argument", "Not a model") : undefined,
      upload: (model) =>
        model.name === "stuck" ? new SluiceError("device_failed", "No upload") : undefined,
    },
  });
  await assert.rejects(() => device.stage(floatModel("broken")), hasCode("invalid_argument"));
  await assert.rejects(() => load(device, "stuck"), hasCode("device_failed"));
  let staged = false;
  const slow = device.stage(floatModel("slow")).then(() => (staged = true));
  clock.advanceTo(999);
  await Promise.resolve();
  assert.equal(staged, false);
  clock.advanceTo(1_000);
  await slow;
  const abort = new AbortController();
  const stopped = device.stage(floatModel("slow"), abort.signal);
  abort.abort(new SluiceError("cancelled", "Unloaded"));
  await assert.rejects(stopped, hasCode("cancelled"));
});

Deno.test("memory() names every byte, and capacity is enforced", async () => {
  const { device } = open({ memoryBytes: 2_500 });
  const a = await load(device, "a");
  const lane = device.openLane(1_000);
  assert.deepEqual(device.memory(), [
    { model: "a", class: "persistent", bytes: 1_000 },
    { class: "ephemeral", bytes: 1_000 },
  ]);
  await assert.rejects(() => load(device, "b"), hasCode("out_of_memory"));
  assert.throws(() => device.openLane(501), hasCode("out_of_memory"));
  assert.throws(() => lane.resize(1_501), hasCode("out_of_memory"));
  lane.resize(1_500);
  await a[Symbol.asyncDispose]();
  lane[Symbol.dispose]();
  assert.deepEqual(device.memory(), []);
});

Deno.test("lane with something in flight is neither resized nor closed", async () => {
  const { clock, device, results } = open();
  const a = await load(device, "a");
  const lane = device.openLane(1_000);
  a.start(lane, floatStep(1), 0, results.done("a"));
  assert.throws(() => lane.resize(2_000), hasCode("internal"));
  assert.throws(() => lane[Symbol.dispose](), hasCode("internal"));
  clock.runAll();
  lane[Symbol.dispose]();
  a.start(lane, floatStep(1), 0, results.done("closed"));
  clock.runAll();
  assert.ok(hasCode("internal")(results.all[1].result.error));
});

Deno.test("iteration that needs more than its lane has is refused with the bytes", async () => {
  const { clock, device, results } = open();
  const a = await load(device, "a");
  a.start(device.openLane(31), floatStep(2), 0, results.done("a"));
  clock.runAll();
  const { error } = results.all[0].result;
  assert.ok(hasCode("out_of_memory")(error));
  assert.match(error?.message ?? "", /needs 32 bytes; lane 0 has 31/);
});

Deno.test("closing an executable waits for what it has in flight", async () => {
  const { clock, device, results } = open();
  const a = await load(device, "a");
  a.start(device.openLane(1_000), floatStep(1), 0, results.done("a"));
  let closed = false;
  const closing = a[Symbol.asyncDispose]().then(() => (closed = true));
  await Promise.resolve();
  assert.equal(closed, false);
  clock.runAll();
  await closing;
  assert.equal(results.all.length, 1);
  assert.equal(device.memory().some((use) => use.class === "persistent"), false);
  a.start(device.openLane(1_000), floatStep(1), 0, results.done("late"));
  clock.runAll();
  assert.ok(hasCode("internal")(results.all[1].result.error));
});

Deno.test("closing the device ends what is in flight", async () => {
  const { device, results } = open();
  const a = await load(device, "a");
  a.start(device.openLane(1_000), floatStep(1), 0, results.done("a"));
  await device[Symbol.asyncDispose]();
  assert.ok(hasCode("device_failed")(results.all[0].result.error));
  assert.deepEqual(device.memory(), []);
});

Deno.test("breakDown() twice ends each iteration once, with the first fault", async () => {
  const { clock, device, results } = open();
  const a = await load(device, "a");
  a.start(device.openLane(1_000), floatStep(1), 0, results.done("a"));
  device.breakDown({ message: "first", fatal: true });
  device.breakDown({ message: "second", fatal: true });
  clock.runAll();
  assert.equal(results.all.length, 1);
  assert.match(results.all[0].result.error?.message ?? "", /first/);
});
