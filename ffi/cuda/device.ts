/**
 * The GPUs that the driver knows, and what they are.
 *
 * @module
 */
import type { CudaDriver } from "./driver.ts";
import { CODE, CudaError } from "./errors.ts";

/** What can be asked about a device, and its number in `CUdevice_attribute`. */
export const DEVICE_ATTRIBUTES = {
  maxThreadsPerBlock: 1, // CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK
  maxBlockX: 2, // CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X
  maxBlockY: 3, // CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y
  maxBlockZ: 4, // CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z
  maxGridX: 5, // CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X
  maxGridY: 6, // CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y
  maxGridZ: 7, // CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z
  sharedMemoryPerBlock: 8, // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK
  warpSize: 10, // CU_DEVICE_ATTRIBUTE_WARP_SIZE
  registersPerBlock: 12, // CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK
  multiprocessors: 16, // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  l2CacheBytes: 38, // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
  maxThreadsPerMultiprocessor: 39, // CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR
  copyEngines: 40, // CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT
  unifiedAddressing: 41, // CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING
  computeCapabilityMajor: 75, // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  computeCapabilityMinor: 76, // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
  sharedMemoryPerMultiprocessor: 81, // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
  cooperativeLaunch: 95, // CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH
  sharedMemoryPerBlockOptIn: 97, // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
  virtualMemory: 102, // CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
} as const;

/** Name of an attribute. */
export type DeviceAttribute = keyof typeof DEVICE_ATTRIBUTES;

const NAME_BYTES = 256;
const PCI_BUS_ID_BYTES = 16; // 0000:00:00.0 and a zero
const UUID_BYTES = 16;

/** A GPU. It owns nothing, so it is not disposed. */
export class CudaDevice {
  /** The driver that knows it. */
  readonly driver: CudaDriver;
  /** Its number, from 0, among the devices that this process sees. */
  readonly ordinal: number;
  /** `CUdevice`. */
  readonly handle: number;

  /**
   * The device of a number.
   *
   * @throws {CudaError} When there is none.
   */
  constructor(driver: CudaDriver, ordinal: number) {
    const count = deviceCount(driver);
    if (!Number.isInteger(ordinal) || ordinal < 0 || ordinal >= count) {
      throw new CudaError("cuDeviceGet", CODE.invalidDevice, `there is no device ${ordinal}`, {
        hint: `Expected ${count === 1 ? "0" : `0 to ${count - 1}`}.`,
      });
    }
    this.driver = driver;
    this.ordinal = ordinal;
    driver.check("cuDeviceGet", driver.symbols.cuDeviceGet(driver.out.bytes, ordinal));
    this.handle = driver.out.i32;
  }

  /** What its maker calls it. */
  get name(): string {
    const name = new Uint8Array(NAME_BYTES);
    const { driver } = this;
    driver.check(
      "cuDeviceGetName",
      driver.symbols.cuDeviceGetName(name, name.length, this.handle),
    );
    return text(name);
  }

  /** Its memory, bytes. */
  get memoryBytes(): number {
    const { driver } = this;
    driver.check(
      "cuDeviceTotalMem_v2",
      driver.symbols.cuDeviceTotalMem_v2(driver.out.bytes, this.handle),
    );
    return driver.out.size;
  }

  /** What its instruction set can do, e.g. major 8 and minor 0. */
  get computeCapability(): { readonly major: number; readonly minor: number } {
    return {
      major: this.attribute("computeCapabilityMajor"),
      minor: this.attribute("computeCapabilityMinor"),
    };
  }

  /** Tells it from every other GPU, as `nvidia-smi -L` writes it. */
  get uuid(): string {
    const bytes = new Uint8Array(UUID_BYTES);
    const { driver } = this;
    driver.check("cuDeviceGetUuid_v2", driver.symbols.cuDeviceGetUuid_v2(bytes, this.handle));
    const hex = bytes.toHex();
    const groups = [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]];
    return `GPU-${groups.map(([start, end]) => hex.slice(start, end)).join("-")}`;
  }

  /** Where it is plugged in, e.g. `0000:65:00.0`. */
  get pciBusId(): string {
    const id = new Uint8Array(PCI_BUS_ID_BYTES);
    const { driver } = this;
    driver.check(
      "cuDeviceGetPCIBusId",
      driver.symbols.cuDeviceGetPCIBusId(id, id.length, this.handle),
    );
    return text(id);
  }

  /** A property by its name here. */
  attribute(attribute: DeviceAttribute): number {
    const { driver } = this;
    driver.check(
      "cuDeviceGetAttribute",
      driver.symbols.cuDeviceGetAttribute(
        driver.out.bytes,
        DEVICE_ATTRIBUTES[attribute],
        this.handle,
      ),
    );
    return driver.out.i32;
  }
}

/** How many devices this process sees. */
export function deviceCount(driver: CudaDriver): number {
  driver.check("cuDeviceGetCount", driver.symbols.cuDeviceGetCount(driver.out.bytes));
  return driver.out.i32;
}

/**
 * The number in a device's name: `cuda` is the first, `cuda:1` the second. Undefined for any other
 * text.
 */
export function parseDeviceName(name: string): number | undefined {
  const match = /^cuda(?::(0|[1-9]\d{0,2}))?$/.exec(name);
  return match === null ? undefined : Number(match[1] ?? 0);
}

function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end === -1 ? bytes : bytes.subarray(0, end));
}
