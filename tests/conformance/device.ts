/**
 * What every device has to keep to: the seam's rules, whatever runs behind it. A device that really
 * computes is also held to right answers.
 */
import assert from "node:assert/strict";
import type {
  Device,
  Executable,
  IterationResult,
  Lane,
  Signature,
  StagedModel,
} from "../../models/device.ts";
import { SluiceError } from "../../models/errors.ts";
import type { Model } from "../../models/model.ts";
import { mlpModel, scaleModel, seededValues, truncated } from "../fixtures/onnx.ts";
import { fp32Tensor, fp32Values, modelOf, signatureFor, stepOf } from "./device_models.ts";

/** A device under test. */
export interface DeviceSubject {
  readonly name: string;
  open(): Device | Promise<Device>;
  /** Whether answers are what the model computes, and files are read at all. */
  readonly computes: boolean;
  /** Lets time pass where it does not by itself: called until an iteration has ended. */
  passTime?(): void;
}

/** A loaded model on a lane that has room for its iterations. */
export interface Loaded extends AsyncDisposable {
  readonly device: Device;
  readonly staged: StagedModel;
  readonly executable: Executable;
  readonly lane: Lane;
}

const ROWS = 3;
const WIDTH = 4;
/** y = 2 x */
const SCALE = modelOf("scale", scaleModel(2, ["batch", WIDTH]));

/** Loads a model on a device of its own, with a lane for iterations up to the widest. */
export async function loadOn(
  subject: DeviceSubject,
  model: Model,
  widest: Signature,
): Promise<Loaded> {
  const device = await subject.open();
  const staged = await device.stage(model);
  const executable = await staged.upload();
  const lane = device.openLane(staged.ephemeralBytes(widest));
  return {
    device,
    staged,
    executable,
    lane,
    async [Symbol.asyncDispose]() {
      await executable[Symbol.asyncDispose]();
      await staged[Symbol.asyncDispose]();
      lane[Symbol.dispose]();
      await device[Symbol.asyncDispose]();
    },
  };
}

/** Starts an iteration. */
export type Start = (done: (result: IterationResult) => void) => void;

/** Starts one and waits for its end; a second call of `done` fails the test. */
export function endOf(subject: DeviceSubject, start: Start): Promise<IterationResult> {
  const { promise, resolve } = Promise.withResolvers<IterationResult>();
  let calls = 0;
  start((result) => {
    assert.equal(++calls, 1, "done was called more than once");
    resolve(result);
  });
  subject.passTime?.();
  return promise;
}

/** Registers the suite for a device. */
export function deviceConformance(subject: DeviceSubject): void {
  for (const [what, check] of deviceCases(subject)) Deno.test(`${subject.name} ${what}`, check);
}

