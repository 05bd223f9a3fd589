/**
 * From a graph and the exact shapes of its inputs to the plan of an iteration.
 *
 * @module
 */
import type { Signature } from "../device.ts";
import { SluiceError } from "../errors.ts";
import type { GraphNode } from "../onnx/graph.ts";
import { ShapeFault } from "../onnx/shapes.ts";
import { byteLength, elementCount, type Tensor, type TensorSpec } from "../tensor.ts";
import type { KernelName } from "./kernels.ts";
import { aligned, planMemory } from "./memory_plan.ts";
import { OPERATORS } from "./operators/mod.ts";
import { type Operator, OperatorCall, type Value, type ValueType } from "./operators/operator.ts";
import type { Address, Argument, CopyOut, IterationPlan, Launch, PlannedOutput } from "./plan.ts";
import type { PreparedGraph } from "./prepare.ts";

/** Kernels count elements in 32 bits. */
const MOST_ELEMENTS = 2 ** 31 - 1;

/** Device memory that is known by its use until the plan gives it an address. */
export interface DeviceBuffer {
  /** Size. */
  readonly bytes: number;
  /** Index of the first launch that uses it. */
  readonly first: number;
  /** Index of the last launch that uses it so far. */
  last: number;
  /** Where it lies, once that is decided. */
  address?: Address;
}

/** A place in a buffer. */
export interface Place {
  /** Of the weights, the inputs or what is computed. */
  readonly buffer: DeviceBuffer;
  /** Bytes from its beginning. */
  readonly offset: number;
}

/** An argument of a kernel whose address is not known yet. */
export type LoweredArgument = Exclude<Argument, Address> | Place;

/**
 * Plans an iteration.
 *
 * @param outputs Those that the model serves, in its order.
 * @throws {SluiceError} `unsupported` for what the device does not do; `invalid_argument` for shapes
 *   that do not go together.
 */
export function planIteration(
  graph: PreparedGraph,
  signature: Signature,
  outputs: readonly TensorSpec[],
): IterationPlan {
  return new Lowering(graph, signature, outputs).plan();
}

/** An iteration while it is planned: what operators lower themselves into. */
export class Lowering {
  readonly #graph: PreparedGraph;
  readonly #signature: Signature;
  readonly #outputs: readonly TensorSpec[];
  readonly #values = new Map<string, Value>();
  readonly #launches: Launch<LoweredArgument>[] = [];
  readonly #inputs: DeviceBuffer[];
  readonly #constants = new Map<Tensor, DeviceBuffer>();
  readonly #computed: DeviceBuffer[] = [];
  /** Nodes that became part of another's launch. */
  readonly #absorbed = new Set<GraphNode>();

