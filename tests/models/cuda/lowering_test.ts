import assert from "node:assert/strict";
import fc from "fast-check";
import { openCpuDevice } from "../../../models/cpu/mod.ts";
import type { Tensor } from "../../../models/tensor.ts";
import { relativeDifference } from "../../../models/tensor_difference.ts";
import { fp32Tensor, modelOf, outputsOf, stepOf } from "../../conformance/device_models.ts";
import {
  type Attribute,
  fp32,
  type Initializer,
  int64,
  mlpModel,
  type Node,
  onnxModel,
  optionalInputModel,
  seededValues,
  weights,
} from "../../fixtures/onnx.ts";
import { answers, planFor, prepared } from "./reference.ts";
import { randomModels } from "./random_graphs.ts";

function x(...shape: number[]): Tensor {
  const count = shape.reduce((product, dim) => product * dim, 1);
  return fp32Tensor("x", shape, seededValues(3, count));
}

/** A model of one input x and one output y, both of any rank. */
function modelWith(
  nodes: readonly Node[],
  initializers: readonly Initializer[] = [],
  opset = 17,
): Uint8Array<ArrayBuffer> {
  return onnxModel({
    opset,
    inputs: [{ name: "x", datatype: "FP32" }],
    outputs: [{ name: "y", datatype: "FP32" }],
    initializers,
    nodes,
  });
}

function integers(name: string, ...values: number[]): Initializer {
  return { name, datatype: "INT64", shape: [values.length], raw: int64(values) };
}

/** Asserts that plans answer as ONNX Runtime does, and gives the kernels that they launch. */
async function assertRight(
  bytes: Uint8Array<ArrayBuffer>,
  inputs: readonly Tensor[],
): Promise<string[]> {
  const expected = await onnxRuntimeAnswers(bytes, inputs);
  const model = await prepared(bytes);
  const given = answers(model, inputs);
  assert.equal(given.length, expected.length);
  for (const [i, { name, datatype, shape, data }] of given.entries()) {
    const { data: values, ...declared } = expected[i];
    assert.deepEqual({ name, datatype, shape }, declared);
    const difference = relativeDifference(datatype, data, values);
    assert.ok(difference <= 1e-5, `${name} differs by ${difference}`);
  }
  return planFor(model, inputs).launches.map(({ kernel }) => kernel);
}

async function onnxRuntimeAnswers(
  bytes: Uint8Array<ArrayBuffer>,
  inputs: readonly Tensor[],
): Promise<Tensor[]> {
  await using device = openCpuDevice({ threads: 1 });
  await using staged = await device.stage(modelOf("model", bytes));
  await using executable = await staged.upload();
  return await outputsOf(executable, device.openLane(0), stepOf(inputs));
}

Deno.test("planIteration() plans random graphs so that they answer as ONNX Runtime does", async () => {
  await fc.assert(
    fc.asyncProperty(randomModels(), async ({ bytes, inputs }) => {
      await assertRight(bytes, inputs);
    }),
    { numRuns: 60, seed: 5 },
  );
});

Deno.test("planIteration() makes one launch of a product, its bias and its activation", async () => {
  const bias = weights("b", [5], 2);
  const layer = (activation: string, ...inputs: string[]): Node[] => [
    { op: "MatMul", inputs: ["x", "w"], outputs: ["product"] },
    { op: "Add", inputs, outputs: ["sum"] },
    { op: activation, inputs: ["sum"], outputs: ["y"] },
  ];
  const w = weights("w", [4, 5], 1);
  for (const activation of ["Relu", "Sigmoid", "Tanh"]) {
    for (const inputs of [["product", "b"], ["b", "product"]]) {
      const bytes = modelWith(layer(activation, ...inputs), [w, bias]);
      assert.deepEqual(await assertRight(bytes, [x(3, 4)]), ["gemm_f32_few_rows"]);
    }
  }
  assert.deepEqual(
    await assertRight(mlpModel(1, [6, 5, 4]), [x(20, 6)]),
    ["gemm_f32", "gemm_f32"],
  );
});

