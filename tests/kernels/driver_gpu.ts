/**
 * A GPU behind the driver's API: a real one, or the software GPU.
 *
 * @module
 */
import { KernelArguments } from "../../ffi/cuda/arguments.ts";
import type { Context } from "../../ffi/cuda/context.ts";
import { KernelLaunch as CudaLaunch } from "../../ffi/cuda/launch.ts";
import { DeviceMemory } from "../../ffi/cuda/memory.ts";
import { loadModule } from "../../ffi/cuda/module.ts";
import { Stream } from "../../ffi/cuda/stream.ts";
import { Buffer, type Gpu, type KernelArgument, type KernelLaunch } from "./gpu.ts";

/** Runs launches in a context. */
export class DriverGpu implements Gpu {
  readonly #context: Context;

  /** Wraps a context, which stays the caller's. */
  constructor(context: Context) {
    this.#context = context;
  }

  /** Loads the module, launches in order on a stream of its own, and frees all again. */
  async run(ptx: string, launches: readonly KernelLaunch[]): Promise<void> {
    using owned = new DisposableStack();
    const module = owned.use(loadModule(this.#context, ptx, "of a case"));
    const stream = owned.use(new Stream(this.#context));
    const memories = new Map<Buffer, DeviceMemory>();
    for (const buffer of buffersOf(launches)) {
      // An empty buffer has an address as well.
      const bytes = Math.max(buffer.data.byteLength, 1);
      const memory = owned.use(new DeviceMemory(this.#context, bytes));
      if (buffer.uploaded) memory.write(buffer.data);
      memories.set(buffer, memory);
    }
    const address = (buffer: Buffer) => memories.get(buffer)!.address;
    for (const launch of launches) {
      const values = launch.arguments.map((argument) => resolve(argument, address));
      const given = new KernelArguments(values.map(({ type }) => type));
      given.setAll(...values.map(({ value }) => value));
      new CudaLaunch(module.function(launch.kernel), launch, given).enqueue(stream);
    }
    await stream.done();
    for (const [buffer, memory] of memories) if (buffer.downloaded) memory.read(buffer.data);
  }
}

function buffersOf(launches: readonly KernelLaunch[]): Set<Buffer> {
  const all = launches.flatMap((launch) => launch.arguments).map((argument) =>
    argument instanceof Buffer ? argument : "buffer" in argument ? argument.buffer : undefined
  );
  return new Set(all.filter((buffer) => buffer !== undefined));
}

type Value = Exclude<KernelArgument, Buffer | { readonly buffer: Buffer }>;

function resolve(argument: KernelArgument, address: (buffer: Buffer) => bigint): Value {
  if (argument instanceof Buffer) return { type: "pointer", value: address(argument) };
  if (!("buffer" in argument)) return argument;
  const { buffer, byteOffset } = argument;
  return { type: "pointer", value: address(buffer) + BigInt(byteOffset) };
}
