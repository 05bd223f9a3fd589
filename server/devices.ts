/**
 * The table of devices by the name that `--device` takes.
 *
 * @module
 */
import { SystemClock } from "../models/clock.ts";
import { openCpuDevice } from "../models/cpu/mod.ts";
import type { Device } from "../models/device.ts";
import { openSimulatedDevice } from "../models/simulated/device.ts";
import type { GatewayConfig } from "./config.ts";

/** What a device is opened with. */
export type DeviceSettings = Pick<GatewayConfig, "threads" | "memory">;

const DEVICES: Readonly<Record<GatewayConfig["device"], (settings: DeviceSettings) => Device>> = {
  auto: openCpu,
  cpu: openCpu,
  simulated: ({ memory }) => openSimulatedDevice({ clock: new SystemClock(), memoryBytes: memory }),
};

/**
 * Opens a device; `auto` takes the best that this machine has.
 *
 * @throws {Error} When the library behind it is missing, or refuses the settings.
 */
export function openDevice(name: GatewayConfig["device"], settings: DeviceSettings): Device {
  return DEVICES[name](settings);
}

function openCpu({ threads, memory }: DeviceSettings): Device {
  return openCpuDevice({ threads, memoryBytes: memory });
}
