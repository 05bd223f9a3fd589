/**
 * Models made up of the operators that the cuda device runs, in any order, for comparisons.
 *
 * @module
 */
import fc from "fast-check";
import type { Tensor } from "../../../models/tensor.ts";
import { fp32Tensor } from "../../conformance/device_models.ts";
import {
  type Attribute,
  fp32,
  type Initializer,
  int64,
  type Node,
  onnxModel,
  seededValues,
} from "../../fixtures/onnx.ts";

/** A model and a request for it. */
export interface RandomModel {
  /** The ONNX file. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** All of its inputs. */
  readonly inputs: readonly Tensor[];
  /** Its operators, for reports. */
  readonly operators: readonly string[];
}

/** Numbers that a step may choose by: which value, which of the possibilities. */
type Choices = readonly [number, number, number, number];

/** Models of one to twelve operators. */
export function randomModels(): fc.Arbitrary<RandomModel> {
  const choice = fc.nat(1000);
  return fc.record({
    rows: fc.integer({ min: 1, max: 12 }),
    columns: fc.integer({ min: 1, max: 9 }),
    steps: fc.array(
      fc.tuple(fc.constantFrom(...Object.keys(STEPS)), choice, choice, choice, choice),
      { minLength: 1, maxLength: 12 },
    ),
  }).map(({ rows, columns, steps }) => {
    const model = new Growing(rows, columns);
    for (const [name, ...choices] of steps) STEPS[name](model, choices);
    return model.finish();
  });
}

interface Value {
  readonly name: string;
  readonly shape: readonly number[];
}

/** A model to which operators are added. */
class Growing {
  readonly #input: Tensor;
  readonly #values: Value[];
  readonly #nodes: Node[] = [];
  readonly #initializers: Initializer[] = [];

  constructor(rows: number, columns: number) {
    this.#input = fp32Tensor("x", [rows, columns], seededValues(rows, rows * columns));
    this.#values = [this.#input];
  }

  /** Some value, one of those made last for small numbers. */
  pick(choice: number, fits: (value: Value) => boolean = () => true): Value | undefined {
    const fitting = this.#values.filter(fits);
    return fitting.at(-1 - choice % fitting.length);
  }

  constant(shape: readonly number[], seed: number, lowest = -1): string {
    const name = `c${this.#initializers.length}`;
    const count = shape.reduce((product, dim) => product * dim, 1);
    const values = Array.from(seededValues(seed, count), (value) => Math.max(lowest, value));
    this.#initializers.push({ name, datatype: "FP32", shape, raw: fp32(values) });
    return name;
  }

