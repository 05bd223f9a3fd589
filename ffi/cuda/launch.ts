/**
 * Launches of a kernel with everything that the call needs laid out once.
 *
 * @module
 */
import type { KernelArguments } from "./arguments.ts";
import type { DeviceAttribute } from "./device.ts";
import { CODE, CudaError } from "./errors.ts";
import type { CudaFunction } from "./function.ts";
import type { Stream } from "./stream.ts";

/** How many threads run a kernel, and with what memory. */
export interface LaunchShape {
  /** Blocks along x, y and z; 1 where left out. */
  readonly grid: readonly number[];
  /** Threads of a block along x, y and z; 1 where left out. */
  readonly block: readonly number[];
  /** Dynamic shared memory of a block; none when absent. */
  readonly sharedBytes?: number;
  /** Whether all blocks are on the device at once, so that they may wait for each other. */
  readonly cooperative?: boolean;
}

/** Numbers of blocks or threads. */
export type Sizes = readonly [x: number, y: number, z: number];

const GRID_LIMITS = ["maxGridX", "maxGridY", "maxGridZ"] as const;
const BLOCK_LIMITS = ["maxBlockX", "maxBlockY", "maxBlockZ"] as const;

/** What a kernel is launched with, again and again: to enqueue it allocates nothing. */
export class KernelLaunch {
  /** What is launched. */
  readonly kernel: CudaFunction;
  /** Blocks along x, y and z. */
  readonly grid: Sizes;
  /** Threads of a block along x, y and z. */
  readonly block: Sizes;
  /** Dynamic shared memory of a block. */
  readonly sharedBytes: number;
  /** Whether all blocks are on the device at once. */
  readonly cooperative: boolean;
  /** What is set in them counts from the next {@linkcode enqueue} on. */
  readonly arguments: KernelArguments;

  /**
   * Lays the launch out.
   *
   * @throws {CudaError} When the shape is beyond what the device or the kernel allows, or the
   * arguments are not of the number and sizes that the kernel takes.
   */
  constructor(kernel: CudaFunction, shape: LaunchShape, kernelArguments: KernelArguments) {
    this.kernel = kernel;
    this.grid = sizes(kernel, "grid", shape.grid, GRID_LIMITS);
    this.block = sizes(kernel, "block", shape.block, BLOCK_LIMITS);
    this.sharedBytes = shape.sharedBytes ?? 0;
    this.cooperative = shape.cooperative ?? false;
    this.arguments = kernelArguments;
    checkBlock(this);
    checkArguments(kernel, kernelArguments);
  }

  /**
   * Enqueues it.
   *
   * @throws {CudaError}
   */
  enqueue(stream: Stream): void {
    if (this.cooperative) this.#enqueueCooperative(stream);
    else this.#enqueuePlain(stream);
    if (stream.capturing) stream.inFlight.keep(this.kernel.module);
  }

  #enqueuePlain(stream: Stream): void {
    const { grid, block } = this;
    const { context } = this.kernel.module;
    const driver = context.enter();
    context.owns("cuLaunchKernel", stream);
    driver.check(
      "cuLaunchKernel",
      driver.symbols.cuLaunchKernel(
        this.kernel.live("cuLaunchKernel"),
        grid[0],
        grid[1],
        grid[2],
        block[0],
        block[1],
        block[2],
        this.sharedBytes,
        stream.live("cuLaunchKernel"),
        this.arguments.addresses,
        null,
      ),
    );
  }

  #enqueueCooperative(stream: Stream): void {
    const { grid, block } = this;
    const { context } = this.kernel.module;
    const driver = context.enter();
    context.owns("cuLaunchCooperativeKernel", stream);
    driver.check(
      "cuLaunchCooperativeKernel",
      driver.symbols.cuLaunchCooperativeKernel(
        this.kernel.live("cuLaunchCooperativeKernel"),
        grid[0],
        grid[1],
        grid[2],
        block[0],
        block[1],
        block[2],
        this.sharedBytes,
        stream.live("cuLaunchCooperativeKernel"),
        this.arguments.addresses,
      ),
    );
  }
}

function sizes(
  kernel: CudaFunction,
  what: string,
  given: readonly number[],
  limits: readonly [x: DeviceAttribute, y: DeviceAttribute, z: DeviceAttribute],
): Sizes {
  if (given.length < 1 || given.length > 3) {
    throw refused(kernel, `the ${what} has ${given.length} dimensions, 1 to 3 are expected`);
  }
  const size = (axis: 0 | 1 | 2) => {
    const value = given[axis] ?? 1;
    const limit = kernel.module.context.device.attribute(limits[axis]);
    if (Number.isInteger(value) && value >= 1 && value <= limit) return value;
    throw refused(kernel, `the ${what} is ${value} along ${"xyz"[axis]}, 1 to ${limit} is allowed`);
  };
  return [size(0), size(1), size(2)];
}

function checkBlock({ kernel, block, sharedBytes }: KernelLaunch): void {
  const threads = block[0] * block[1] * block[2];
  const most = kernel.attribute("maxThreadsPerBlock");
  if (threads > most) {
    throw refused(kernel, `a block of ${threads} threads, the kernel allows ${most}`);
  }
  const mostShared = kernel.attribute("maxDynamicSharedBytes");
  if (!Number.isInteger(sharedBytes) || sharedBytes < 0 || sharedBytes > mostShared) {
    throw refused(
      kernel,
      `${sharedBytes} bytes of dynamic shared memory, 0 to ${mostShared} is allowed`,
      "More than that has to be allowed first, by setMaxDynamicSharedBytes().",
    );
  }
}

function checkArguments(kernel: CudaFunction, { sizes }: KernelArguments): void {
  const expected = kernel.parameterSizes();
  if (expected === undefined || expected.join() === sizes.join()) return;
  throw refused(kernel, `arguments of ${bytes(sizes)}, the kernel takes ${bytes(expected)}`);
}

function bytes(sizes: readonly number[]): string {
  return sizes.length === 0 ? "no bytes" : `${sizes.join(", ")} bytes`;
}

/** An error that the driver would meet later, or not at all. */
function refused({ name }: CudaFunction, text: string, hint?: string): CudaError {
  return new CudaError("cuLaunchKernel", CODE.invalidValue, `kernel ${name}: ${text}`, {
    hint: hint ?? "Nothing was launched.",
  });
}