Deno.test("planIteration() does not read a bias that counts for nothing", async () => {
  const b: Initializer = { name: "b", datatype: "FP32", shape: [5], raw: fp32(Array(5).fill(NaN)) };
  const product: Node = {
    op: "Gemm",
    inputs: ["x", "w", "b"],
    outputs: ["y"],
    attributes: { beta: { float: 0 } },
  };
  const bytes = modelWith([product], [weights("w", [4, 5], 1), b]);
  assert.deepEqual(await assertRight(bytes, [x(3, 4)]), ["gemm_f32_few_rows"]);
});

Deno.test("planIteration() leaves what others read, or what would widen the result, on its own", async () => {
  const product: Node = { op: "MatMul", inputs: ["x", "w"], outputs: ["p"] };
  const w = weights("w", [4, 4], 1);
  const readTwice = modelWith([
    product,
    { op: "Relu", inputs: ["p"], outputs: ["r"] },
    { op: "Add", inputs: ["p", "r"], outputs: ["y"] },
  ], [w]);
  assert.deepEqual(await assertRight(readTwice, [x(3, 4)]), [
    "gemm_f32_few_rows",
    "unary_relu_f32",
    "binary_add_f32_flat",
  ]);
  const widened = modelWith([
    product,
    { op: "Add", inputs: ["p", "b"], outputs: ["y"] },
  ], [w, weights("b", [2, 1, 4], 2)]);
  assert.deepEqual(await assertRight(widened, [x(3, 4)]), [
    "gemm_f32_few_rows",
    "binary_add_f32",
  ]);
  const itself = modelWith([product, { op: "Add", inputs: ["p", "p"], outputs: ["y"] }], [w]);
  assert.equal((await assertRight(itself, [x(3, 4)])).length, 2);
  const laterBias = modelWith([
    product,
    { op: "Tanh", inputs: ["x"], outputs: ["later"] },
    { op: "Add", inputs: ["p", "later"], outputs: ["y"] },
  ], [w]);
  assert.equal((await assertRight(laterBias, [x(3, 4)])).length, 3);
});

Deno.test("planIteration() multiplies stacks of matrices, broadcast in any way", async () => {
  const cases: [left: number[], right: number[], launches: number][] = [
    [[5, 3, 4], [4, 6], 1],
    [[2, 5, 3, 4], [2, 5, 4, 6], 1],
    [[1, 3, 4], [7, 4, 6], 1],
    [[3, 4], [2, 7, 4, 6], 1],
    [[2, 1, 3, 4], [1, 5, 4, 6], 10],
    [[2, 5, 3, 4], [5, 4, 6], 10],
    [[4], [4, 6], 1],
    [[4], [3, 4, 6], 1],
    [[2, 3, 4], [4], 1],
    [[4], [4], 1],
    [[3, 0], [0, 6], 1],
    [[0, 3, 4], [4, 6], 0],
    [[0, 3, 4], [0, 4, 6], 0],
  ];
  for (const [left, right, launches] of cases) {
    const product: Node = { op: "MatMul", inputs: ["x", "w"], outputs: ["y"] };
    const bytes = modelWith([product], [weights("w", right, 1, 4)]);
    const kernels = await assertRight(bytes, [x(...left)]);
    assert.equal(kernels.length, launches, `[${left}] x [${right}]`);
  }
});

Deno.test("planIteration() takes sizes and axes from shapes that the request decides", async () => {
  const bytes = modelWith([
    { op: "Shape", inputs: ["x"], outputs: ["shape"] },
    { op: "Gather", inputs: ["shape", "zero"], outputs: ["rows"] },
    { op: "Slice", inputs: ["shape", "one", "end"], outputs: ["rest"] },
    { op: "Concat", inputs: ["rows", "minus", "two"], outputs: ["target"], attributes: axis(0) },
    { op: "Reshape", inputs: ["x", "target"], outputs: ["pairs"] },
    { op: "Cast", inputs: ["rest"], outputs: ["size"], attributes: { to: { int: 1 } } },
    { op: "Div", inputs: ["pairs", "size"], outputs: ["y"] },
  ], [
    integers("zero", 0),
    integers("one", 1),
    integers("end", 2),
    integers("minus", -1),
    integers("two", 2),
  ]);
  for (const rows of [1, 5]) {
    assert.deepEqual(await assertRight(bytes, [x(rows, 6)]), ["binary_div_f32_flat"]);
  }
});

