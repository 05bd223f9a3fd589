import assert from "node:assert/strict";
import fc from "fast-check";
import { Environment } from "../../../ffi/onnxruntime/environment.ts";
import { openOnnxRuntime } from "../../../ffi/onnxruntime/library.ts";
import { SequenceStates } from "../../../models/cpu/sequence_states.ts";
import type { StateBatch } from "../../../models/cpu/state_batch.ts";
import type { SequenceState } from "../../../models/device.ts";
import type { CarriedTensor } from "../../../models/model.ts";
import { byteLength, type Tensor } from "../../../models/tensor.ts";
import { hasCode } from "../../conformance/device.ts";
import { fp32Tensor } from "../../conformance/device_models.ts";

const CARRY: readonly CarriedTensor[] = [
  { input: "h", output: "h_next", datatype: "FP32", shape: [1, 4], batchAxis: 0 },
  { input: "m", output: "m_next", datatype: "INT16", shape: [2, 1, 3], batchAxis: 1 },
  { input: "n", output: "n_next", datatype: "UINT8", shape: [3, 2, 1], batchAxis: 2 },
];
const ROW_BYTES = CARRY.reduce((sum, { datatype, shape }) => sum + byteLength(datatype, shape), 0);

/** Runs a check with an environment to open sequences in. */
function withEnvironment(check: (environment: Environment) => void): void {
  using runtime = openOnnxRuntime();
  using environment = new Environment(runtime, { threads: 2, spin: false, arenaBytes: 1 << 30 });
  check(environment);
}

/** Runs a check with sequences; every byte is back afterwards. */
function withStates(
  carry: readonly CarriedTensor[],
  check: (states: SequenceStates) => void,
  account?: (bytes: number) => void,
): void {
  withEnvironment((environment) => {
    const states = new SequenceStates(environment, carry, account);
    check(states);
    states[Symbol.dispose]();
    assert.equal(states.bytes, 0);
  });
}

/** An iteration that writes this byte to a row's every element. */
function iterate(batch: StateBatch, bytes: readonly number[]): void {
  batch.enter();
  for (const tensor of batch.next.tensors) {
    const rowBytes = tensor.data.length / bytes.length;
    for (const [row, byte] of bytes.entries()) {
      tensor.writeRow(row, new Uint8Array(rowBytes).fill(byte));
    }
  }
  batch.leave(true);
}

function filledWith(byte: number): Tensor[] {
  return CARRY.map(({ input: name, datatype, shape }) => {
    const data = new Uint8Array(byteLength(datatype, shape)).fill(byte);
    return { name, datatype, shape, data };
  });
}

Deno.test("join() gives back the batch of the same sequences: nothing is copied or allocated", () => {
  let changes = 0;
  withStates(CARRY, (states) => {
    const members = [1, 2, 3].map(() => states.open(new Map()));
    const batch = states.join(members);
    iterate(batch, [1, 2, 3]);
    const { current, next } = batch;
    changes = 0;
    for (const expected of [next, current, next]) {
      assert.equal(states.join(members), batch);
      batch.enter();
      batch.leave(true);
      assert.equal(batch.current, expected);
    }
    assert.equal(changes, 0);
    assert.notEqual(states.join(members.toReversed()), batch);
  }, () => changes++);
});

Deno.test("a batch whose iteration failed reads what it read before", () => {
  withStates(CARRY, (states) => {
    const members = [states.open(new Map()), states.open(new Map())];
    const batch = states.join(members);
    iterate(batch, [1, 2]);
    batch.enter();
    for (const { data } of batch.next.tensors) data.fill(9);
    batch.leave(false);
    assert.deepEqual(members.map((state) => state.read()), [filledWith(1), filledWith(2)]);
  });
});

Deno.test("sequences keep their rows and never take more than twice their bytes, whoever joins and leaves", () => {
  const change = fc.oneof(
    fc.record({ kind: fc.constant("open" as const) }),
    fc.record({ kind: fc.constant("close" as const), which: fc.nat() }),
    fc.record({ kind: fc.constant("run" as const), order: fc.array(fc.nat(), { minLength: 1 }) }),
  );
  withEnvironment((environment) =>
    fc.assert(fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      let bound = 0, held = 0, byte = 0;
      const account = (bytes: number) => {
        held += bytes;
        assert.ok(held <= bound, `${held} bytes held; at most ${bound}`);
      };
      using states = new SequenceStates(environment, CARRY, account);
      const open: { readonly state: SequenceState; last: number }[] = [];
      for (const change of changes) {
        bound = 2 * ROW_BYTES * open.length;
        if (change.kind === "open") {
          bound += 2 * ROW_BYTES;
          open.push({ state: states.open(new Map()), last: 0 });
        } else if (open.length > 0 && change.kind === "close") {
          open.splice(change.which % open.length, 1)[0].state[Symbol.dispose]();
        } else if (open.length > 0 && change.kind === "run") {
          const chosen = Array.from(new Set(change.order.map((i) => open[i % open.length])));
          const batch = states.join(chosen.map(({ state }) => state));
          for (const one of chosen) one.last = ++byte % 256;
          iterate(batch, chosen.map(({ last }) => last));
        }
        for (const { state, last } of open) assert.deepEqual(state.read(), filledWith(last));
        assert.ok(held >= open.length * ROW_BYTES);
        assert.ok(held <= 2 * open.length * ROW_BYTES, "nothing of those that have left");
        assert.equal(states.bytes, held);
      }
    }))
  );
});

Deno.test("a state in flight is neither joined, read nor freed", () => {
  withStates(CARRY, (states) => {
    const [one, other] = [states.open(new Map()), states.open(new Map())];
    const batch = states.join([one]);
    batch.enter();
    for (
      const use of [
        () => states.join([one]),
        () => states.join([other, one]),
        () => one.read(),
        () => one[Symbol.dispose](),
      ]
    ) assert.throws(use, hasCode("internal"));
    batch.leave(true);
    assert.notEqual(states.join([other, one]), batch);
  });
});

Deno.test("join() refuses a sequence that is there twice", () => {
  withStates(CARRY, (states) => {
    const state = states.open(new Map());
    assert.throws(() => states.join([state, state]), hasCode("internal"));
    assert.deepEqual(state.read(), filledWith(0));
  });
});

Deno.test("open() starts from what is given by name, and from zeros", () => {
  withStates(CARRY, (states) => {
    const h = fp32Tensor("h", [1, 4], [1, 2, 3, 4]);
    const state = states.open(new Map([["h", h]]));
    assert.deepEqual(state.read(), [h, ...filledWith(0).slice(1)]);
  });
});

Deno.test("open() says which tensor there is no memory for, and holds nothing", () => {
  const huge: CarriedTensor = { ...CARRY[0], input: "cache", shape: [1, 2 ** 45] };
  withStates([CARRY[1], huge], (states) => {
    assert.throws(() => states.open(new Map()), (error: Error) => {
      assert.match(error.message, /140737488355328 bytes of "cache"/);
      return hasCode("out_of_memory")(error);
    });
    assert.equal(states.bytes, 0);
  });
});