/** What the seam holds a device to: a sentence and its check each. */
export function deviceCases(subject: DeviceSubject): Map<string, () => Promise<void>> {
  const cases = new Map<string, () => Promise<void>>();

  const load = (model = SCALE) => loadOn(subject, model, stepOf(rows(8)).signature);
  const ended = (start: Start) => endOf(subject, start);

  function run({ executable, lane }: Loaded, count = 1, seed = 1): Promise<IterationResult> {
    return ended((done) => executable.start(lane, stepOf(rows(count, seed)), Infinity, done));
  }

  function assertDoubled(result: IterationResult, count: number, seed: number): void {
    assert.equal(result.error, undefined);
    const [output] = result.outputs;
    assert.deepEqual(
      { name: output.name, datatype: output.datatype, shape: output.shape },
      { name: "y", datatype: "FP32", shape: [count, WIDTH] },
    );
    assert.equal(output.data.length, count * WIDTH * 4);
    if (!subject.computes) return;
    const [input] = rows(count, seed);
    assert.deepEqual(fp32Values(output), fp32Values(input).map((value) => Math.fround(value * 2)));
  }

  cases.set("has a name and a capacity", async () => {
    await using device = await subject.open();
    assert.ok(device.name.length > 0);
    assert.ok(device.memoryBytes > 0);
  });

  cases.set("answers an iteration with shapes, values and the time it took", async () => {
    await using loaded = await load();
    const result = await run(loaded, ROWS);
    assertDoubled(result, ROWS, 1);
    assert.ok(result.deviceMicros >= 0);
    result.release();
  });

  cases.set("gives the same answer again, prepared or not, short or long", async () => {
    await using loaded = await load();
    const { executable, lane } = loaded;
    const step = stepOf(rows(2, 5));
    await executable.prepare(step.signature, lane);
    for (const expected of [Infinity, 1, 1, 1_000_000]) {
      const result = await ended((done) => executable.start(lane, step, expected, done));
      assertDoubled(result, 2, 5);
      result.release();
    }
  });

  cases.set("joins the pieces of a batch", async () => {
    await using loaded = await load();
    const { executable, lane } = loaded;
    const [whole] = rows(ROWS, 7);
    const rowBytes = WIDTH * 4;
    const step = {
      ...stepOf([whole], ROWS),
      inputs: [[whole.data.subarray(0, rowBytes), whole.data.subarray(rowBytes)]],
    };
    const result = await ended((done) => executable.start(lane, step, Infinity, done));
    assertDoubled(result, ROWS, 7);
    result.release();
  });

  cases.set("takes tensors without elements", async () => {
    await using loaded = await load();
    for (let i = 0; i < 2; i++) {
      const result = await run(loaded, 0);
      assertDoubled(result, 0, 1);
      result.release();
    }
  });

  cases.set("keeps a result as it is until it is released", async () => {
    await using loaded = await load();
    const first = await run(loaded, 1, 1);
    const second = await run(loaded, 1, 2);
    const third = await run(loaded, 1, 3);
    assertDoubled(first, 1, 1);
    assertDoubled(second, 1, 2);
    assertDoubled(third, 1, 3);
    for (const result of [first, second, third]) result.release();
  });

  cases.set("runs iterations of one lane in the order of their start", async () => {
    await using loaded = await load();
    const { executable, lane } = loaded;
    const order: number[] = [];
    const ends: Promise<IterationResult>[] = [];
    for (let i = 0; i < lane.depth; i++) {
      ends.push(
        ended((done) =>
          executable.start(lane, stepOf(rows(i + 1, i)), Infinity, (result) => {
            order.push(i);
            done(result);
          })
        ),
      );
    }
    for (const [i, result] of (await Promise.all(ends)).entries()) {
      assertDoubled(result, i + 1, i);
      result.release();
    }
    assert.deepEqual(order, Array.from({ length: lane.depth }, (_, i) => i));
  });

  cases.set("runs iterations of several lanes side by side", async () => {
    await using loaded = await load();
    const { device, executable } = loaded;
    using other = device.openLane(loaded.lane.bytes);
    assert.notEqual(other.id, loaded.lane.id);
    const step = (seed: number) => stepOf(rows(2, seed));
    const [first, second] = await Promise.all([
      ended((done) => executable.start(loaded.lane, step(1), Infinity, done)),
      ended((done) => executable.start(other, step(2), Infinity, done)),
    ]);
    assertDoubled(first, 2, 1);
    assertDoubled(second, 2, 2);
    first.release();
    second.release();
  });

  cases.set("runs several models", async () => {
    await using loaded = await load();
    await using staged = await loaded.device.stage(modelOf("mlp", mlpModel(1, [WIDTH, 8, 2])));
    await using mlp = await staged.upload();
    const step = stepOf(rows(ROWS));
    using lane = loaded.device.openLane(staged.ephemeralBytes(step.signature));
    const [scaled, dense] = await Promise.all([
      run(loaded, ROWS),
      ended((done) => mlp.start(lane, step, Infinity, done)),
    ]);
    assertDoubled(scaled, ROWS, 1);
    assert.deepEqual(dense.outputs.map((output) => output.shape), [[ROWS, 2]]);
    scaled.release();
    dense.release();
  });

  cases.set("needs no less working memory for more rows", async () => {
    await using device = await subject.open();
    await using staged = await device.stage(modelOf("mlp", mlpModel(1, [WIDTH, 64, 2])));
    let before = 0;
    for (const count of [1, 2, 8, 64, 1000]) {
      const bytes = staged.ephemeralBytes(signatureFor(rows(count)));
      assert.ok(Number.isSafeInteger(bytes) && bytes >= before, `${bytes} after ${before}`);
      before = bytes;
    }
  });

  cases.set("changes a lane's working memory when it is idle", async () => {
    await using loaded = await load();
    const { lane } = loaded;
    const bytes = lane.bytes + 4096;
    lane.resize(bytes);
    assert.equal(lane.bytes, bytes);
    const result = await run(loaded);
    assertDoubled(result, 1, 1);
    result.release();
  });

  cases.set("names what a model holds, and holds nothing of it after its disposal", async () => {
    await using device = await subject.open();
    const before = modelBytes(device);
    const staged = await device.stage(SCALE);
    const executable = await staged.upload();
    const lane = device.openLane(staged.ephemeralBytes(signatureFor(rows(1))));
    const result = await ended((done) => executable.start(lane, stepOf(rows(1)), Infinity, done));
    const uses = device.memory();
    assert.ok(uses.every(({ bytes }) => bytes > 0));
    const persistent = uses.filter(({ model, class: kind }) =>
      model === "scale" && kind === "persistent"
    );
    assert.deepEqual(persistent.map(({ bytes }) => bytes), [staged.persistentBytes]);
    result.release();
    await executable[Symbol.asyncDispose]();
    await staged[Symbol.asyncDispose]();
    lane[Symbol.dispose]();
    await device.trim();
    assert.equal(modelBytes(device), before);
  });

  cases.set("disposes of a model when its iterations have ended", async () => {
    const { device, executable, lane } = await load();
    const end = ended((done) => executable.start(lane, stepOf(rows(1)), Infinity, done));
    const disposed = executable[Symbol.asyncDispose]();
    subject.passTime?.();
    const result = await end;
    await disposed;
    assertDoubled(result, 1, 1);
    result.release();
    await device[Symbol.asyncDispose]();
  });

  cases.set("fails an iteration that is started after the disposal", async () => {
    await using loaded = await load();
    await loaded.executable[Symbol.asyncDispose]();
    const result = await run(loaded);
    assert.ok(result.error instanceof SluiceError);
    assert.deepEqual(result.outputs, []);
    result.release();
  });

  cases.set("is disposed of in any order, and more than once", async () => {
    const device = await subject.open();
    const staged = await device.stage(SCALE);
    const lane = device.openLane(staged.ephemeralBytes(signatureFor(rows(1))));
    const executable = await staged.upload();
    await staged[Symbol.asyncDispose]();
    const result = await ended((done) => executable.start(lane, stepOf(rows(1)), Infinity, done));
    assertDoubled(result, 1, 1);
    result.release();
    await device[Symbol.asyncDispose]();
    for (const part of [executable, staged, device]) {
      await part[Symbol.asyncDispose]();
      await part[Symbol.asyncDispose]();
    }
    lane[Symbol.dispose]();
  });

  cases.set("stops staging when told to", async () => {
    await using device = await subject.open();
    await assert.rejects(device.stage(SCALE, AbortSignal.abort()));
    await using staged = await device.stage(SCALE);
    assert.ok(staged.persistentBytes > 0);
  });

  if (!subject.computes) return cases;

  cases.set("refuses a file that is no model, and stages others after it", async () => {
    await using device = await subject.open();
    const bytes = scaleModel();
    for (
      const broken of [truncated(bytes), new TextEncoder().encode("not a model"), bytes.slice(0, 0)]
    ) {
      await assert.rejects(
        device.stage({ ...SCALE, file: { bytes: broken } }),
        hasCode("invalid_argument"),
      );
    }
    await using staged = await device.stage(SCALE);
    assert.ok(staged.persistentBytes > 0);
  });

  cases.set("refuses data of the wrong size and runs on", async () => {
    await using loaded = await load();
    const { executable, lane } = loaded;
    const step = stepOf(rows(2));
    for (const data of [[], [new Uint8Array(31)], [new Uint8Array(33)]]) {
      const wrong = { ...step, inputs: [data] };
      const result = await ended((done) => executable.start(lane, wrong, Infinity, done));
      assert.ok(hasCode("invalid_argument")(result.error), String(result.error));
      result.release();
    }
    const result = await run(loaded);
    assertDoubled(result, 1, 1);
    result.release();
  });

  return cases;
}

/** Whether a value is a {@linkcode SluiceError} of this code. */
export function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof SluiceError && error.code === code;
}

function rows(count: number, seed = 1) {
  return [fp32Tensor("x", [count, WIDTH], seededValues(seed, count * WIDTH))];
}

/** What models hold. The device's own overhead may come with the first one and stay. */
function modelBytes(device: Device): number {
  return device.memory().reduce((sum, use) => sum + (use.class === "overhead" ? 0 : use.bytes), 0);
}
