/**
 * Graphs as they are launched.
 *
 * @module
 */
import type { Context } from "./context.ts";
import type { Graph, GraphResources } from "./graph.ts";
import { type KernelNode, kernelNodeParams } from "./kernel_node.ts";
import type { KernelLaunch } from "./launch.ts";
import { Owned } from "./owned.ts";
import type { Stream } from "./stream.ts";

const UPDATE_FAILURE = 910; // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
const UPDATE_INFO_BYTES = 24; // sizeof(CUgraphExecUpdateResultInfo)

/** `CUgraphExecUpdateResult`. */
const UPDATE_RESULTS: readonly string[] = [
  "nothing", // CU_GRAPH_EXEC_UPDATE_SUCCESS
  "something unexpected", // CU_GRAPH_EXEC_UPDATE_ERROR
  "its nodes or their order", // CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
  "the type of a node", // CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED
  "the function of a node", // CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED
  "parameters that have to stay", // CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED
  "a node that cannot be updated", // CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED
  "a function for one of another kind", // CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE
  "attributes that have to stay", // CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED
];

/** A graph ready to be launched, on any stream of its context, one launch after another. */
export class GraphExec extends Owned {
  /** The context that it belongs to. */
  readonly context: Context;
  #resources: GraphResources;

  /** Use `Graph.instantiate()`. */
  constructor(context: Context, handle: bigint, resources: GraphResources) {
    super(context, `executable ${resources.label}`, handle);
    this.context = context;
    this.#resources = resources;
  }

  /**
   * Launches all of it: one call.
   *
   * @throws {CudaError}
   */
  launch(stream: Stream): void {
    const driver = this.context.enter();
    const handle = this.live("cuGraphLaunch");
    this.context.owns("cuGraphLaunch", stream);
    driver.check(
      "cuGraphLaunch",
      driver.symbols.cuGraphLaunch(handle, stream.live("cuGraphLaunch")),
    );
    stream.inFlight.keep(this);
  }

  /** Takes to the device what the first launch would have to. */
  upload(stream: Stream): void {
    const driver = this.context.enter();
    const handle = this.live("cuGraphUpload");
    this.context.owns("cuGraphUpload", stream);
    driver.check(
      "cuGraphUpload",
      driver.symbols.cuGraphUpload(handle, stream.live("cuGraphUpload")),
    );
  }

  /**
   * Makes it do what another graph does, from the next launch on. That graph has the same nodes in
   * the same order and differs in addresses, values and shapes only.
   *
   * @throws {CudaError} When it differs in more; this graph stays as it was.
   */
  update(graph: Graph): void {
    const driver = this.context.enter();
    const handle = this.live("cuGraphExecUpdate_v2");
    const info = new Uint8Array(new ArrayBuffer(UPDATE_INFO_BYTES));
    const status = driver.symbols.cuGraphExecUpdate_v2(
      handle,
      graph.live("cuGraphExecUpdate_v2"),
      info,
    );
    if (status === UPDATE_FAILURE) {
      const result = new DataView(info.buffer).getInt32(0, true);
      throw driver.failure("cuGraphExecUpdate_v2", status, {
        text: `the ${graph.label} changes ${
          UPDATE_RESULTS[result] ?? `what it may not (${result})`
        }`,
      });
    }
    driver.check("cuGraphExecUpdate_v2", status);
    const before = this.#resources;
    this.#resources = graph.resources.hold();
    before.drop();
  }

  /**
   * Has a node launch a kernel in another way from the next launch on.
   *
   * @param node Of the graph that this was instantiated from.
   */
  setKernel(node: KernelNode, launch: KernelLaunch): void {
    const call = "cuGraphExecKernelNodeSetParams_v2";
    const driver = this.context.enter();
    const handle = this.live(call);
    node.graph.live(call);
    driver.check(call, driver.symbols[call](handle, node.handle, kernelNodeParams(launch, call)));
    this.#resources.keep(launch.kernel.module);
  }

  /** Destroys it. */
  protected override release(handle: bigint): void {
    this.#resources.drop();
    const driver = this.context.makeCurrent();
    driver.check("cuGraphExecDestroy", driver.symbols.cuGraphExecDestroy(handle));
  }
}
