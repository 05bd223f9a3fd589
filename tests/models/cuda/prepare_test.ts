import assert from "node:assert/strict";
import { type Initializer, type Node, onnxModel } from "../../fixtures/onnx.ts";
import * as fixtures from "../../fixtures/onnx.ts";
import { prepared } from "./reference.ts";

const VECTOR = [
  { name: "a", datatype: "FP32", shape: [2], raw: fixtures.fp32([1, 2]) },
  { name: "b", datatype: "FP32", shape: [2], raw: fixtures.fp32([3, 5]) },
] satisfies Initializer[];

function model(nodes: readonly Node[], initializers: readonly Initializer[] = VECTOR) {
  return onnxModel({
    inputs: [{ name: "x", datatype: "FP32", shape: ["n", 2] }],
    outputs: [{ name: "y", datatype: "FP32", shape: ["n", 2] }],
    initializers,
    nodes,
  });
}

Deno.test("prepareGraph() names the operator and the node that the device does not run", async () => {
  const convolution = model([{ op: "Conv", inputs: ["x", "a"], outputs: ["y"] }]);
  await assert.rejects(prepared(convolution), {
    code: "unsupported",
    message: 'operator Conv (node "y") is not one that the cuda device runs; --device cpu does',
  });
  const foreign = model([{ op: "Add", domain: "com.example", inputs: ["x", "a"], outputs: ["y"] }]);
  await assert.rejects(prepared(foreign), /operator com\.example:Add \(node "y"\)/);
});

Deno.test("prepareGraph() leaves out what no output depends on", async () => {
  const { graph } = await prepared(model([
    { op: "Conv", inputs: ["x", "b"], outputs: ["unread"] },
    { op: "Add", inputs: ["x", "a"], outputs: ["y"] },
  ]));
  assert.deepEqual(graph.nodes.map(({ operator }) => operator), ["Add"]);
  assert.deepEqual([...graph.weights.keys()], ["a"]);
});

Deno.test("prepareGraph() computes what depends on constants alone, and keeps the result", async () => {
  const { graph } = await prepared(model([
    { op: "Mul", inputs: ["a", "b"], outputs: ["product"] },
    { op: "Sub", inputs: ["product", "b"], outputs: ["difference"] },
    { op: "Add", inputs: ["x", "difference"], outputs: ["y"] },
  ]));
  assert.deepEqual(graph.nodes.map(({ operator }) => operator), ["Add"]);
  assert.deepEqual([...graph.weights], [["difference", 0]]);
  assert.deepEqual([...new Float32Array(graph.image.buffer, 0, 2)], [0, 5]);
});

Deno.test("prepareGraph() does not count what only says what to do as weights", async () => {
  const axes: Initializer = { name: "axes", datatype: "INT64", shape: [1], values: [0] };
  const shape: Initializer = { name: "shape", datatype: "INT64", shape: [2], values: [-1, 2] };
  const { graph } = await prepared(model([
    { op: "Unsqueeze", inputs: ["x", "axes"], outputs: ["h"] },
    { op: "Reshape", inputs: ["h", "shape"], outputs: ["y"] },
  ], [axes, shape]));
  assert.equal(graph.image.length, 0);
});

Deno.test("prepareGraph() takes an input's initialiser for a default, not for a constant", async () => {
  const { graph } = await prepared(fixtures.optionalInputModel());
  assert.deepEqual(graph.nodes.map(({ operator }) => operator), ["Mul"]);
  assert.deepEqual([...graph.weights.keys()], ["k"]);
});

Deno.test("prepareGraph() refuses constants that do not go together", async () => {
  const wide: Initializer = {
    name: "b",
    datatype: "FP32",
    shape: [3],
    raw: fixtures.fp32([1, 2, 3]),
  };
  const broken = model([
    { op: "Add", inputs: ["a", "b"], outputs: ["sum"] },
    { op: "Add", inputs: ["x", "sum"], outputs: ["y"] },
  ], [VECTOR[0], wide]);
  await assert.rejects(prepared(broken), {
    code: "invalid_argument",
    message: 'operator Add (node "sum") cannot run: shapes [2] and [3] cannot be broadcast',
  });
});

Deno.test("prepareGraph() refuses values that are computed twice, too late or never", async () => {
  const relu = (input: string, output: string): Node => ({
    op: "Relu",
    inputs: [input],
    outputs: [output],
  });
  const cases: [readonly Node[], string][] = [
    [
      [relu("x", "h"), relu("h", "h"), relu("h", "y")],
      'operator Relu (node "h") computes "h", which is there already',
    ],
    [
      [relu("x", "a"), { op: "Add", inputs: ["x", "a"], outputs: ["y"] }],
      'operator Relu (node "a") computes "a", which is there already',
    ],
    [
      [relu("h", "y"), relu("x", "h")],
      'operator Relu (node "y") reads "h", which no node before it computes',
    ],
    [[], 'output "y" is computed by no node'],
    [[{ ...relu("x", "h"), outputs: ["h", "y"] }], 'output "y" is computed by no node'],
  ];
  for (const [nodes, message] of cases) {
    await assert.rejects(prepared(model(nodes)), { code: "invalid_argument", message });
  }
});

Deno.test("prepareGraph() refuses versions of the operator set that broadcast otherwise", async () => {
  const old = onnxModel({
    opset: 6,
    inputs: [{ name: "x", datatype: "FP32", shape: [2, 2] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [2, 2] }],
    initializers: VECTOR,
    nodes: [{
      op: "Add",
      inputs: ["x", "a"],
      outputs: ["y"],
      attributes: { broadcast: { int: 1 }, axis: { int: 0 } },
    }],
  });
  await assert.rejects(prepared(old), {
    code: "unsupported",
    message: "version 6 of ONNX's operator set is not one that the cuda device runs: expected 7 " +
      "or newer",
  });
});

Deno.test("prepareGraph() refuses constants that the host cannot hold, or no integer is", async () => {
  const floats: Initializer = {
    name: "a",
    datatype: "FP32",
    shape: [1],
    raw: fixtures.fp32([NaN]),
  };
  const cast = { to: { int: 7 } };
  const size: Initializer = { name: "size", datatype: "INT64", shape: [2], values: [1e5, 1e5] };
  const cases: [readonly Node[], string][] = [
    [
      [{ op: "Cast", inputs: ["a"], outputs: ["i"], attributes: cast }],
      'operator Cast (node "i") turns NaN into INT64, which has no such number',
    ],
    [
      [{ op: "ConstantOfShape", inputs: ["size"], outputs: ["i"] }],
      'operator ConstantOfShape (node "i") cannot run: a value of shape [100000,100000] has more ' +
      "than 4194304 elements, the most that are computed beforehand",
    ],
  ];
  for (const [nodes, message] of cases) {
    const sum: Node = { op: "Add", inputs: ["x", "i"], outputs: ["y"] };
    await assert.rejects(prepared(model([...nodes, sum], [floats, size])), {
      code: "invalid_argument",
      message,
    });
  }
});
