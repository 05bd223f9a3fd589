/**
 * A round through the whole binding, so that a failure can be had at any function of the table.
 *
 * @module
 */
import { KernelArguments } from "../../../ffi/cuda/arguments.ts";
import { ChunkPool } from "../../../ffi/cuda/chunk_pool.ts";
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import type { CudaDriver } from "../../../ffi/cuda/driver.ts";
import { CudaError } from "../../../ffi/cuda/errors.ts";
import { CudaEvent } from "../../../ffi/cuda/event.ts";
import { captureGraph } from "../../../ffi/cuda/graph.ts";
import { KernelLaunch } from "../../../ffi/cuda/launch.ts";
import { DeviceMemory } from "../../../ffi/cuda/memory.ts";
import { loadModule } from "../../../ffi/cuda/module.ts";
import { ModuleLoader } from "../../../ffi/cuda/module_loader.ts";
import { PinnedMemory } from "../../../ffi/cuda/pinned.ts";
import { Stream } from "../../../ffi/cuda/stream.ts";
import { VirtualRange } from "../../../ffi/cuda/virtual_memory.ts";
import { KERNELS, MANY_KERNELS } from "./kernels.ts";

const INVALID_VALUE = 1;
const NOT_FOUND = 500;

/**
 * Does something of everything, on the first device, and leaves nothing behind.
 *
 * @throws {CudaError} What the driver failed at, and what it failed to release, too.
 */
export async function callEverything(driver: CudaDriver): Promise<void> {
  const device = new CudaDevice(driver, 0);
  describe(device);
  {
    using context = new Context(device);
    askContext(context);
    copyAndFill(context);
    mapAndUnmap(context);
    await streamAndTime(context);
    await loadBeside(context);
    launch(context);
    replay(context);
  }
  driver.raiseDeferred();
}

function describe(device: CudaDevice): void {
  const { name, memoryBytes, computeCapability, uuid, pciBusId } = device;
  if (!name || !memoryBytes || !computeCapability.major || !uuid || !pciBusId) {
    throw new Error("The device does not describe itself");
  }
}

function askContext(context: Context): void {
  context.memoryInfo();
  context.setLimit("stackBytes", context.limit("stackBytes"));
  context.synchronize();
  const { driver } = context;
  driver.check("cuCtxGetCurrent", driver.symbols.cuCtxGetCurrent(driver.out.bytes));
}

function copyAndFill(context: Context): void {
  using first = new DeviceMemory(context, 64);
  using second = new DeviceMemory(context, 64);
  using pinned = new PinnedMemory(context, 64);
  using stream = new Stream(context);
  first.write(pinned.array);
  first.read(pinned.array);
  first.write(pinned.array, 0, stream);
  for (const bits of [8, 16, 32] as const) first.fill({ bits, value: 1 }, 0, 1, stream);
  second.copyFrom(first, {}, stream);
  second.read(pinned.array, 0, stream);
  stream.synchronize();
}

function mapAndUnmap(context: Context): void {
  using pool = new ChunkPool(context);
  using range = new VirtualRange(pool, pool.chunkBytes);
  range.resize(1);
}

async function streamAndTime(context: Context): Promise<void> {
  using stream = new Stream(context);
  using other = new Stream(context, context.streamPriorities().greatest);
  using start = new CudaEvent(context);
  using end = new CudaEvent(context);
  if (other.priority > stream.priority) throw new Error("The most urgent stream is not");
  start.record(stream);
  other.wait(start);
  end.record(other);
  await end.done();
  end.synchronize();
  end.elapsedMicros(start);
  other.query();
  const { driver } = context;
  const handle = other.live("cuStreamIsCapturing");
  driver.check(
    "cuStreamIsCapturing",
    driver.symbols.cuStreamIsCapturing(handle, driver.out.bytes),
  );
}

async function loadBeside(context: Context): Promise<void> {
  await using loader = new ModuleLoader(context);
  using _module = await loader.load(MANY_KERNELS, "many");
}

function launch(context: Context): void {
  using module = loadModule(context, KERNELS, "kernels");
  using x = new DeviceMemory(context, 4);
  using stream = new Stream(context);
  module.global("factor");
  // The error names what there is instead, for which more calls are made.
  refused(NOT_FOUND, () => module.function("not there"));
  const kernel = module.function("scale");
  kernel.setMaxDynamicSharedBytes(kernel.attribute("maxDynamicSharedBytes"));
  refused(INVALID_VALUE, () => kernel.setMaxDynamicSharedBytes(2 ** 30));
  kernel.blocksPerMultiprocessor(kernel.suggestedLaunch().threads);
  const args = new KernelArguments("pfi").setAll(x.address, 2, 1);
  for (const cooperative of [false, true]) {
    new KernelLaunch(kernel, { grid: [1], block: [1], cooperative }, args).enqueue(stream);
  }
}

/** Expects a failure, whose name and text the driver is asked for. */
function refused(code: number, call: () => unknown): void {
  try {
    call();
  } catch (error) {
    if (!(error instanceof CudaError) || error.code !== code) throw error;
  }
}

function replay(context: Context): void {
  using module = loadModule(context, KERNELS, "kernels");
  using x = new DeviceMemory(context, 4);
  using stream = new Stream(context);
  using event = new CudaEvent(context);
  const args = new KernelArguments("pfi").setAll(x.address, 2, 1);
  const kernel = new KernelLaunch(module.function("scale"), { grid: [1], block: [1] }, args);
  using graph = captureGraph(stream, () => {
    kernel.enqueue(stream);
    event.recordInGraph(stream);
  });
  using exec = graph.instantiate();
  exec.setKernel(graph.kernelNodes()[0], kernel);
  exec.update(graph);
  exec.upload(stream);
  exec.launch(stream);
  stream.synchronize();
}
