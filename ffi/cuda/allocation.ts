/**
 * What every kind of allocation checks and reports alike.
 *
 * @module
 */
import type { Context } from "./context.ts";
import { CODE, CudaError } from "./errors.ts";
import type { SymbolName } from "./symbols.ts";

/**
 * Makes sure that a size is one.
 *
 * @throws {CudaError}
 */
export function checkSize(call: SymbolName, bytes: number): void {
  if (Number.isSafeInteger(bytes) && bytes > 0) return;
  throw new CudaError(call, CODE.invalidValue, `${bytes} bytes cannot be allocated`, {
    hint: "Expected a positive integer.",
  });
}

/** The error of an allocation on the device; when there is no room, it says how much there is. */
export function allocationFailed(
  context: Context,
  call: SymbolName,
  status: number,
  bytes: number,
): CudaError {
  const { driver } = context;
  if (status !== CODE.outOfMemory) return driver.failure(call, status);
  const { out, secondOut } = driver;
  const asked = driver.symbols.cuMemGetInfo_v2(out.bytes, secondOut.bytes);
  const room = asked === CODE.success ? `; ${out.size} of ${secondOut.size} are free` : "";
  return driver.failure(call, status, { text: `no room for ${bytes} bytes${room}` });
}
