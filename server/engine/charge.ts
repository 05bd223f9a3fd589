import type { Iteration } from "./iteration.ts";
import { record } from "./statistics.ts";
import type { Tenants } from "./tenants.ts";

/**
 * Charges an iteration, failed or not, to its model's queue, to each of its requests by rows, and to
 * their tenants.
 *
 * @param deviceMicros What it took on the device.
 * @param busyLanes How many lanes shared the device meanwhile, on average.
 * @returns What was charged, microseconds.
 */
export function charge(
  { loaded, batch, rows }: Iteration,
  deviceMicros: number,
  busyLanes: number,
  tenants: Tenants,
  nowMicros: number,
): number {
  const { statistics } = loaded;
  const micros = deviceMicros / busyLanes;
  batch[0].queue.charge(micros);
  statistics.chargedMicros += micros;
  statistics.executionCount++;
  record(statistics.computeMicros, deviceMicros);
  for (const pending of batch) {
    const share = micros * pending.rows / rows;
    pending.attainedMicros += share;
    tenants.charge(pending.tenant, share, nowMicros);
  }
  return micros;
}
