/**
 * What calls of the CUDA driver cost and how soon their end is seen, on the software GPU.
 *
 * @module
 */
import { build } from "hdr-histogram-js";
import { KernelArguments } from "../../ffi/cuda/arguments.ts";
import { Context } from "../../ffi/cuda/context.ts";
import { CudaDevice } from "../../ffi/cuda/device.ts";
import { openDriver } from "../../ffi/cuda/driver.ts";
import { CudaEvent } from "../../ffi/cuda/event.ts";
import { captureGraph } from "../../ffi/cuda/graph.ts";
import { KernelLaunch, type LaunchShape } from "../../ffi/cuda/launch.ts";
import { DeviceMemory } from "../../ffi/cuda/memory.ts";
import { loadModule } from "../../ffi/cuda/module.ts";
import { Stream } from "../../ffi/cuda/stream.ts";
import { build as buildSoftwareGpu } from "../../ffi/software_gpu/build.ts";
import { SoftwareGpuControl } from "../../ffi/software_gpu/control.ts";
import { KERNELS } from "../conformance/cuda/kernels.ts";
import { uniform } from "../kernels/inputs.ts";
import { median } from "./figures.ts";
import type { RequestFile } from "./models.ts";
import { runWrk } from "./wrk.ts";

/** What was measured in one process. */
export interface CudaFigures {
  /** To enqueue one launch, microseconds: the median batch, divided. */
  readonly launchMicros: number;
  /** Calls of the driver that replay an iteration of eight kernels. */
  readonly callsOfReplay: number;
  /** To enqueue that, microseconds. */
  readonly replayMicros: number;
  /** From an event's firing until it is told, while HTTP is served. */
  readonly seen: { readonly p50: number; readonly p99: number; readonly requestsPerSecond: number };
}

/** Few enough that none waits for room in the stream. */
const BATCH = 500;
const BATCHES = 40;
const KERNELS_OF_ITERATION = 8;

/** Costs of calls, then an event every few milliseconds beside `connections` of HTTP. */
export async function cudaFigures(
  { seconds, connections, request }: {
    readonly seconds: number;
    readonly connections: number;
    readonly request: RequestFile;
  },
): Promise<CudaFigures> {
  const path = await buildSoftwareGpu();
  using control = new SoftwareGpuControl(path);
  using driver = openDriver(path);
  using context = new Context(new CudaDevice(driver, 0));
  using module = loadModule(context, KERNELS, "kernels");
  using memory = new DeviceMemory(context, 4);
  using stream = new Stream(context);
  const launch = new KernelLaunch(
    module.function("scale"),
    { grid: [1], block: [1] },
    new KernelArguments("pfi").setAll(memory.address, 1, 1),
  );
  const launchMicros = enqueueMicros(stream, () => launch.enqueue(stream));

  using graph = captureGraph(stream, () => {
    for (let i = 0; i < KERNELS_OF_ITERATION; i++) launch.enqueue(stream);
  });
  using replay = graph.instantiate();
  const before = control.counter("calls");
  replay.launch(stream);
  const callsOfReplay = control.counter("calls") - before;
  stream.synchronize();
  const replayMicros = enqueueMicros(stream, () => replay.launch(stream));

  // A kernel that takes a while and no core: the software GPU's threads are not a GPU's.
  control.configure({ timed: true, skipArithmetic: true, defaultKernelNanos: 2_000_000 });
  const answer = JSON.stringify({ outputs: [] });
  await using server = Deno.serve({ port: 0, onListen: () => {} }, async (request) => {
    await request.json();
    return new Response(answer);
  });
  const url = `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}/`;
  const load = runWrk({ url, request, connections, seconds });
  const seen = await delaysOfEvents(context, stream, launch, load);
  const { perSecond } = await load;
  return {
    launchMicros,
    callsOfReplay,
    replayMicros,
    seen: { ...seen, requestsPerSecond: perSecond },
  };
}

