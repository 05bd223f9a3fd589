/**
 * Sends what is planned when it is planned, whatever the server does.
 *
 * @module
 */
import type { Timer } from "../../models/clock.ts";
import type { Arrival } from "./plan.ts";
import { send, type Sending } from "./sender.ts";

/**
 * Sends all arrivals, and waits for their answers. None is skipped: one that is late is sent at once.
 *
 * @param connections Most requests under way; those beyond wait for one to end.
 */
export function openLoop(
  arrivals: readonly Arrival[],
  connections: number,
  sending: Sending,
): Promise<void> {
  const { clock, startMicros, stop } = sending;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let next = 0, underWay = 0;
  /** Since when there is a free connection. */
  let freeSince = 0;
  let timer: Timer | undefined;

  const sendDue = () => {
    while (next < arrivals.length && underWay < connections && !stop.aborted) {
      const { atMicros, model } = arrivals[next];
      // One timer for all: what became due while it slept goes out together.
      if (clock.nowMicros() - startMicros < atMicros) {
        timer = clock.at(startMicros + atMicros, sendDue);
        return;
      }
      next++;
      underWay++;
      send(sending, model, atMicros, Math.max(atMicros, freeSince)).then(ended, reject);
    }
    if (underWay === 0) resolve();
  };
  const ended = () => {
    const wasFull = underWay-- === connections;
    if (wasFull) freeSince = clock.nowMicros() - startMicros;
    // With connections left, a timer is waiting for the next arrival, unless there is none.
    if (wasFull || next === arrivals.length || stop.aborted) sendDue();
  };

  stop.addEventListener("abort", () => {
    timer?.cancel();
    sendDue();
  }, { once: true });
  sendDue();
  return promise;
}
