/**
 * The table of devices by the name that `--device` takes.
 *
 * @module
 */
import { SystemClock } from "../models/clock.ts";
import { openCpuDevice } from "../models/cpu/mod.ts";
import { openCudaDevice } from "../models/cuda/mod.ts";
import type { Device } from "../models/device.ts";
import { messageOf } from "../models/errors.ts";
import { openSimulatedDevice } from "../models/simulated/device.ts";
import type { GatewayConfig } from "./config.ts";

/** What a device is opened with. */
export type DeviceSettings = Pick<GatewayConfig, "threads" | "memory" | "cudaDriver">;

/** Takes a line for the operator. */
export type Announce = (message: string) => void;

/** What follows the colon is the number of a GPU. */
type Open = (
  settings: DeviceSettings,
  ordinal: number,
  announce: Announce,
) => Device | Promise<Device>;

const DEVICES: Readonly<Record<string, Open>> = {
  auto: openBest,
  cpu: openCpu,
  cuda: openCuda,
  simulated: ({ memory }) => openSimulatedDevice({ clock: new SystemClock(), memoryBytes: memory }),
};

/**
 * Opens a device.
 *
 * @param name As the setting `device` takes it.
 * @param announce Told why `auto` became what it is.
 * @throws {Error} When the library behind it is missing, or refuses the settings.
 */
export async function openDevice(
  name: string,
  settings: DeviceSettings,
  announce: Announce = () => {},
): Promise<Device> {
  const [kind, ordinal = "0"] = name.split(":");
  return await DEVICES[kind](settings, Number(ordinal), announce);
}

function openCpu({ threads, memory }: DeviceSettings): Device {
  return openCpuDevice({ threads, memoryBytes: memory });
}

function openCuda({ memory, cudaDriver }: DeviceSettings, ordinal: number): Promise<Device> {
  return openCudaDevice({ ordinal, driverPath: cudaDriver, memoryBytes: memory });
}

async function openBest(
  settings: DeviceSettings,
  ordinal: number,
  announce: Announce,
): Promise<Device> {
  try {
    return await openCuda(settings, ordinal);
  } catch (error) {
    announce(`Models run on the cpu. ${messageOf(error)}`);
    return openCpu(settings);
  }
}
