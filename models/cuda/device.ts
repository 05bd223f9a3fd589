/**
 * The cuda device: models lowered to kernels of our own, run through the CUDA driver.
 *
 * @module
 */
import { ChunkPool } from "../../ffi/cuda/chunk_pool.ts";
import { Context } from "../../ffi/cuda/context.ts";
import { CudaDevice as Gpu } from "../../ffi/cuda/device.ts";
import type { CudaDriver } from "../../ffi/cuda/driver.ts";
import type { Device, DeviceFault, Lane, MemoryUse, StagedModel } from "../device.ts";
import { SluiceError } from "../errors.ts";
import type { Model } from "../model.ts";
import { labelOf } from "../model_file.ts";
import { deviceError } from "./errors.ts";
import { CudaExecutable } from "./executable.ts";
import { KernelLibrary } from "./kernel_library.ts";
import { CudaLane } from "./lane.ts";
import type { CudaDeviceOptions } from "./mod.ts";
import { PinnedPool } from "./pinned_pool.ts";
import { ReplayPool } from "./replay_pool.ts";
import { stagedGraph } from "./stage.ts";
import { CudaStagedModel } from "./staged_model.ts";
import { uploadWeights } from "./weights.ts";

/** The rest is for what the driver itself takes meanwhile: graphs, streams, the kernels' stacks. */
const SHARE = 15 / 16;

/** What the PTX of the kernels is for, at least: compute capability 8.0. */
const LEAST_MAJOR = 8;

/**
 * Opens the cuda device.
 *
 * @param driver Belongs to the device, and is disposed of where it cannot be opened.
 * @param options What {@linkcode CudaDeviceOptions} says.
 * @throws {CudaError} When the driver refuses.
 * @throws {SluiceError} `unsupported` when the GPU is too old, `invalid_argument` when it has not as
 *   much memory.
 */
export async function openDeviceOf(
  driver: CudaDriver,
  options: Pick<CudaDeviceOptions, "ordinal" | "memoryBytes">,
): Promise<Device> {
  await using parts = new AsyncDisposableStack();
  parts.use(driver);
  const gpu = new Gpu(driver, options.ordinal ?? 0);
  checkCapability(gpu);
  const context = parts.use(new Context(gpu));
  const before = context.memoryInfo();
  const pool = parts.use(new ChunkPool(context));
  const pinned = parts.use(new PinnedPool(context));
  const kernels = parts.use(await KernelLibrary.load(context));
  const { free } = context.memoryInfo();
  const memoryBytes = capacity(options.memoryBytes ?? free * SHARE, free, pool.chunkBytes);
  // Another process may have freed memory meanwhile.
  const kernelBytes = Math.max(0, before.free - free);
  return new CudaDevice({ driver, pool, pinned, kernels }, parts.move(), memoryBytes, kernelBytes);
}

function checkCapability({ name, computeCapability: { major, minor } }: Gpu): void {
  if (major >= LEAST_MAJOR) return;
  throw new SluiceError(
    "unsupported",
    `The cuda device needs a GPU of compute capability ${LEAST_MAJOR}.0 or more; ${name} has ` +
      `${major}.${minor}`,
  );
}

function capacity(wanted: number, free: number, chunkBytes: number): number {
  const bytes = Math.floor(wanted / chunkBytes) * chunkBytes;
  if (bytes > 0 && bytes <= free) return bytes;
  throw new SluiceError(
    "invalid_argument",
    `The cuda device cannot give models ${wanted} bytes: expected from ${chunkBytes}, the least ` +
      `that it gives, to the ${free} that it has free (--memory)`,
  );
}

/** What is opened once. */
interface Opened {
  readonly driver: CudaDriver;
  readonly pool: ChunkPool;
  readonly pinned: PinnedPool;
  readonly kernels: KernelLibrary;
}

class CudaDevice implements Device {
  readonly name = "cuda";
  readonly memoryBytes: number;
  readonly #opened: Opened;
  readonly #parts: AsyncDisposableStack;
  readonly #kernelBytes: number;
  readonly #staged = new Set<CudaStagedModel>();
  readonly #executables = new Set<CudaExecutable>();
  /** Those of closed executables, as long as answers are read there. */
  readonly #leftReplays = new Set<ReplayPool>();
  readonly #lanes = new Set<CudaLane>();
  readonly #listeners: ((fault: DeviceFault) => void)[] = [];
  #laneIds = 0;
  #fault: SluiceError | undefined;
  #disposing: Promise<void> | undefined;

