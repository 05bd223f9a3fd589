/** What every device has to keep to where a model runs in sequences. */
import assert from "node:assert/strict";
import type { Device, IterationResult, SequenceState, Step } from "../../models/device.ts";
import type { Model } from "../../models/model.ts";
import { seededRandom } from "../../models/random.ts";
import type { Tensor } from "../../models/tensor.ts";
import { int64, scaleModel, seededValues } from "../fixtures/onnx.ts";
import { descentModel, recurrentModel, TABLE_ROWS } from "../fixtures/sequence_models.ts";
import { type DeviceSubject, endOf, hasCode, type Loaded, loadOn } from "./device.ts";
import { fp32Tensor, fp32Values, modelOf, signatureFor, stepOf } from "./device_models.ts";

const MEMORY_SHAPE = [2, 1, 3];
const MOST_ROWS = 8;

/** Registers the suite for a device. */
export function sequenceConformance(subject: DeviceSubject): void {
  const test = (what: string, check: () => Promise<void>) =>
    Deno.test(`${subject.name} ${what}`, check);

  const load = (model: Model = recurrentModel()) =>
    loadOn(subject, model, {
      ...signatureFor([{ name: "index", datatype: "INT64", shape: [MOST_ROWS] }]),
      sequences: MOST_ROWS,
    });

  function run(
    { executable, lane }: Loaded,
    step: Step,
    expectedMicros = Infinity,
  ): Promise<IterationResult> {
    return endOf(subject, (done) => executable.start(lane, step, expectedMicros, done));
  }

  /** Copies of an iteration's outputs by name. */
  async function outputsOf(loaded: Loaded, step: Step, expectedMicros?: number) {
    const result = await run(loaded, step, expectedMicros);
    assert.equal(result.error, undefined);
    const outputs = result.outputs.map((tensor) => ({ ...tensor, data: tensor.data.slice() }));
    result.release();
    return outputs;
  }

  /** The error of an iteration that fails. */
  async function errorOf(loaded: Loaded, step: Step): Promise<unknown> {
    const result = await run(loaded, step);
    assert.deepEqual(result.outputs, []);
    result.release();
    return result.error;
  }

  /** A sequence made of plain requests, its state carried by the client. */
  class ByHand {
    state: Tensor[] = [
      fp32Tensor("memory", MEMORY_SHAPE, Array(6).fill(0)),
      { name: "last", datatype: "INT64", shape: [1], data: int64([0]) },
    ];

    constructor(readonly loaded: Loaded) {}

    /** The output `y` of one more iteration. */
    async next(index: number): Promise<Tensor> {
      const first = { name: "index", datatype: "INT64", shape: [1], data: int64([index]) } as const;
      const [memory, y, last] = await outputsOf(this.loaded, stepOf([first, ...this.state]));
      this.state = [{ ...memory, name: "memory" }, { ...last, name: "last" }];
      return y;
    }
  }

  test("runs a sequence as plain requests that carry its state by hand", async () => {
    await using loaded = await load();
    using state = loaded.executable.openSequence();
    const byHand = new ByHand(loaded);
    assert.deepEqual(state.read(), byHand.state);
    for (const index of [3, 1, 4, 1, 5, 9]) {
      const outputs = await outputsOf(loaded, indexStep([index], [state]));
      assert.deepEqual(outputs, [await byHand.next(index)]);
      assert.deepEqual(state.read(), byHand.state);
    }
  });

  test("gives each sequence what it gets alone, whatever joins and leaves", async () => {
    for (const seed of [1, 2, 3]) {
      await using loaded = await load();
      const { device, executable, staged } = loaded;
      const random = seededRandom(seed);
      const open: { readonly state: SequenceState; readonly byHand: ByHand }[] = [];
      for (let iteration = 0; iteration < 40; iteration++) {
        while (open.length === 0 || open.length < MOST_ROWS && random() < 0.4) {
          open.push({ state: executable.openSequence(), byHand: new ByHand(loaded) });
        }
        if (random() < 0.3) shuffle(open, random);
        const batch = open.slice(0, 1 + Math.floor(random() * open.length));
        const indices = batch.map(() => Math.floor(random() * TABLE_ROWS));
        const step = indexStep(indices, batch.map(({ state }) => state));
        const [y] = await outputsOf(loaded, step, random() < 0.5 ? Infinity : 1);
        for (const [row, { state, byHand }] of batch.entries()) {
          const alone = await byHand.next(indices[row]);
          assert.deepEqual(rowOf(y, row), alone.data, `seed ${seed}, iteration ${iteration}`);
          assert.deepEqual(state.read(), byHand.state);
        }
        assert.ok(stateHeld(device) <= open.length * staged.stateBytes);
        while (open.length > 0 && random() < 0.3) {
          open.splice(Math.floor(random() * open.length), 1)[0].state[Symbol.dispose]();
          assert.ok(stateHeld(device) <= open.length * staged.stateBytes);
        }
      }
      for (const { state, byHand } of open) assert.deepEqual(state.read(), byHand.state);
    }
  });

  test("runs sequences on several lanes side by side", async () => {
    await using loaded = await load();
    const { device, executable } = loaded;
    using lane = device.openLane(loaded.lane.bytes);
    const lanes = [loaded, { ...loaded, lane }];
    const states = lanes.map(() => [executable.openSequence(), executable.openSequence()]);
    const byHand = states.map((batch) => batch.map(() => new ByHand(loaded)));
    for (const indices of [[1, 2], [3, 4], [5, 6]]) {
      const answers = await Promise.all(
        lanes.map((on, i) => outputsOf(on, indexStep(indices.map((n) => n + i), states[i]))),
      );
      for (const [i, [y]] of answers.entries()) {
        for (const [row, one] of byHand[i].entries()) {
          assert.deepEqual(rowOf(y, row), (await one.next(indices[row] + i)).data);
          assert.deepEqual(states[i][row].read(), one.state);
        }
      }
    }
  });

  test("goes on from the values that a sequence is opened with", async () => {
    await using loaded = await load();
    const { executable } = loaded;
    using first = executable.openSequence();
    for (const index of [2, 7]) await outputsOf(loaded, indexStep([index], [first]));
    const saved = first.read();
    using second = executable.openSequence(saved);
    using third = executable.openSequence(saved.slice(1));
    assert.deepEqual(second.read(), saved);
    assert.deepEqual(
      third.read(),
      [fp32Tensor("memory", MEMORY_SHAPE, Array(6).fill(0)), saved[1]],
    );
    const [y] = await outputsOf(loaded, indexStep([5, 5], [first, second]));
    assert.deepEqual(rowOf(y, 0), rowOf(y, 1));
    assert.deepEqual(first.read(), second.read());
    assert.notDeepEqual(first.read(), saved, "what was read is a copy");
  });

  test("refuses initial values that do not fit, naming them", async () => {
    await using loaded = await load();
    const { device, executable } = loaded;
    const memory = fp32Tensor("memory", MEMORY_SHAPE, Array(6).fill(1));
    const wrong: readonly (readonly [readonly Tensor[], RegExp])[] = [
      [[{ ...memory, name: "index" }], /"index" is not carried over; expected "memory", "last"/],
      [[{ ...memory, datatype: "INT32" }], /"memory" is INT32 of .*expected FP32 of .*\[2,1,3\]/],
      [[{ ...memory, shape: [1, 2, 3] }], /"memory" is FP32 of shape \[1,2,3\]; expected/],
      [[{ ...memory, data: memory.data.slice(1) }], /"memory" has 23 bytes; expected 24/],
      [[memory, memory], /"memory" is given twice/],
    ];
    for (const [initial, message] of wrong) {
      assert.throws(() => executable.openSequence(initial), (error: Error) => {
        assert.match(error.message, message);
        return hasCode("invalid_argument")(error);
      });
    }
    assert.equal(stateHeld(device), 0);
  });

  test("leaves the states of an iteration that fails as they were", async () => {
    await using loaded = await load();
    const { executable } = loaded;
    using one = executable.openSequence();
    using other = executable.openSequence();
    await outputsOf(loaded, indexStep([1, 2], [one, other]));
    const before = [one.read(), other.read()];
    const short = { ...indexStep([3, 4], [one, other]), inputs: [[new Uint8Array(15)]] };
    assert.ok(await errorOf(loaded, short) instanceof Error);
    const joinedAnew = { ...indexStep([3, 4], [other, one]), inputs: [[new Uint8Array(15)]] };
    assert.ok(await errorOf(loaded, joinedAnew) instanceof Error);
    if (subject.computes) {
      const outside = indexStep([3, TABLE_ROWS], [one, other]);
      assert.ok(hasCode("execution_failed")(await errorOf(loaded, outside)));
    }
    assert.deepEqual([one.read(), other.read()], before);
    using again = executable.openSequence(before[0]);
    const [y] = await outputsOf(loaded, indexStep([6, 6], [one, again]));
    assert.deepEqual(rowOf(y, 0), rowOf(y, 1));
  });

  test("names what sequences hold, and frees it with them", async () => {
    await using loaded = await load();
    const { device, executable, staged } = loaded;
    assert.ok(staged.stateBytes >= 32, "24 bytes of memory and 8 of last");
    assert.equal(stateHeld(device), 0);
    const states = [1, 2, 3].map(() => executable.openSequence());
    await outputsOf(loaded, indexStep([1, 2, 3], states));
    const [use, ...others] = device.memory().filter((use) => use.class === "state");
    assert.deepEqual(others, []);
    assert.equal(use.model, "recurrent");
    assert.ok(use.bytes > 0 && use.bytes <= 3 * staged.stateBytes);
    for (const [closed, state] of states.entries()) {
      state[Symbol.dispose]();
      state[Symbol.dispose]();
      assert.ok(stateHeld(device) <= (2 - closed) * staged.stateBytes);
    }
    assert.equal(stateHeld(device), 0);
  });

  test("frees the sequences of a model that is unloaded", async () => {
    await using loaded = await load();
    const { device, executable } = loaded;
    const state = executable.openSequence();
    await executable[Symbol.asyncDispose]();
    assert.equal(stateHeld(device), 0);
    state[Symbol.dispose]();
    assert.throws(() => executable.openSequence());
  });

  test("refuses states that are not those of a step's rows", async () => {
    await using loaded = await load();
    const { executable, staged } = loaded;
    await using twin = await staged.upload();
    using state = executable.openSequence();
    using foreign = twin.openSequence();
    const closed = executable.openSequence();
    closed[Symbol.dispose]();
    const { states: _, ...without } = indexStep([1], [state]);
    const before = state.read();
    const wrong = [
      without,
      { ...indexStep([1, 2], [state]) },
      { ...indexStep([1], [state]), signature: signatureFor([]) },
      indexStep([1], [foreign]),
      indexStep([1, 2], [state, closed]),
    ];
    for (const step of wrong) {
      assert.ok(hasCode("internal")(await errorOf(loaded, step)));
    }
    assert.deepEqual(state.read(), before);
  });

  test("opens no sequence of a model without a rule", async () => {
    await using loaded = await load(modelOf("scale", scaleModel()));
    assert.equal(loaded.staged.stateBytes, 0);
    assert.throws(() => loaded.executable.openSequence(), hasCode("internal"));
  });

  test("runs a sequence that nothing can be joined to", async () => {
    await using loaded = await load(descentModel());
    using state = loaded.executable.openSequence([fp32Tensor("w", [4], [4, 3, 2, 1])]);
    const rate = fp32Tensor("rate", [], [0.5]);
    const step = (states: SequenceState[]): Step => ({
      ...stepOf([rate]),
      signature: { ...signatureFor([rate]), sequences: states.length },
      states,
    });
    const losses: Tensor[] = [];
    for (let i = 0; i < 3; i++) losses.push(...await outputsOf(loaded, step([state])));
    assert.deepEqual(losses.map(({ name, shape }) => [name, shape]), Array(3).fill(["loss", []]));
    if (!subject.computes) return;
    assert.deepEqual(losses.flatMap(fp32Values), [10, 8, 6]);
    assert.deepEqual(state.read(), [fp32Tensor("w", [4], [2.5, 1.5, 0.5, -0.5])]);
    using other = loaded.executable.openSequence();
    assert.deepEqual(other.read(), [fp32Tensor("w", [4], [1, 2, 3, 4])], "from the file");
    const error = await errorOf(loaded, step([state, other]));
    assert.ok(hasCode("internal")(error));
    assert.match(String(error), /no axis/);
  });

  if (!subject.computes) return;

  test("starts a sequence from the file's values", async () => {
    const initial = [...seededValues(4, 6)];
    await using loaded = await load(recurrentModel(initial));
    using state = loaded.executable.openSequence();
    assert.deepEqual(state.read()[0], fp32Tensor("memory", MEMORY_SHAPE, initial));
    using given = loaded.executable.openSequence([
      fp32Tensor("memory", MEMORY_SHAPE, [1, 2, 3, 4, 5, 6]),
    ]);
    assert.deepEqual(fp32Values(given.read()[0]), [1, 2, 3, 4, 5, 6]);
  });
}

/** A step of {@linkcode recurrentModel}: an index for each sequence, each in a piece of its own. */
function indexStep(indices: readonly number[], states: readonly SequenceState[]): Step {
  const { length } = indices;
  const { key, inputs } = signatureFor([{ name: "index", datatype: "INT64", shape: [length] }]);
  return {
    signature: { key: `${key} with state`, inputs, sequences: length },
    rows: length,
    inputs: [indices.map((index) => int64([index]))],
    states,
  };
}

function rowOf({ data, shape }: Tensor, row: number): Uint8Array<ArrayBuffer> {
  const bytes = data.length / shape[0];
  return data.slice(row * bytes, (row + 1) * bytes);
}

function shuffle<T>(items: T[], random: () => number): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [items[i], items[j]] = [items[j], items[i]];
  }
}

function stateHeld(device: Device): number {
  const uses = device.memory().filter((use) => use.class === "state");
  return uses.reduce((sum, { bytes }) => sum + bytes, 0);
}
