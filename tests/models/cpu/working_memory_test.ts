import assert from "node:assert/strict";
import fc from "fast-check";
import {
  inputElements,
  iterationElements,
  WorkingMemory,
} from "../../../models/cpu/working_memory.ts";
import type { TensorShape } from "../../../models/tensor.ts";
import { recurrentModel } from "../../fixtures/sequence_models.ts";

const MIB = 1 << 20;

Deno.test("inputElements() adds up all inputs, scalars as one", () => {
  const inputs: TensorShape[] = [
    { name: "a", datatype: "FP32", shape: [2, 3] },
    { name: "b", datatype: "INT64", shape: [] },
    { name: "c", datatype: "FP32", shape: [0, 5] },
  ];
  assert.equal(inputElements(inputs), 7);
});

Deno.test("iterationElements() adds what sequences carry over, for each of them", () => {
  const inputs: TensorShape[] = [{ name: "index", datatype: "INT64", shape: [3] }];
  const model = recurrentModel();
  assert.equal(iterationElements({ key: "", inputs }, model), 3);
  assert.equal(iterationElements({ key: "", inputs, sequences: 3 }, model), 3 + 3 * (6 + 1));
});

Deno.test("estimate() gives the smallest sample that is as large", () => {
  const memory = new WorkingMemory([
    { elements: 100, arenaBytes: 7 * MIB, tensorBytes: 5 * MIB },
    { elements: 10, arenaBytes: MIB, tensorBytes: 1000 },
  ]);
  assert.equal(memory.estimate(1), MIB);
  assert.equal(memory.estimate(10), MIB);
  assert.equal(memory.estimate(11), 7 * MIB);
  assert.equal(memory.estimate(100), 7 * MIB);
});

Deno.test("estimate() grows beyond the samples as they grew, rounded up to a power of two", () => {
  const linear = new WorkingMemory([
    { elements: 10, arenaBytes: 3 * MIB, tensorBytes: 2 * MIB },
    { elements: 20, arenaBytes: 6 * MIB, tensorBytes: 4 * MIB },
  ]);
  assert.equal(linear.estimate(40), 16 * MIB);
  const square = new WorkingMemory([
    { elements: 10, arenaBytes: 3 * MIB, tensorBytes: 2 * MIB },
    { elements: 20, arenaBytes: 14 * MIB, tensorBytes: 8 * MIB },
  ]);
  assert.equal(square.estimate(40), 64 * MIB);
});

Deno.test("estimate() grows with the tensors when a run was too small to fill the arena's block", () => {
  const memory = new WorkingMemory([{ elements: 1, arenaBytes: MIB, tensorBytes: 256 }]);
  assert.equal(memory.estimate(1024), MIB);
  assert.equal(memory.estimate(262_144), 256 * MIB);
});

Deno.test("estimate() guesses by the inputs' size when nothing was measured", () => {
  const memory = new WorkingMemory([]);
  assert.equal(memory.estimate(1), MIB);
  assert.ok(memory.estimate(MIB) > 4 * MIB);
});

Deno.test("estimate() never falls when inputs grow", () => {
  const sample = fc.record({
    elements: fc.nat(10_000),
    arenaBytes: fc.nat(100 * MIB),
    tensorBytes: fc.nat(50 * MIB),
  });
  fc.assert(
    fc.property(
      fc.array(sample, { maxLength: 3 }),
      fc.nat(20_000),
      fc.nat(20_000),
      (samples, a, b) => {
        const memory = new WorkingMemory(samples);
        const [small, large] = [Math.min(a, b), Math.max(a, b)];
        const bytes = memory.estimate(small);
        assert.ok(Number.isSafeInteger(bytes) && bytes >= 0);
        assert.ok(bytes <= memory.estimate(large));
      },
    ),
  );
});
