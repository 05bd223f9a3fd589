/**
 * The GPU of the kernel suite by way of the CUDA driver, a real one or the software GPU.
 *
 * @module
 */
import { KernelArguments } from "../../ffi/cuda/arguments.ts";
import type { Context } from "../../ffi/cuda/context.ts";
import { KernelLaunch as CudaLaunch } from "../../ffi/cuda/launch.ts";
import { DeviceMemory } from "../../ffi/cuda/memory.ts";
import { type CudaModule, loadModule } from "../../ffi/cuda/module.ts";
import { Stream } from "../../ffi/cuda/stream.ts";
import { Buffer, type Gpu, type KernelArgument, type KernelLaunch } from "./gpu.ts";

/** Runs kernels in a context. */
export class CudaGpu implements Gpu {
  readonly #context: Context;

  /** A GPU that leaves nothing in the context after a run. */
  constructor(context: Context) {
    this.#context = context;
  }

  /** Runs launches on a stream of their own. */
  async run(ptx: string, launches: readonly KernelLaunch[]): Promise<void> {
    using module = loadModule(this.#context, ptx, "of the kernel suite");
    using memory = new SuiteMemory(this.#context);
    await using stream = new Stream(this.#context);
    for (const launch of launches) prepare(module, launch, memory).enqueue(stream);
    await stream.done();
    memory.download();
  }
}

/** Device memory of the buffers that were met. */
class SuiteMemory implements Disposable {
  readonly #context: Context;
  readonly #memory = new Map<Buffer, DeviceMemory>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Address of a buffer, allocated and uploaded when it is met first; 0 for an empty one. */
  address(buffer: Buffer): bigint {
    if (buffer.data.byteLength === 0) return 0n;
    let memory = this.#memory.get(buffer);
    if (memory === undefined) {
      memory = new DeviceMemory(this.#context, buffer.data.byteLength);
      this.#memory.set(buffer, memory);
      if (buffer.uploaded) memory.write(buffer.data);
    }
    return memory.address;
  }

  download(): void {
    for (const [buffer, memory] of this.#memory) {
      if (buffer.downloaded) memory.read(buffer.data);
    }
  }

  [Symbol.dispose](): void {
    for (const memory of this.#memory.values()) memory[Symbol.dispose]();
  }
}

function prepare(module: CudaModule, launch: KernelLaunch, memory: SuiteMemory): CudaLaunch {
  const { kernel, arguments: given, sharedBytes = 0 } = launch;
  const kernelArguments = new KernelArguments(
    given.map((argument) => "type" in argument ? argument.type : "pointer"),
  ).setAll(...given.map((argument) => valueOf(argument, memory)));
  const kernelFunction = module.function(kernel);
  if (sharedBytes > kernelFunction.attribute("maxDynamicSharedBytes")) {
    kernelFunction.setMaxDynamicSharedBytes(sharedBytes);
  }
  return new CudaLaunch(kernelFunction, launch, kernelArguments);
}

function valueOf(
  argument: KernelArgument,
  memory: SuiteMemory,
): number | bigint | readonly (number | bigint)[] {
  if (argument instanceof Buffer) return memory.address(argument);
  if ("value" in argument) {
    const { value } = argument;
    if (typeof value !== "object") return value;
    return value.map((field) => field instanceof Buffer ? memory.address(field) : field);
  }
  return memory.address(argument.buffer) + BigInt(argument.byteOffset);
}