Deno.test("planIteration() reads softmax's axis as the operator set's version says", async () => {
  const softmax = (opset: number, attributes?: Record<string, Attribute>) =>
    modelWith([{ op: "Softmax", inputs: ["x"], outputs: ["y"], attributes }], [], opset);
  for (const opset of [11, 13]) {
    for (const attributes of [undefined, axis(0), axis(1), axis(-1)]) {
      await assertRight(softmax(opset, attributes), [x(2, 3, 4)]);
    }
  }
});

Deno.test("planIteration() takes means over axes that are an attribute, an input, or all", async () => {
  const mean = (opset: number, inputs: string[], attributes?: Record<string, Attribute>) =>
    modelWith([{ op: "ReduceMean", inputs, outputs: ["y"], attributes }], [
      integers("axes", 0, 2),
    ], opset);
  const two = ["reduce_mean_f32", "reduce_mean_f32"];
  const apart = mean(13, ["x"], { axes: { ints: [-1, 0] }, keepdims: { int: 0 } });
  assert.deepEqual(await assertRight(apart, [x(2, 3, 4)]), two);
  assert.deepEqual(await assertRight(mean(18, ["x", "axes"]), [x(2, 3, 4)]), two);
  assert.equal((await assertRight(mean(18, ["x"]), [x(2, 3, 4)])).length, 1);
  const noop = mean(18, ["x"], { noop_with_empty_axes: { int: 1 } });
  assert.deepEqual(await assertRight(noop, [x(2, 3, 4)]), []);
});

Deno.test("planIteration() takes an optional input, or its default", async () => {
  const bytes = optionalInputModel();
  const k = fp32Tensor("k", [1], [5]);
  for (const inputs of [[x(2, 4)], [x(2, 4), k]]) await assertRight(bytes, inputs);
});

Deno.test("planIteration() runs nothing for tensors without elements", async () => {
  assert.deepEqual(await assertRight(mlpModel(1, [6, 5, 4]), [x(0, 6)]), []);
});

Deno.test("planIteration() gives passed-through and constant outputs", async () => {
  const bytes = onnxModel({
    inputs: [{ name: "x", datatype: "INT64", shape: ["n"] }],
    outputs: ["same", "fixed", "size"].map((name) => ({ name, datatype: "INT64" as const })),
    initializers: [integers("three", 1, 2, 3)],
    nodes: [
      { op: "Identity", inputs: ["x"], outputs: ["same"] },
      { op: "Identity", inputs: ["three"], outputs: ["fixed"] },
      { op: "Shape", inputs: ["x"], outputs: ["size"] },
    ],
  });
  const input: Tensor = { name: "x", datatype: "INT64", shape: [2], data: int64([7, -9]) };
  assert.deepEqual(await assertRight(bytes, [input]), []);
});

Deno.test("planIteration() brings neighbouring outputs to the host by one copy", async () => {
  const bytes = onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: ["n", 100] }],
    outputs: ["a", "b", "c"].map((name) => ({ name, datatype: "FP32" as const })),
    nodes: ["a", "b", "c"].map((name) => ({ op: "Tanh", inputs: ["x"], outputs: [name] })),
  });
  await assertRight(bytes, [x(3, 100)]);
  const plan = planFor(await prepared(bytes), [x(3, 100)]);
  assert.equal(plan.copiesOut.length, 1);
  // Input and outputs, each rounded up to 256.
  assert.equal(plan.arenaBytes, 4 * 1280);
  assert.equal(plan.hostBytes, 4 * 1280);
});