function enqueueMicros(stream: Stream, enqueue: () => void): number {
  const batches: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const begin = performance.now();
    for (let i = 0; i < BATCH; i++) enqueue();
    batches.push((performance.now() - begin) * 1000 / BATCH);
    stream.synchronize();
  }
  return median(batches);
}

/** One launch after the other until `end`; when each event fired, as the host's clock has it. */
async function delaysOfEvents(
  context: Context,
  stream: Stream,
  launch: KernelLaunch,
  end: Promise<unknown>,
): Promise<{ p50: number; p99: number }> {
  const delays = build({ numberOfSignificantValueDigits: 3 });
  let ended = false;
  end.finally(() => ended = true).catch(() => {});
  using event = new CudaEvent(context);
  const { base, baseMicros } = firedAt(context, stream);
  using _base = base;
  while (!ended) {
    launch.enqueue(stream);
    event.record(stream);
    await event.done();
    const toldMicros = performance.now() * 1000;
    delays.recordValue(Math.max(0, toldMicros - baseMicros - event.elapsedMicros(base)));
  }
  return { p50: delays.getValueAtPercentile(50), p99: delays.getValueAtPercentile(99) };
}

const CALIBRATIONS = 500;

/**
 * An event of which it is known when it fired: in the shortest of many spans between just before it
 * was recorded and the end of a wait for it. The span's begin counts, so that delays are never made
 * out shorter than they are.
 */
function firedAt(context: Context, stream: Stream): { base: CudaEvent; baseMicros: number } {
  let base = new CudaEvent(context), next = new CudaEvent(context);
  let baseMicros = 0, shortest = Infinity;
  for (let i = 0; i < CALIBRATIONS; i++) {
    const before = performance.now() * 1000;
    next.record(stream);
    next.synchronize();
    const span = performance.now() * 1000 - before;
    if (span >= shortest) continue;
    [base, next, baseMicros, shortest] = [next, base, before, span];
  }
  next[Symbol.dispose]();
  return { base, baseMicros };
}

/** A product of two square matrices. */
export interface ProductRun {
  /** File of the kernel suite, without its ending. */
  readonly module: string;
  /** Kernel in it. */
  readonly kernel: string;
  /** Bytes of an element of what is multiplied. */
  readonly elementBytes: 2 | 4;
  /** Rows and columns. */
  readonly size: number;
  /** Threads of a block, for tiles of 64 x 64. */
  readonly block: LaunchShape["block"];
}

const PTX = new URL("../kernels/ptx/", import.meta.url);
const TILE = 64;
const PRODUCTS = 5;

/** How fast the software GPU multiplies on one thread, 10^9 floating-point operations a second. */
export async function productRate(
  { module: name, kernel, elementBytes, size, block }: ProductRun,
): Promise<number> {
  using driver = openDriver(await buildSoftwareGpu());
  using context = new Context(new CudaDevice(driver, 0));
  const ptx = await Deno.readTextFile(new URL(`${name}.sm_80.ptx`, PTX));
  using module = loadModule(context, ptx, name);
  using stream = new Stream(context);
  using a = new DeviceMemory(context, size * size * elementBytes);
  using b = new DeviceMemory(context, size * size * elementBytes);
  using c = new DeviceMemory(context, size * size * 4);
  for (const [seed, memory] of [a, b].entries()) {
    const values = uniform(size * size, seed);
    memory.write(elementBytes === 4 ? values : new Float16Array(values));
  }
  const launch = new KernelLaunch(
    module.function(kernel),
    { grid: [size / TILE, size / TILE], block },
    new KernelArguments("pppiii").setAll(a.address, b.address, c.address, size, size, size),
  );
  const rates: number[] = [];
  for (let run = 0; run <= PRODUCTS; run++) {
    const begin = performance.now();
    launch.enqueue(stream);
    stream.synchronize();
    rates.push(2 * size ** 3 / ((performance.now() - begin) * 1e6));
  }
  return median(rates.slice(1)); // the first meets cold caches
}
