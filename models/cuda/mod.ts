/**
 * The cuda device.
 *
 * @module
 */
import { openDriver } from "../../ffi/cuda/driver.ts";
import type { Device } from "../device.ts";

/** Settings of the cuda device. */
export interface CudaDeviceOptions {
  /** Its number among those of the machine; 0 when absent. */
  readonly ordinal?: number;
  /** The driver's library; the system's when absent. */
  readonly driverPath?: string;
  /** Capacity for weights and lanes, bytes. Default: 15/16 of what the device has free. */
  readonly memoryBytes?: number;
}

/**
 * Opens the cuda device.
 *
 * @throws {CudaUnavailableError} When there is no driver, or no GPU.
 * @throws {CudaError} When the driver refuses.
 * @throws {SluiceError} `unsupported` when the GPU is too old, `invalid_argument` when it has not as
 *   much memory.
 */
export async function openCudaDevice(options: CudaDeviceOptions = {}): Promise<Device> {
  const driver = openDriver(options.driverPath);
  // Code that a machine without a GPU need not hold.
  const { openDeviceOf } = await import("./device.ts");
  return await openDeviceOf(driver, options);
}
