/**
 * A case of the conformance suite of CUDA drivers.
 *
 * @module
 */
import { Context } from "../../../ffi/cuda/context.ts";
import { CudaDevice } from "../../../ffi/cuda/device.ts";
import type { CudaDriver } from "../../../ffi/cuda/driver.ts";

/** What every driver has to do, the software GPU and a real one. */
export interface CudaCase {
  /** What is done, and what must come of it. */
  readonly name: string;
  /**
   * Does it on the first device and disposes all that it makes.
   *
   * @throws {Skipped} When the device cannot do it at all.
   * @throws {Error} When something else comes of it.
   */
  run(driver: CudaDriver): void | Promise<void>;
}

/** Why a case does not apply to a device. */
export class Skipped extends Error {}

/** A case that needs no more than a context. */
export function contextCase(
  name: string,
  run: (context: Context) => void | Promise<void>,
): CudaCase {
  return {
    name,
    async run(driver) {
      using context = new Context(new CudaDevice(driver, 0));
      await run(context);
    },
  };
}
