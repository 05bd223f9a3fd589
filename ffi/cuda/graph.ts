/**
 * Graphs: work captured from a stream, to be launched again and again by one call.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { CODE } from "./errors.ts";
import { GraphExec } from "./graph_exec.ts";
import { InFlight } from "./in_flight.ts";
import { type KernelNode, readKernelNode } from "./kernel_node.ts";
import { Owned } from "./owned.ts";
import type { Stream } from "./stream.ts";

/** `CUstreamCaptureMode`: other threads, such as one that loads modules, go on as they like. */
const THREAD_LOCAL = 1; // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
const KERNEL_NODE = 0; // CU_GRAPH_NODE_TYPE_KERNEL

/**
 * What the nodes of a graph use. The graph and all that was instantiated from it share it: either
 * may be disposed first.
 */
export class GraphResources extends InFlight {
  /** A graph is launched again and again. */
  readonly recurs = true;
  readonly #objects = new Set<object>();
  #holders = 1;

  /** Keeps an object, once however often it is used: none is let go before all are. */
  override keep(object: object): void {
    if (this.#objects.has(object)) return;
    this.#objects.add(object);
    super.keep(object);
  }

  /** One more needs them. */
  hold(): this {
    this.#holders++;
    return this;
  }

  /** One needs them no more. */
  drop(): void {
    if (--this.#holders === 0) this.finished();
  }
}

/** A graph as captured. */
export class Graph extends Owned {
  /** The context that it belongs to. */
  readonly context: Context;
  /** What its nodes use. */
  readonly resources: GraphResources;

  /** Use {@linkcode captureGraph}. */
  constructor(context: Context, handle: bigint, resources: GraphResources) {
    super(context, resources.label, handle);
    this.context = context;
    this.resources = resources;
  }

  /**
   * Makes it ready to be launched.
   *
   * @throws {CudaError}
   */
  instantiate(): GraphExec {
    const driver = this.context.enter();
    const handle = this.live("cuGraphInstantiateWithFlags");
    driver.check(
      "cuGraphInstantiateWithFlags",
      driver.symbols.cuGraphInstantiateWithFlags(driver.out.bytes, handle, 0n),
    );
    return new GraphExec(this.context, driver.out.u64, this.resources.hold());
  }

  /** Its launches of kernels, in the driver's order: that in which they were captured. */
  kernelNodes(): KernelNode[] {
    const driver = this.context.enter();
    const { out, symbols } = driver;
    const graph = this.live("cuGraphGetNodes");
    driver.check("cuGraphGetNodes", symbols.cuGraphGetNodes(graph, null, out.bytes));
    const handles = new BigUint64Array(out.size);
    const bytes = new Uint8Array(handles.buffer);
    driver.check("cuGraphGetNodes", symbols.cuGraphGetNodes(graph, bytes, out.bytes));
    const nodes: KernelNode[] = [];
    for (const handle of handles) {
      driver.check("cuGraphNodeGetType", symbols.cuGraphNodeGetType(handle, out.bytes));
      if (out.i32 === KERNEL_NODE) nodes.push(readKernelNode(this, handle));
    }
    return nodes;
  }

  /** Destroys it; what was instantiated from it stays. */
  protected override release(handle: bigint): void {
    this.resources.drop();
    const driver = this.context.makeCurrent();
    driver.check("cuGraphDestroy", driver.symbols.cuGraphDestroy(handle));
  }
}

/**
 * Captures what is enqueued on a stream, which then does not run. Of what it uses nothing can be
 * disposed before the graph and all that was instantiated from it.
 *
 * @param enqueue Enqueues it, before it returns. Other streams take part when they wait for an event
 * of this one, and it in the end for theirs; only what this one uses is kept.
 * @throws {CudaError} When something in between cannot be captured.
 */
export function captureGraph(stream: Stream, enqueue: () => void): Graph {
  const driver = stream.context.enter();
  driver.check(
    "cuStreamBeginCapture_v2",
    driver.symbols.cuStreamBeginCapture_v2(stream.live("cuStreamBeginCapture_v2"), THREAD_LOCAL),
  );
  const mark = stream.inFlight.mark;
  const resources = new GraphResources(`graph of ${stream.label}`);
  stream.capturing = true;
  stream.beginUse(resources);
  try {
    enqueue();
  } catch (error) {
    // That is what went wrong; a capture that fails in its wake says no more.
    const { status, handle } = endCapture(stream, mark, resources);
    resources.drop();
    if (status === CODE.success) driver.symbols.cuGraphDestroy(handle);
    throw error;
  }
  const { status, handle } = endCapture(stream, mark, resources);
  if (status !== CODE.success) resources.drop();
  driver.check("cuStreamEndCapture", status);
  return new Graph(stream.context, handle, resources);
}

function endCapture(stream: Stream, mark: number, resources: GraphResources) {
  const { symbols, out } = stream.context.driver;
  stream.endUse(resources);
  stream.capturing = false;
  stream.inFlight.moveSince(mark, resources);
  const status = symbols.cuStreamEndCapture(stream.live("cuStreamEndCapture"), out.bytes);
  return { status, handle: out.u64 };
}