Deno.test("planIteration() refuses what the device does not compute, and says where", async () => {
  const cases: [Uint8Array<ArrayBuffer>, string][] = [
    [
      modelWith([{ op: "Reshape", inputs: ["x", "x"], outputs: ["y"] }]),
      'operator Reshape (node "y") takes input 1, "x", from values that only an iteration knows; ' +
      "the cuda device needs it beforehand",
    ],
    [
      modelWith([{ op: "Add", inputs: ["x", "i"], outputs: ["y"] }], [integers("i", 1)]),
      'operator Add (node "y") has an input of INT64, and the cuda device runs it on FP32',
    ],
    [
      modelWith([{ op: "Concat", inputs: ["x", "x"], outputs: ["y"], attributes: axis(0) }]),
      'operator Concat (node "y") works on values that only an iteration knows; the cuda device ' +
      "runs it on shapes and constants",
    ],
    [
      modelWith([{ op: "Cast", inputs: ["x"], outputs: ["y"], attributes: { to: { int: 10 } } }]),
      'operator Cast (node "y") turns FP32 into FP16, which the cuda device does not',
    ],
    [
      modelWith([{ op: "Gemm", inputs: ["x", "w"], outputs: ["y"] }], [weights("w", [5, 5], 1)]),
      'operator Gemm (node "y") cannot run: matrices of shapes [2,4] and [5,5] have no product',
    ],
    [
      modelWith([{
        op: "Gemm",
        inputs: ["x", "w"],
        outputs: ["y"],
        attributes: { alpha: { string: "one" } },
      }], [weights("w", [4, 5], 1)]),
      'operator Gemm (node "y") has an attribute "alpha" that is not a number',
    ],
  ];
  for (const [bytes, message] of cases) {
    const model = await prepared(bytes);
    assert.throws(() => planFor(model, [x(2, 4)]), { name: "SluiceError", message });
  }
});

Deno.test("planIteration() broadcasts along six axes by turns, and no more", async () => {
  const shape = [2, 3, 2, 3, 2, 3, 2];
  const every = (parity: number) => shape.map((dim, axis) => axis % 2 === parity ? dim : 1);
  const sum = (...right: number[]) =>
    modelWith([{ op: "Add", inputs: ["x", "w"], outputs: ["y"] }], [weights("w", right, 1)]);
  assert.deepEqual(
    await assertRight(sum(...every(1).slice(0, 6)), [x(...every(0).slice(0, 6))]),
    ["binary_add_f32"],
  );
  const seven = await prepared(sum(...every(1)));
  assert.throws(() => planFor(seven, [x(...every(0))]), {
    code: "unsupported",
    message: /along 7 axes by turns; the cuda device does along 6$/,
  });
});

Deno.test("planIteration() shares out more products than a grid takes", async () => {
  const product: Node = { op: "MatMul", inputs: ["x", "w"], outputs: ["y"] };
  const many = modelWith([product], [weights("w", [70_000, 2, 1], 1, 1)]);
  assert.equal((await assertRight(many, [x(70_000, 1, 2)])).length, 2);
});

Deno.test("planIteration() refuses what is larger than kernels count", async () => {
  const sized = (...shape: number[]) => ({ ...x(0), shape });
  const product: Node = { op: "MatMul", inputs: ["x", "w"], outputs: ["y"] };
  const rows = await prepared(modelWith([product], [weights("w", [1, 1], 1)]));
  assert.throws(() => planFor(rows, [sized(4_194_241, 1)]), {
    code: "unsupported",
    message: 'operator MatMul (node "y") has 4194241 rows: too many for the cuda device',
  });
  const stacks = await prepared(modelWith([product], [weights("w", [1, 3000, 1, 1], 1)]));
  assert.throws(() => planFor(stacks, [sized(3000, 1, 1, 1)]), {
    code: "unsupported",
    message: 'operator MatMul (node "y") broadcasts stacks [3000,1] and [1,3000], which takes ' +
      "9000000 launches; the cuda device does 4096",
  });
  const sum: Node = { op: "Add", inputs: ["x", "w"], outputs: ["y"] };
  const square = await prepared(modelWith([sum], [weights("w", [50_000], 1)]));
  assert.throws(() => planFor(square, [sized(50_000, 1)]), {
    message: /^operator Add \(node "y"\) cannot run: a result of shape \[50000,50000\] has more /,
  });
});

function axis(int: number): Record<string, Attribute> {
  return { axis: { int } };
}
