/**
 * The cuda device.
 *
 * @module
 */
export { type CudaDeviceOptions, openCudaDevice } from "./device.ts";
