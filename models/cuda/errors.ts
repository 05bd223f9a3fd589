/**
 * What the driver's errors are to a caller.
 *
 * @module
 */
import { CODE, CudaError } from "../../ffi/cuda/errors.ts";
import { SluiceError, toSluiceError } from "../errors.ts";

/**
 * Any error of the device as one that a caller may see.
 *
 * @param what What could not be done, to begin the sentence with.
 */
export function deviceError(what: string, cause: unknown): SluiceError {
  if (!(cause instanceof CudaError)) return toSluiceError(cause);
  const code = cause.code === CODE.outOfMemory ? "out_of_memory" : "device_failed";
  return new SluiceError(code, `${what}: ${cause.message}`, { cause });
}
