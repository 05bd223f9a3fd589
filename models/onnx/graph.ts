/**
 * The graph of an ONNX file as typed values: what a device needs that runs operators itself.
 *
 * @see https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3
 * @module
 */
import { SluiceError } from "../errors.ts";
import type { Datatype, Tensor } from "../tensor.ts";
import { refusal } from "./decode.ts";
import { datatypeOf, elementTypeName } from "./element_types.ts";
import { eachField, type Field } from "./fields.ts";
import { readTensor, readTensorHeader, type TensorHeader, varints } from "./tensor_proto.ts";

/** What an attribute may hold here. Nested graphs and types are left out: their operators differ. */
export type AttributeValue = number | string | readonly number[] | readonly string[] | Initializer;

/** One operator with what it reads and writes. */
export interface GraphNode {
  /** Often empty; then its first output tells which one it is. */
  readonly name: string;
  /** As the operator set calls it. */
  readonly operator: string;
  /** "" for ONNX's own operators. */
  readonly domain: string;
  /** Names of values; "" where an optional input is left out. */
  readonly inputs: readonly string[];
  /** Names of values; "" where an optional output is not wanted. */
  readonly outputs: readonly string[];
  /** By name. */
  readonly attributes: ReadonlyMap<string, AttributeValue>;
}

/** A constant of the file, whose values are read when they are asked for. */
export class Initializer {
  /** What it is. */
  readonly header: TensorHeader;
  readonly #content: Uint8Array;

  /** Over the bytes of a `TensorProto`. */
  constructor(content: Uint8Array) {
    this.header = readTensorHeader(content);
    this.#content = content;
  }

  /**
   * The protocol's datatype for it.
   *
   * @throws {SluiceError} `unsupported` when it has none of numbers.
   */
  get datatype(): Exclude<Datatype, "BYTES"> {
    const { name, elementType } = this.header;
    const datatype = datatypeOf(elementType);
    if (datatype !== undefined && datatype !== "BYTES") return datatype;
    const type = elementTypeName(elementType);
    throw new SluiceError("unsupported", `constant "${name}" is of ${type}; expected numbers`);
  }

  /**
   * Its values, copied.
   *
   * @param externalData The values of one that keeps them in another file.
   * @throws {MalformedMessage} When they are not as many as its shape says.
   */
  tensor(externalData?: Uint8Array<ArrayBuffer>): Tensor {
    const { datatype } = this;
    const { name, shape } = this.header;
    if (externalData === undefined) return readTensor(this.#content, this.header, datatype);
    return { name, datatype, shape, data: externalData };
  }
}

/** The main graph of a model. */
export interface Graph {
  /** Version of ONNX's own operator set. */
  readonly opset: number;
  /** In topological order, as the format demands. */
  readonly nodes: readonly GraphNode[];
  /** By name. */
  readonly initializers: ReadonlyMap<string, Initializer>;
}

/**
 * Reads the main graph of an ONNX file.
 *
 * @param bytes The whole file; the graph keeps views of it.
 * @param fileName How errors call the file.
 * @throws {SluiceError} `invalid_argument` when it cannot be read.
 */
export function decodeGraph(bytes: Uint8Array, fileName: string): Graph {
  try {
    return model(bytes);
  } catch (error) {
    throw refusal(error, bytes, fileName);
  }
}

function model(bytes: Uint8Array): Graph {
  let opset = 0;
  const nodes: GraphNode[] = [];
  const initializers = new Map<string, Initializer>();
  eachField(bytes, "The model", (number, field) => {
    if (number === 7) graph(field.bytes(), nodes, initializers);
    else if (number === 8) opset = Math.max(opset, operatorSet(field.bytes()));
  });
  return { opset, nodes, initializers };
}

/** The version, when it is ONNX's own set; 0 for others. */
function operatorSet(bytes: Uint8Array): number {
  let domain = "", version = 0;
  eachField(bytes, "An operator set", (number, field) => {
    if (number === 1) domain = field.text();
    else if (number === 2) version = field.integer();
  });
  return ownDomain(domain) ? version : 0;
}

function ownDomain(domain: string): boolean {
  return domain === "" || domain === "ai.onnx";
}

function graph(bytes: Uint8Array, nodes: GraphNode[], initializers: Map<string, Initializer>) {
  eachField(bytes, "The graph", (number, field) => {
    if (number === 1) nodes.push(node(field.bytes()));
    else if (number === 5) {
      const initializer = new Initializer(field.bytes());
      initializers.set(initializer.header.name, initializer);
    }
  });
}

function node(bytes: Uint8Array): GraphNode {
  let name = "", operator = "", domain = "";
  const inputs: string[] = [], outputs: string[] = [];
  const attributes = new Map<string, AttributeValue>();
  eachField(bytes, "A node", (number, field) => {
    if (number === 1) inputs.push(field.text());
    else if (number === 2) outputs.push(field.text());
    else if (number === 3) name = field.text();
    else if (number === 4) operator = field.text();
    else if (number === 5) {
      const [key, value] = attribute(field.bytes());
      if (value !== undefined) attributes.set(key, value);
    } else if (number === 7) domain = field.text();
  });
  return { name, operator, domain: ownDomain(domain) ? "" : domain, inputs, outputs, attributes };
}

/** `AttributeProto.AttributeType`, for the kinds that are read. */
const FLOAT = 1, INT = 2, STRING = 3, TENSOR = 4, FLOATS = 6, INTS = 7, STRINGS = 8;

function attribute(bytes: Uint8Array): [name: string, value: AttributeValue | undefined] {
  let name = "", type = 0, float = 0, integer = 0, text = "";
  let tensor: Initializer | undefined;
  const floats: number[] = [], integers: number[] = [], texts: string[] = [];
  eachField(bytes, "An attribute", (number, field) => {
    if (number === 1) name = field.text();
    else if (number === 2) float = field.float();
    else if (number === 3) integer = field.integer();
    else if (number === 4) text = field.text();
    else if (number === 5) tensor = new Initializer(field.bytes());
    else if (number === 7) pushFloats(floats, field);
    else if (number === 8) pushIntegers(integers, field);
    else if (number === 9) texts.push(field.text());
    else if (number === 20) type = field.integer();
  });
  const values: Readonly<Record<number, AttributeValue | undefined>> = {
    [FLOAT]: float,
    [INT]: integer,
    [STRING]: text,
    [TENSOR]: tensor,
    [FLOATS]: floats,
    [INTS]: integers,
    [STRINGS]: texts,
  };
  return [name, values[type]];
}

function pushFloats(list: number[], field: Field): void {
  if (!field.isLengthDelimited) {
    list.push(field.float());
    return;
  }
  const bytes = field.bytes();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 4 <= bytes.length; at += 4) list.push(view.getFloat32(at, true));
}

function pushIntegers(list: number[], field: Field): void {
  if (field.isLengthDelimited) list.push(...varints(field.bytes()).map(Number));
  else list.push(field.integer());
}
