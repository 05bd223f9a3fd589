/**
 * Clients that send when they are answered: their load depends on the server's speed.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import { seededRandom } from "../../models/random.ts";
import { exponential } from "./arrivals.ts";
import type { Client } from "./plan.ts";
import { send, type Sending } from "./sender.ts";

/** Lets a client send until `endMicros`. */
export async function closedLoop(
  { model, thinkMicros, seed }: Client,
  endMicros: number,
  sending: Sending,
): Promise<void> {
  const { clock, startMicros, stop } = sending;
  const random = seededRandom(seed);
  const pause = () => Math.round(thinkMicros * exponential(random));
  // A pause comes first: clients that began together would stay together.
  let due = pause();
  while (due < endMicros) {
    await reach(startMicros + due, clock, stop);
    if (stop.aborted) return;
    await send(sending, model, due, due);
    due = clock.nowMicros() - startMicros + pause();
  }
}

/** Waits until a time has come, or the run ends early. */
async function reach(atMicros: number, clock: Clock, stop: AbortSignal): Promise<void> {
  if (atMicros <= clock.nowMicros() || stop.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const ended = () => resolve();
  const timer = clock.at(atMicros, ended);
  stop.addEventListener("abort", ended);
  await promise;
  timer.cancel();
  stop.removeEventListener("abort", ended);
}
