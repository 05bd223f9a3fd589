/**
 * What an operator is to the device, and one use of it in a graph.
 *
 * @module
 */
import { SluiceError } from "../../errors.ts";
import type { AttributeValue, GraphNode } from "../../onnx/graph.ts";
import { Initializer } from "../../onnx/graph.ts";
import type { Datatype, Tensor } from "../../tensor.ts";
import type { Lowering, Place } from "../lowering.ts";
import { numbersOf } from "./numbers.ts";

/** What is known of a value without running anything. */
export interface ValueType {
  /** Never converted. */
  readonly datatype: Datatype;
  /** Exact. */
  readonly shape: readonly number[];
}

/** A value of a graph, while an iteration is planned. */
export interface Value extends ValueType {
  /** Its values, where they are known beforehand. */
  readonly tensor?: Tensor;
  /** Where the device has it; what is known beforehand gets a place when one is needed. */
  readonly place?: Place;
}

/** A row of the table of operators. */
export type Operator = DeviceOperator | KnownOperator;

/** An operator that the device runs, or that takes no running at all. */
export interface DeviceOperator {
  /** Positions of inputs that say what to do, such as axes: the device does not read them. */
  readonly settings?: readonly number[];
  /**
   * Datatype and shape of the output.
   *
   * @throws {ShapeFault | SluiceError} When the inputs do not go together.
   */
  infer(call: OperatorCall): ValueType;
  /**
   * Plans the launches, or gives the output a place that is there already.
   *
   * @param output As inferred.
   */
  lower(call: OperatorCall, output: ValueType, lowering: Lowering): void;
  /** The output, where what it depends on is known; undefined where it is not. */
  evaluate?(call: OperatorCall): Tensor | undefined;
}

/** An operator on what is known before an iteration starts: the device never sees it. */
export interface KnownOperator {
  /** As for those that the device runs. */
  readonly settings?: readonly number[];
  /** The output; undefined where it depends on what only an iteration knows. */
  evaluate(call: OperatorCall): Tensor | undefined;
  /** There is nothing to run. */
  readonly lower?: undefined;
}

/** One node with the values that it reads. */
export class OperatorCall {
  /** The node. */
  readonly node: GraphNode;
  /** Version of ONNX's operator set. */
  readonly opset: number;
  readonly #inputs: readonly (Value | undefined)[];

  /** Inputs that are left out are undefined. */
  constructor(node: GraphNode, opset: number, inputs: readonly (Value | undefined)[]) {
    this.node = node;
    this.opset = opset;
    this.#inputs = inputs;
  }

  /** How many inputs it names, left out or not. */
  get inputCount(): number {
    return this.#inputs.length;
  }

  /** An input that has to be there. */
  input(index: number): Value {
    return this.#inputs[index] ?? fail(this.invalid(`has no input ${index}`));
  }

  /** An input that may be left out. */
  optional(index: number): Value | undefined {
    return this.#inputs[index];
  }

  /** An input that the device computes with. */
  real(index: number): Value {
    const value = this.input(index);
    if (value.datatype === "FP32") return value;
    throw this.unsupported(
      `has an input of ${value.datatype}, and the cuda device runs it on FP32`,
    );
  }

  /** The values of an input that says what to do; undefined where it is left out. */
  setting(index: number): number[] | undefined {
    const value = this.#inputs[index];
    if (value === undefined) return undefined;
    if (value.tensor !== undefined) return numbersOf(value.tensor);
    throw this.unsupported(
      `takes input ${index}, "${this.node.inputs[index]}", from values that only an iteration ` +
        "knows; the cuda device needs it beforehand",
    );
  }

  /** The values of all inputs; undefined when one is not known. */
  known(): readonly Tensor[] | undefined {
    const tensors = this.#inputs.map((input) => input?.tensor);
    return tensors.every((tensor) => tensor !== undefined) ? tensors : undefined;
  }

  /** A whole-number or real attribute. */
  number(name: string, otherwise: number): number {
    return this.#attribute(name, (value) => typeof value === "number", "a number") ?? otherwise;
  }

  /** An attribute that is a list of numbers. */
  numbers(name: string): readonly number[] | undefined {
    const isNumbers = (value: AttributeValue): value is readonly number[] =>
      Array.isArray(value) && value.every((one) => typeof one === "number");
    return this.#attribute(name, isNumbers, "a list of numbers");
  }

  /** An attribute that is a tensor. */
  tensor(name: string): Tensor | undefined {
    const isTensor = (value: AttributeValue) => value instanceof Initializer;
    const found = this.#attribute(name, isTensor, "a tensor");
    if (found?.header.external !== undefined) {
      throw this.unsupported(`keeps its attribute "${name}" in another file`);
    }
    return found?.tensor();
  }

  /** An error: the file is well formed, but the device does not do it. */
  unsupported(why: string): SluiceError {
    return new SluiceError("unsupported", `${labelOf(this.node)} ${why}`);
  }

  /** An error: the file, or what was sent, is wrong. */
  invalid(why: string): SluiceError {
    return new SluiceError("invalid_argument", `${labelOf(this.node)} ${why}`);
  }

  #attribute<T extends AttributeValue>(
    name: string,
    isExpected: (value: AttributeValue) => value is T,
    expected: string,
  ): T | undefined {
    const value = this.node.attributes.get(name);
    if (value === undefined || isExpected(value)) return value;
    throw this.invalid(`has an attribute "${name}" that is not ${expected}`);
  }
}

function fail(error: Error): never {
  throw error;
}

/** How errors call a node. */
export function labelOf({ domain, operator, name, outputs }: GraphNode): string {
  const full = domain === "" ? operator : `${domain}:${operator}`;
  return `operator ${full} (node "${name || outputs[0]}")`;
}