  constructor(
    opened: Opened,
    parts: AsyncDisposableStack,
    memoryBytes: number,
    kernelBytes: number,
  ) {
    this.#opened = opened;
    this.#parts = parts;
    this.memoryBytes = memoryBytes;
    this.#kernelBytes = kernelBytes;
    opened.driver.onFault(({ message }) => {
      this.#fault = new SluiceError("device_failed", message);
      for (const listener of this.#listeners) listener({ message, fatal: true });
    });
  }

  async stage(model: Model, signal?: AbortSignal): Promise<StagedModel> {
    this.#checkOpen(model);
    const cancelled = () => {
      if (!signal?.aborted) return;
      const cause = signal.reason;
      throw new SluiceError("cancelled", `Loading ${labelOf(model)} was cancelled`, { cause });
    };
    cancelled();
    const graph = await stagedGraph(model);
    cancelled();
    this.#checkOpen(model);
    const staged = new CudaStagedModel(model, graph, {
      chunkBytes: this.#opened.pool.chunkBytes,
      upload: (staged) => this.#upload(staged),
      closed: () => this.#staged.delete(staged),
    });
    this.#staged.add(staged);
    return staged;
  }

  /**
   * Opens a lane.
   *
   * @throws {SluiceError} `device_failed` when the driver refuses it.
   */
  openLane(bytes: number): Lane {
    if (this.#fault !== undefined) throw this.#fault;
    try {
      const lane = new CudaLane(this.#laneIds++, this.#opened.pool, this.memoryBytes);
      lane.onClose(() => this.#lanes.delete(lane));
      this.#lanes.add(lane);
      lane.resize(bytes);
      return lane;
    } catch (cause) {
      throw deviceError("A lane cannot be opened", cause);
    }
  }

  memory(): readonly MemoryUse[] {
    const { pool, pinned } = this.#opened;
    const uses: MemoryUse[] = [];
    const add = (use: MemoryUse) => use.bytes > 0 && uses.push(use);
    add({ class: "overhead", bytes: this.#kernelBytes });
    add({ class: "overhead", bytes: pool.counts.pooled * pool.chunkBytes });
    for (const { model: { name: model }, graph } of this.#staged) {
      add({ model, class: "host", bytes: graph.image.length });
    }
    for (const { model: { name: model }, persistentBytes, hostBytes } of this.#executables) {
      add({ model, class: "persistent", bytes: persistentBytes });
      add({ model, class: "host", bytes: hostBytes });
    }
    add({ class: "host", bytes: pinned.bytes });
    for (const { hostBytes } of this.#leftReplays) add({ class: "host", bytes: hostBytes });
    for (const { range } of this.#lanes) add({ class: "ephemeral", bytes: range.bytes });
    return uses;
  }

  /** Gives back what nobody uses: of the device at once, of the host when nothing runs. */
  trim(): Promise<void> {
    if (this.#fault !== undefined) return Promise.resolve(); // the device takes nothing back any more
    this.#opened.pool.trim();
    if (this.#lanes.values().every(({ running }) => running === 0)) this.#opened.pinned.trim();
    return Promise.resolve();
  }

  onFault(listener: (fault: DeviceFault) => void): void {
    this.#listeners.push(listener);
  }

  /** Waits for what is in flight, then gives everything back. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposing ??= this.#dispose();
  }

  async #upload(staged: CudaStagedModel): Promise<CudaExecutable> {
    const { model, graph: { image } } = staged;
    this.#checkOpen(model);
    const { pool, pinned, kernels } = this.#opened;
    let weights;
    try {
      if (image.length > 0) weights = await uploadWeights(pool, pinned, image);
    } catch (cause) {
      const what = `${labelOf(model)} needs ${staged.persistentBytes} bytes for its weights`;
      throw deviceError(what, cause);
    }
    const replays = new ReplayPool({ weights, kernels, pinned });
    const executable: CudaExecutable = new CudaExecutable({
      model,
      weights,
      replays,
      plan: (signature) => staged.plan(signature),
      fault: () => this.#fault,
      closed: () => {
        this.#executables.delete(executable);
        this.#leftReplays.add(replays);
        for (const left of this.#leftReplays) if (left.empty) this.#leftReplays.delete(left);
      },
    });
    this.#executables.add(executable);
    return executable;
  }

  async #dispose(): Promise<void> {
    for (const executable of this.#executables) await executable[Symbol.asyncDispose]();
    for (const left of this.#leftReplays) left[Symbol.dispose]();
    for (const lane of this.#lanes) lane[Symbol.dispose]();
    await this.#parts[Symbol.asyncDispose]();
  }

  #checkOpen(model: Model): void {
    if (this.#fault !== undefined) throw this.#fault;
    if (this.#disposing === undefined) return;
    const message = `${labelOf(model)} cannot be loaded: the device is closed`;
    throw new SluiceError("not_ready", message);
  }
}
