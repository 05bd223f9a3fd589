/**
 * A model's graph, made ready to be planned for any signature: checked, without what no output needs,
 * constants computed, weights laid out.
 *
 * @module
 */
import { SluiceError } from "../errors.ts";
import type { ModelSignature } from "../model.ts";
import type { Graph, GraphNode, Initializer } from "../onnx/graph.ts";
import type { Tensor } from "../tensor.ts";
import { reportingShapes } from "./lowering.ts";
import { aligned } from "./memory_plan.ts";
import { OPERATORS } from "./operators/mod.ts";
import { labelOf, type Operator, OperatorCall } from "./operators/operator.ts";

/** Before this version operands were not broadcast as they are since. */
const LEAST_OPSET = 7;

/** A graph that iterations are planned from. */
export interface PreparedGraph {
  /** Version of ONNX's operator set. */
  readonly opset: number;
  /** In topological order: those that depend on an input. */
  readonly nodes: readonly GraphNode[];
  /** The nodes that read each value; one that reads it twice is there twice. */
  readonly readers: ReadonlyMap<string, readonly GraphNode[]>;
  /** Values that are the same in every iteration; those of inputs are their defaults. */
  readonly constants: ReadonlyMap<string, Tensor>;
  /** Offsets of those that the device reads. */
  readonly weights: ReadonlyMap<string, number>;
  /** All weights as they lie on the device; their tensors are views of it. */
  readonly image: Uint8Array<ArrayBuffer>;
}

/**
 * Prepares a graph.
 *
 * @param read Reads a constant's values.
 * @throws {SluiceError} `unsupported`, naming the operator and the node; `invalid_argument`.
 */
export async function prepareGraph(
  graph: Graph,
  signature: ModelSignature,
  read: (initializer: Initializer) => Promise<Tensor>,
): Promise<PreparedGraph> {
  const { opset } = graph;
  checkOperatorSet(opset);
  const outputs = signature.outputs.map(({ name }) => name);
  const needed = neededNodes(graph.nodes, outputs);
  for (const node of needed) checkOperator(node);
  checkDefinitions(needed, graph, signature);
  const constants = new Map<string, Tensor>();
  for (const name of new Set([...outputs, ...needed.flatMap(({ inputs }) => inputs)])) {
    const initializer = graph.initializers.get(name);
    if (initializer !== undefined) constants.set(name, await read(initializer));
  }
  const defaults = new Set(signature.inputs.map(({ name }) => name));
  const nodes = needed.filter((node) => !evaluated(node, opset, constants, defaults));
  const readers = readersOf(nodes);
  return { opset, nodes, readers, constants, ...layOutWeights(nodes, constants) };
}

/** In their order, without those that no output depends on. */
function neededNodes(nodes: readonly GraphNode[], outputs: readonly string[]): GraphNode[] {
  const names = new Set(outputs);
  return nodes.toReversed().filter(({ inputs, outputs }) => {
    if (!outputs.some((name) => names.has(name))) return false;
    for (const name of inputs) names.add(name);
    return true;
  }).reverse();
}

function checkOperatorSet(opset: number): void {
  if (opset >= LEAST_OPSET) return;
  throw new SluiceError(
    "unsupported",
    `version ${opset} of ONNX's operator set is not one that the cuda device runs: expected ` +
      `${LEAST_OPSET} or newer`,
  );
}

/** Every value has one definition, which stands before what reads it. */
function checkDefinitions(
  nodes: readonly GraphNode[],
  { initializers }: Graph,
  { inputs, outputs }: ModelSignature,
): void {
  const defined = new Set([...initializers.keys(), ...inputs.map(({ name }) => name)]);
  for (const node of nodes) {
    const refuse = (what: string) =>
      new SluiceError("invalid_argument", `${labelOf(node)} ${what}`);
    for (const name of node.inputs) {
      if (name === "" || defined.has(name)) continue;
      throw refuse(`reads "${name}", which no node before it computes`);
    }
    const [output] = node.outputs; // no operator here computes another
    if (defined.has(output)) throw refuse(`computes "${output}", which is there already`);
    defined.add(output);
  }
  for (const { name } of outputs) {
    if (defined.has(name)) continue;
    throw new SluiceError("invalid_argument", `output "${name}" is computed by no node`);
  }
}

function checkOperator(node: GraphNode): void {
  if (node.domain === "" && Object.hasOwn(OPERATORS, node.operator)) return;
  throw new SluiceError(
    "unsupported",
    `${labelOf(node)} is not one that the cuda device runs; --device cpu does`,
  );
}

/** Whether a node depends on constants alone; its output is then one of them. */
function evaluated(
  node: GraphNode,
  opset: number,
  constants: Map<string, Tensor>,
  defaults: ReadonlySet<string>,
): boolean {
  const operator: Operator = OPERATORS[node.operator];
  const inputs = node.inputs.map((name) => {
    const tensor = defaults.has(name) ? undefined : constants.get(name);
    return tensor && { ...tensor, tensor };
  });
  const call = new OperatorCall(node, opset, inputs);
  if (call.known() === undefined) return false;
  const tensor = reportingShapes(call, () => operator.evaluate?.(call));
  if (tensor === undefined) return false;
  constants.set(node.outputs[0], tensor);
  return true;
}

function readersOf(nodes: readonly GraphNode[]): Map<string, GraphNode[]> {
  const readers = new Map<string, GraphNode[]>();
  for (const node of nodes) {
    for (const name of node.inputs) readers.set(name, [...readers.get(name) ?? [], node]);
  }
  return readers;
}

function layOutWeights(
  nodes: readonly GraphNode[],
  constants: Map<string, Tensor>,
): Pick<PreparedGraph, "weights" | "image"> {
  const weights = new Map<string, number>();
  let end = 0;
  for (const { operator, inputs } of nodes) {
    const { settings = [] }: Operator = OPERATORS[operator];
    for (const [position, name] of inputs.entries()) {
      const tensor = constants.get(name);
      if (tensor === undefined || weights.has(name) || settings.includes(position)) continue;
      weights.set(name, end);
      end += aligned(tensor.data.length);
    }
  }
  const image = new Uint8Array(end);
  for (const [name, offset] of weights) {
    const tensor = constants.get(name)!;
    image.set(tensor.data, offset);
    constants.set(name, { ...tensor, data: image.subarray(offset, offset + tensor.data.length) });
  }
  return { weights, image };
}