  /** Use {@linkcode planIteration}. */
  constructor(graph: PreparedGraph, signature: Signature, outputs: readonly TensorSpec[]) {
    this.#graph = graph;
    this.#signature = signature;
    this.#outputs = outputs;
    const weights = this.#buffer(graph.image.length);
    weights.address = { base: "weights", offset: 0 };
    for (const [name, tensor] of graph.constants) {
      const offset = graph.weights.get(name);
      const place = offset === undefined ? undefined : { buffer: weights, offset };
      this.#values.set(name, { ...tensor, tensor, place });
    }
    this.#inputs = signature.inputs.map(({ name, datatype, shape }) => {
      const buffer = this.#buffer(byteLength(datatype, shape));
      this.#values.set(name, { datatype, shape, place: { buffer, offset: 0 } });
      return buffer;
    });
  }

  /** The value of this name, if it is known by now. */
  value(name: string): Value | undefined {
    return this.#values.get(name);
  }

  /** The one node that reads a value; undefined when there are several, or the client does, too. */
  soleReader(name: string): GraphNode | undefined {
    const readers = this.#graph.readers.get(name) ?? [];
    const isServed = this.#outputs.some((output) => output.name === name);
    return readers.length === 1 && !isServed ? readers[0] : undefined;
  }

  /** Leaves a node out: what it does is done by the launch that computes its input. */
  absorb(node: GraphNode): void {
    this.#absorbed.add(node);
  }

  /** Where the device has a value; one that only this signature knows is sent along with the inputs. */
  place(value: Value): Place {
    if (value.place !== undefined) return value.place;
    const { tensor } = value;
    if (tensor === undefined) throw new SluiceError("internal", "A value is nowhere");
    const buffer = this.#constants.get(tensor) ?? this.#buffer(tensor.data.length);
    this.#constants.set(tensor, buffer);
    return { buffer, offset: 0 };
  }

  /** Memory for a value that the next launch begins to write. */
  allocate({ datatype, shape }: ValueType): Place {
    if (elementCount(shape) > MOST_ELEMENTS) {
      throw new ShapeFault(
        `a result of shape [${shape}] has more than ${MOST_ELEMENTS} elements, the most that the ` +
          "cuda device computes",
      );
    }
    const buffer = this.#buffer(byteLength(datatype, shape));
    this.#computed.push(buffer);
    return { buffer, offset: 0 };
  }

  /** Gives a value its place. */
  define(name: string, { datatype, shape }: ValueType, place: Place): void {
    this.#values.set(name, { datatype, shape, place });
  }

  /** Allocates the output of a call, and gives it its place. */
  output(call: OperatorCall, type: ValueType): Place {
    const place = this.allocate(type);
    this.define(call.node.outputs[0], type, place);
    return place;
  }

  /** Adds a launch; one without blocks does nothing and is left out. */
  launch(kernel: KernelName, grid: Launch["grid"], ...args: readonly LoweredArgument[]): void {
    if (grid.includes(0)) return;
    for (const argument of args) {
      if (isPlace(argument)) argument.buffer.last = this.#launches.length;
    }
    this.#launches.push({ kernel, grid, arguments: args });
  }

  /** Lowers every node, then decides where everything lies. */
  plan(): IterationPlan {
    for (const node of this.#graph.nodes) if (!this.#absorbed.has(node)) this.#lower(node);
    const results = this.#outputs.map((spec) => this.#result(spec));
    const sent = [...this.#inputs, ...this.#constants.values()];
    const inputBytes = layOut(sent, 0);
    const kept = new Set(
      results.flatMap((result) => "place" in result ? [result.place.buffer] : []),
    );
    const outputs = Array.from(kept).filter(({ address }) => address === undefined);
    const outputsEnd = layOut(outputs, inputBytes);
    const between = this.#computed.filter(({ address }) => address === undefined);
    const { offsets, bytes } = planMemory(between);
    for (const [i, buffer] of between.entries()) {
      buffer.address = { base: "arena", offset: outputsEnd + offsets[i] };
    }
    let hostBytes = inputBytes;
    const planned = results.map((result): PlannedOutput | Tensor => {
      if (!("place" in result)) return result;
      const hostOffset = hostBytes;
      hostBytes += aligned(byteLength(result.datatype, result.shape));
      const { place, ...shape } = result;
      return { shape, from: addressOf(place).offset, hostOffset };
    });
    const constants = Array.from(this.#constants, ([{ data }, { address }]) => ({
      offset: address!.offset,
      data,
    }));
    return {
      inputs: this.#signature.inputs.map((shape, i) => ({
        shape,
        offset: this.#inputs[i].address!.offset,
      })),
      constants,
      inputBytes,
      launches: this.#launches.map((launch) => ({
        ...launch,
        arguments: launch.arguments.map((one) => isPlace(one) ? addressOf(one) : one),
      })),
      outputs: planned,
      copiesOut: copiesOf(planned),
      hostBytes,
      arenaBytes: outputsEnd + bytes,
    };
  }

  #buffer(bytes: number): DeviceBuffer {
    const now = this.#launches.length;
    return { bytes, first: now, last: now };
  }

  #lower(node: GraphNode): void {
    const inputs = node.inputs.map((name) => name === "" ? undefined : this.value(name));
    const call = new OperatorCall(node, this.#graph.opset, inputs);
    reportingShapes(call, () => {
      const operator: Operator = OPERATORS[node.operator];
      const tensor = operator.evaluate?.(call);
      if (tensor !== undefined) this.#values.set(node.outputs[0], { ...tensor, tensor });
      else if (operator.lower !== undefined) operator.lower(call, operator.infer(call), this);
      else {
        throw call.unsupported(
          "works on values that only an iteration knows; the cuda device runs it on shapes and " +
            "constants",
        );
      }
    });
  }

  #result({ name, datatype }: TensorSpec): (ValueType & { name: string; place: Place }) | Tensor {
    const value = this.value(name)!;
    if (value.datatype !== datatype) {
      throw new SluiceError(
        "invalid_argument",
        `output "${name}" is declared as ${datatype}, and computed as ${value.datatype}`,
      );
    }
    const { shape, tensor, place } = value;
    if (tensor !== undefined) return { ...tensor, name };
    return { name, datatype, shape, place: place! };
  }
}

/** Says at which node shapes did not go together. */
export function reportingShapes<T>(call: OperatorCall, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof ShapeFault ? call.invalid(`cannot run: ${error.message}`) : error;
  }
}

function isPlace(argument: LoweredArgument): argument is Place {
  return typeof argument === "object" && "buffer" in argument;
}

function addressOf({ buffer, offset }: Place): Address {
  const { base, offset: start } = buffer.address!;
  return { base, offset: start + offset };
}

/** Gives buffers places one behind the other. */
function layOut(buffers: readonly DeviceBuffer[], from: number): number {
  let end = from;
  for (const buffer of buffers) {
    buffer.address = { base: "arena", offset: end };
    end += aligned(buffer.bytes);
  }
  return end;
}

/** The copies that bring outputs to the host: one for all that lie there as they shall lie here. */
function copiesOf(outputs: readonly (PlannedOutput | Tensor)[]): CopyOut[] {
  const copies: CopyOut[] = [];
  for (const output of outputs) {
    if (!("from" in output)) continue;
    const { from, hostOffset, shape } = output;
    const bytes = byteLength(shape.datatype, shape.shape);
    if (bytes === 0) continue;
    const last = copies.at(-1);
    const shift = from - (last?.from ?? 0);
    if (last !== undefined && hostOffset === last.hostOffset + shift) {
      copies.splice(-1, 1, { ...last, bytes: shift + bytes });
    } else copies.push({ from, hostOffset, bytes });
  }
  return copies;
}