  integers(values: readonly number[]): string {
    const name = `c${this.#initializers.length}`;
    this.#initializers.push({
      name,
      datatype: "INT64",
      shape: [values.length],
      raw: int64(values),
    });
    return name;
  }

  add(
    op: string,
    inputs: readonly string[],
    shape: readonly number[],
    attributes?: Record<string, Attribute>,
  ): Value {
    const value = { name: `v${this.#values.length}`, shape };
    this.#values.push(value);
    this.#nodes.push({ op, inputs, outputs: [value.name], attributes });
    return value;
  }

  finish(): RandomModel {
    const shown = [...new Set([this.pick(0)!, this.pick(3)!])];
    const { name, datatype, shape } = this.#input;
    const bytes = onnxModel({
      opset: 13,
      inputs: [{ name, datatype, shape: ["rows", shape[1]] }],
      outputs: shown.map((value) => ({ name: value.name, datatype: "FP32" })),
      initializers: this.#initializers,
      nodes: this.#nodes,
    });
    return { bytes, inputs: [this.#input], operators: this.#nodes.map(({ op }) => op) };
  }
}

type Step = (model: Growing, choices: Choices) => void;

function unary(op: string): Step {
  return (model, [which]) => {
    const { name, shape } = model.pick(which)!;
    model.add(op, [name], shape);
  };
}

function binary(op: string, lowest?: number): Step {
  return (model, [which, how, seed, swapped]) => {
    const value = model.pick(which)!;
    const { shape } = value;
    const partner = model.pick(how, (other) => String(other.shape) === String(shape));
    const kept = shape.map((dim, axis) => (how >> axis) & 1 ? 1 : dim);
    const others = [
      partner?.name ?? value.name,
      model.constant(kept, seed, lowest),
      model.constant(shape.slice(how % (shape.length + 1)), seed, lowest),
      model.constant([], seed, lowest),
    ];
    const other = others[lowest === undefined ? how % 4 : 1 + how % 3];
    const operands = [value.name, other];
    model.add(op, lowest === undefined && swapped % 2 ? operands.reverse() : operands, shape);
  };
}

/** Each adds one operator, or a few, that fit what is there. */
const STEPS: Readonly<Record<string, Step>> = {
  Add: binary("Add"),
  Sub: binary("Sub"),
  Mul: binary("Mul"),
  // Nothing is divided by what is nearly zero.
  Div: binary("Div", 0.25),
  Relu: unary("Relu"),
  Sigmoid: unary("Sigmoid"),
  Tanh: unary("Tanh"),
  Identity: unary("Identity"),
  Sqrt(model, [which]) {
    const { name, shape } = model.pick(which)!;
    const square = model.add("Mul", [name, name], shape);
    model.add("Sqrt", [square.name], shape);
  },
  Pow(model, [which, how]) {
    const { name, shape } = model.pick(which)!;
    // Powers of powers leave what FP32 can hold.
    const bounded = model.add("Tanh", [name], shape);
    const exponent = how % 2 ? model.integers([2]) : model.constant([1], 0, 3);
    model.add("Pow", [bounded.name, exponent], shape.length === 0 ? [1] : shape);
  },
  Gemm(model, [which, how, seed, width]) {
    const value = model.pick(which, ({ shape }) => shape.length === 2)!;
    const [rows, columns] = value.shape;
    const [transA, transB] = [how & 1, (how >> 1) & 1];
    const [m, k] = transA ? [columns, rows] : [rows, columns];
    const n = 1 + width % 40;
    const weights = model.constant(transB ? [n, k] : [k, n], seed);
    const biases = [undefined, [n], [1, n], [m, 1], [m, n], []];
    const bias = biases[seed % biases.length];
    const inputs = [value.name, weights];
    if (bias !== undefined) inputs.push(model.constant(bias, seed + 1));
    model.add("Gemm", inputs, [m, n], {
      transA: { int: transA },
      transB: { int: transB },
      alpha: { float: 0.5 },
      beta: { float: 1.5 },
    });
  },
  MatMul(model, [which, how, seed, width]) {
    const value = model.pick(which, ({ shape }) => shape.length > 0)!;
    const { name, shape } = value;
    const [k, n] = [shape.at(-1)!, 1 + width % 20];
    const stack = shape.slice(0, -2);
    const right = how % 3 === 0 ? [k] : [...stack.slice(how % (stack.length + 1)), k, n];
    const left = shape.slice(0, -1);
    model.add(
      "MatMul",
      [name, model.constant(right, seed)],
      right.length === 1 ? left : [
        ...left,
        n,
      ],
    );
  },
  ReduceMean(model, [which, how, kept]) {
    const { name, shape } = model.pick(which)!;
    const axes = Array.from(shape.keys()).filter((axis) => (how >> axis) & 1);
    const all = axes.length === 0;
    const reduced = shape.flatMap((dim, axis) =>
      all || axes.includes(axis) ? (kept % 2 ? [1] : []) : [dim]
    );
    model.add("ReduceMean", [name], reduced, {
      ...(all ? {} : { axes: { ints: axes } }),
      keepdims: { int: kept % 2 },
    });
  },
  Softmax(model, [which, axis]) {
    const value = model.pick(which, ({ shape }) => shape.length > 0)!;
    model.add("Softmax", [value.name], value.shape, {
      axis: { int: axis % value.shape.length - (axis % 2) * value.shape.length },
    });
  },
  Flatten(model, [which, choice]) {
    const { name, shape } = model.pick(which)!;
    const axis = choice % (shape.length + 1);
    const count = (dims: readonly number[]) => dims.reduce((product, dim) => product * dim, 1);
    model.add("Flatten", [name], [count(shape.slice(0, axis)), count(shape.slice(axis))], {
      axis: { int: axis },
    });
  },
  Reshape(model, [which, how]) {
    const { name, shape } = model.pick(which)!;
    const count = shape.reduce((product, dim) => product * dim, 1);
    const divisor = [2, 3, 4, 1].find((size) => count % size === 0)!;
    const [target, result] = how % 2
      ? [[divisor, -1], [divisor, count / divisor]]
      : [[divisor, 1, -1], [divisor, 1, count / divisor]];
    model.add("Reshape", [name, model.integers(target)], result);
  },
  Squeeze(model, [which]) {
    const value = model.pick(which, ({ shape }) => shape.includes(1));
    if (value === undefined) return;
    const axis = value.shape.indexOf(1);
    const left = value.shape.filter((_, i) => i !== axis);
    model.add("Squeeze", [value.name, model.integers([axis])], left);
  },
  Unsqueeze(model, [which, choice]) {
    const { name, shape } = model.pick(which)!;
    if (shape.length > 4) return;
    const axis = choice % (shape.length + 1);
    model.add("Unsqueeze", [name, model.integers([axis])], shape.toSpliced(axis, 0, 1));
  },
};
