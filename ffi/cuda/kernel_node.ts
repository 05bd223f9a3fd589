/**
 * Launches of kernels as nodes of a graph.
 *
 * @module
 */
import type { Graph } from "./graph.ts";
import type { KernelLaunch, Sizes } from "./launch.ts";

// struct CUDA_KERNEL_NODE_PARAMS: function, sizes of grid and block, dynamic shared memory,
// arguments; what follows stays zero.
const PARAMS_BYTES = 72;
const FUNCTION = 0;
const GRID = 8;
const BLOCK = 20;
const SHARED_BYTES = 32;
const KERNEL_PARAMS = 40;

/** A launch of a kernel in a graph. */
export interface KernelNode {
  /** What it belongs to. */
  readonly graph: Graph;
  /** `CUgraphNode`. */
  readonly handle: bigint;
  /** Blocks along x, y and z. */
  readonly grid: Sizes;
  /** Threads of a block along x, y and z. */
  readonly block: Sizes;
  /** Dynamic shared memory of a block. */
  readonly sharedBytes: number;
}

/**
 * Asks the driver about a node.
 *
 * @throws {CudaError}
 */
export function readKernelNode(graph: Graph, handle: bigint): KernelNode {
  const { driver } = graph.context;
  const params = new DataView(new ArrayBuffer(PARAMS_BYTES));
  const bytes = new Uint8Array(params.buffer);
  driver.check(
    "cuGraphKernelNodeGetParams_v2",
    driver.symbols.cuGraphKernelNodeGetParams_v2(handle, bytes),
  );
  const sizes = (offset: number): Sizes => [
    params.getUint32(offset, true),
    params.getUint32(offset + 4, true),
    params.getUint32(offset + 8, true),
  ];
  const sharedBytes = params.getUint32(SHARED_BYTES, true);
  return { graph, handle, grid: sizes(GRID), block: sizes(BLOCK), sharedBytes };
}

/** `CUDA_KERNEL_NODE_PARAMS` that make a node do what a launch does. */
export function kernelNodeParams(launch: KernelLaunch, call: string): Uint8Array<ArrayBuffer> {
  const params = new DataView(new ArrayBuffer(PARAMS_BYTES));
  params.setBigUint64(FUNCTION, launch.kernel.live(call), true);
  launch.grid.forEach((size, axis) => params.setUint32(GRID + axis * 4, size, true));
  launch.block.forEach((size, axis) => params.setUint32(BLOCK + axis * 4, size, true));
  params.setUint32(SHARED_BYTES, launch.sharedBytes, true);
  const { addresses } = launch.arguments;
  const pointer = Deno.UnsafePointer.value(Deno.UnsafePointer.of(addresses));
  params.setBigUint64(KERNEL_PARAMS, pointer, true);
  return new Uint8Array(params.buffer);
}
