/**
 * Holds the memory that models may take against what there is.
 *
 * @module
 */
import process from "node:process";
import { SluiceError } from "../models/errors.ts";
import { formatBytes } from "./bytes.ts";

/** Memory of where this process runs. */
export interface HostMemory {
  /** The machine's. */
  readonly machineBytes: number;
  /** What the container, or whatever else limits this process, leaves of it. */
  readonly limitBytes: number;
}

/** The real one. */
export function hostMemory(): HostMemory {
  const machineBytes = Deno.systemMemoryInfo().total;
  // 0 says that no limit is known, and a number beyond all machines that there is none.
  const limitBytes = process.constrainedMemory() || machineBytes;
  return { machineBytes, limitBytes: Math.min(limitBytes, machineBytes) };
}

/**
 * Checks the setting `memory`.
 *
 * @throws {SluiceError} `invalid_argument` when the machine has less.
 */
export function checkMemory(bytes: number, { machineBytes } = hostMemory()): void {
  if (bytes <= machineBytes) return;
  throw new SluiceError(
    "invalid_argument",
    `Setting "memory" (--memory) is ${
      formatBytes(bytes)
    }; expected at most what the machine has, ` +
      formatBytes(machineBytes),
  );
}

/** What to say when the memory of the device is more than the container allows. */
export function memoryWarning(bytes: number, { limitBytes } = hostMemory()): string | undefined {
  if (bytes <= limitBytes) return undefined;
  return `Models may take ${formatBytes(bytes)}, but this process may have ${
    formatBytes(limitBytes)
  }: set --memory below that, or it will be killed when models fill it`;
}
