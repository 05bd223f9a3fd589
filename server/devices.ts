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

const DEVICES = {
  auto: openCpu,
  cpu: openCpu,
  simulated: ({ memory }) =>
    Promise.resolve(openSimulatedDevice({ clock: new SystemClock(), memoryBytes: memory })),
} satisfies Record<GatewayConfig["device"], (settings: DeviceSettings) => Promise<Device>>;

/**
 * Opens a device; `auto` takes the best that this machine has.
 *
 * @throws {SluiceError} `device_failed` when its library cannot be loaded.
 */
export function openDevice(
  name: GatewayConfig["device"],
  settings: DeviceSettings,
): Promise<Device> {
  return DEVICES[name](settings);
}

function openCpu({ threads, memory }: DeviceSettings): Promise<Device> {
  return openCpuDevice({ threads, memoryBytes: memory });
}
