/**
 * The CPU device.
 *
 * @module
 */
export { type CpuDeviceOptions, openCpuDevice } from "./device.ts";
