/**
 * Telling the first request to stop from the second.
 *
 * @module
 */
import type { Io } from "./io.ts";

/**
 * Signals closer than this are one: with a task runner between the terminal and the gateway, a
 * single Ctrl-C arrives from both.
 */
const SAME_MILLIS = 500;

/** Requests to stop, as they come. */
export interface StopSignals extends Disposable {
  /** Resolves at the first signal. */
  readonly first: Promise<void>;
  /** Resolves at the first one that is meant to be another. */
  readonly second: Promise<void>;
}

/** Listens until disposed. */
export function stopSignals(io: Io, now: () => number = () => performance.now()): StopSignals {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  let firstAt: number | undefined;
  const listening = io.onStopSignal(() => {
    firstAt ??= now();
    first.resolve();
    if (now() - firstAt >= SAME_MILLIS) second.resolve();
  });
  return {
    first: first.promise,
    second: second.promise,
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
