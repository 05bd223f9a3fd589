import assert from "node:assert/strict";
import { decodeGraph, Initializer } from "../../../models/onnx/graph.ts";
import { externalDataModel, fp32, mlpModel, onnxModel, truncated } from "../../fixtures/onnx.ts";
import { refusal } from "../refusal.ts";

const X = { name: "x", datatype: "FP32", shape: ["n"] } as const;
const Y = { name: "y", datatype: "FP32", shape: ["n"] } as const;

Deno.test("decodeGraph() gives nodes with attributes of every kind", () => {
  const tensor = { name: "", datatype: "INT64", shape: [1], values: [7] } as const;
  const { nodes, opset } = decodeGraph(
    onnxModel({
      opset: 15,
      inputs: [X],
      outputs: [Y],
      nodes: [{
        op: "Anything",
        domain: "com.example",
        inputs: ["x", "", "z"],
        outputs: ["y"],
        attributes: {
          int: { int: -3 },
          zero: { int: 0 },
          float: { float: 0.5 },
          string: { string: "text" },
          ints: { ints: [1, -1, 0] },
          none: { ints: [] },
          floats: { floats: [0.25, -2] },
          tensor: { tensor },
          graph: { graph: { inputs: [], outputs: [], nodes: [] } },
        },
      }],
    }),
    "m.onnx",
  );
  assert.equal(opset, 15);
  const [{ attributes, ...node }] = nodes;
  assert.deepEqual(node, {
    name: "",
    operator: "Anything",
    domain: "com.example",
    inputs: ["x", "", "z"],
    outputs: ["y"],
  });
  const { tensor: read, ...plain } = Object.fromEntries(attributes);
  assert.deepEqual(plain, {
    int: -3,
    zero: 0,
    float: 0.5,
    string: "text",
    ints: [1, -1, 0],
    none: [],
    floats: [0.25, -2],
  });
  assert.ok(read instanceof Initializer);
  assert.deepEqual(Array.from(read.tensor().data), [7, 0, 0, 0, 0, 0, 0, 0]);
});

Deno.test("decodeGraph() gives initialisers whose values are read when asked for", () => {
  const { nodes, initializers } = decodeGraph(mlpModel(1, [2, 3]), "m.onnx");
  assert.deepEqual(nodes.map(({ operator }) => operator), ["Gemm"]);
  const bias = initializers.get("b0")!;
  assert.equal(bias.datatype, "FP32");
  assert.equal(bias.tensor().data.length, 12);
});

Deno.test("decodeGraph() says where external values lie, and takes them", () => {
  const { model, data } = externalDataModel("folder/weights.bin");
  const k = decodeGraph(model, "m.onnx").initializers.get("k")!;
  assert.deepEqual(k.header.external, { location: "folder/weights.bin", offset: 0, length: 16 });
  assert.deepEqual(k.tensor(data), { name: "k", datatype: "FP32", shape: [4], data });
});

Deno.test("Initializer.datatype refuses what is no number", () => {
  const strings = { name: "words", datatype: "BYTES", shape: [1], strings: [fp32([1])] } as const;
  const bytes = onnxModel({ inputs: [X], outputs: [Y], initializers: [strings], nodes: [] });
  const words = decodeGraph(bytes, "m.onnx").initializers.get("words")!;
  assert.throws(() => words.datatype, {
    code: "unsupported",
    message: 'constant "words" is of BYTES; expected numbers',
  });
});

Deno.test("decodeGraph() refuses a file that breaks off", () => {
  assert.throws(
    () => decodeGraph(truncated(mlpModel()), "m.onnx"),
    refusal("invalid_argument", /^m\.onnx is no ONNX file that can be read: the model announces /),
  );
});
