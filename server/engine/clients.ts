/**
 * Clients that may leave while their requests wait.
 *
 * @module
 */
import type { PendingRequest } from "./pending.ts";

/** Listens to the clients of requests that wait. */
export class Clients {
  readonly #onLeave: (pending: PendingRequest) => void;
  #unheard: PendingRequest[] = [];

  /** `onLeave` is called for each request whose client leaves before its iteration starts. */
  constructor(onLeave: (pending: PendingRequest) => void) {
    this.#onLeave = onLeave;
  }

  /** Takes note of a request that waits; its client is heard from the next {@linkcode listen} on. */
  add(pending: PendingRequest): void {
    this.#unheard.push(pending);
  }

  /** Called at a turn's end: most requests start within it, and only those left need a listener. */
  listen(): void {
    if (this.#unheard.length === 0) return;
    const unheard = this.#unheard;
    this.#unheard = [];
    for (const pending of unheard) {
      const signal = pending.waiting ? pending.caller.signal : undefined;
      if (signal === undefined) continue;
      const listener = () => this.#onLeave(pending);
      if (signal.aborted) {
        listener();
        continue;
      }
      signal.addEventListener("abort", listener, { once: true });
      pending.stopListening = () => signal.removeEventListener("abort", listener);
    }
  }
}

/** From now on its client may leave unheard: the request runs, or has its answer. */
export function stopListening(pending: PendingRequest): void {
  pending.stopListening?.();
  pending.stopListening = undefined;
}
