/**
 * What NVIDIA's management library (NVML) knows of a device: how busy, how full, how hot. It comes
 * with the driver but may be missing, as in a container, and a device may not tell everything.
 *
 * @module
 */
import { NVML } from "./symbols.ts";

const DEFAULT_LIBRARY = "libnvidia-ml.so.1";
const TEMPERATURE_OF_CHIP = 0; // NVML_TEMPERATURE_GPU

/** One look at a device. What it does not tell is absent. */
export interface DeviceReading {
  /** Share of the last sample period, at most a second, in which a kernel ran: 0 to 1. */
  readonly busy?: number;
  /** Share of that period in which device memory was read or written: 0 to 1. */
  readonly memoryBusy?: number;
  /** Device memory in use by all processes. */
  readonly memoryUsedBytes?: number;
  /** Device memory there is. */
  readonly memoryTotalBytes?: number;
  /** Temperature of the chip. */
  readonly celsius?: number;
  /** Power drawn by the whole board. */
  readonly watts?: number;
}

/** NVML, initialised. */
export class Nvml implements Disposable {
  readonly #library: Deno.DynamicLibrary<typeof NVML>;
  readonly #out = new DataView(new ArrayBuffer(64));
  readonly #outBytes = new Uint8Array(this.#out.buffer);
  #disposed = false;

  /** Use {@linkcode openNvml}. */
  constructor(library: Deno.DynamicLibrary<typeof NVML>) {
    this.#library = library;
  }

  /**
   * Handle of a device, for {@linkcode read}; undefined when NVML knows none there.
   *
   * @param pciBusId As `cuDeviceGetPCIBusId` gives it, e.g. `0000:65:00.0`.
   */
  device(pciBusId: string): bigint | undefined {
    const { symbols } = this.#library;
    const name = new TextEncoder().encode(`${pciBusId}\0`);
    if (symbols.nvmlDeviceGetHandleByPciBusId_v2(name, this.#outBytes) !== 0) return undefined;
    return this.#out.getBigUint64(0, true);
  }

  /** Looks at a device. */
  read(device: bigint): DeviceReading {
    const { symbols } = this.#library;
    const out = this.#outBytes;
    return {
      ...symbols.nvmlDeviceGetUtilizationRates(device, out) === 0 && {
        busy: this.#u32(0) / 100,
        memoryBusy: this.#u32(4) / 100,
      },
      ...symbols.nvmlDeviceGetMemoryInfo(device, out) === 0 && {
        memoryTotalBytes: this.#u64(0),
        memoryUsedBytes: this.#u64(16),
      },
      ...symbols.nvmlDeviceGetTemperature(device, TEMPERATURE_OF_CHIP, out) === 0 && {
        celsius: this.#u32(0),
      },
      ...symbols.nvmlDeviceGetPowerUsage(device, out) === 0 && {
        watts: this.#u32(0) / 1000,
      },
    };
  }

  #u32(offset: number): number {
    return this.#out.getUint32(offset, true);
  }

  #u64(offset: number): number {
    return Number(this.#out.getBigUint64(offset, true));
  }

  /** Shuts NVML down. Twice is once. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#library.symbols.nvmlShutdown();
    this.#library.close();
  }
}

/**
 * Opens NVML; undefined where it is missing, too old or does not start: nothing depends on it.
 *
 * @param path The library; by default the one of the driver.
 */
export function openNvml(path: string = DEFAULT_LIBRARY): Nvml | undefined {
  let library: Deno.DynamicLibrary<typeof NVML>;
  try {
    library = Deno.dlopen(path, NVML);
  } catch {
    return undefined;
  }
  if (library.symbols.nvmlInit_v2() === 0) return new Nvml(library);
  library.close();
  return undefined;
}
