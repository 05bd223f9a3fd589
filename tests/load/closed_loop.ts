/**
 * Clients that send when they are answered: their load depends on the server's speed.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import { seededRandom } from "../../models/random.ts";
import { exponential } from "./arrivals.ts";
import type { SequenceStep } from "./payload.ts";
import type { Client } from "./plan.ts";
import { send, type Sending } from "./sender.ts";

/** Pause of a client that gets no connection: a server that starts anew is not to be hammered. */
const RECONNECT_MICROS = 100_000;

/** Lets a client send until `endMicros`. */
export async function closedLoop(
  { model, thinkMicros, seed, steps }: Client,
  endMicros: number,
  sending: Sending,
): Promise<void> {
  const { clock, startMicros, stop } = sending;
  const random = seededRandom(seed);
  const pause = () => Math.round(thinkMicros * exponential(random));
  const sequence = steps === undefined ? undefined : new Sequence(steps);
  // A pause comes first: clients that began together would stay together.
  let due = pause();
  while (due < endMicros) {
    await reach(startMicros + due, clock, stop);
    if (stop.aborted) return;
    const { outcome } = await send(sending, model, due, due, sequence?.step());
    sequence?.went(outcome === "ok");
    due = clock.nowMicros() - startMicros + pause();
    if (outcome === "connection") due += RECONNECT_MICROS;
  }
  // Its state would stay with the server until it is missed.
  const rest = sequence?.last();
  if (rest !== undefined) await sending.exchange(model, stop, rest);
}

/** Sequences one after the other, of so many steps each; one whose step failed is given up. */
class Sequence {
  readonly #steps: number;
  #id = "";
  #done = 0;

  constructor(steps: number) {
    this.#steps = steps;
  }

  /** The next step. */
  step(): SequenceStep {
    const start = this.#done === 0;
    // Unlike any other of this run, of another generator, or of a run that was interrupted.
    if (start) this.#id = crypto.randomUUID();
    return { id: this.#id, start, end: this.#done === this.#steps - 1 };
  }

  /** How that went. */
  went(well: boolean): void {
    this.#done = well ? (this.#done + 1) % this.#steps : 0;
  }

  /** A step that ends what is under way; undefined when nothing is. */
  last(): SequenceStep | undefined {
    return this.#done === 0 ? undefined : { id: this.#id, start: false, end: true };
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
