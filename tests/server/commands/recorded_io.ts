/**
 * Surroundings for running commands inside a test.
 *
 * @module
 */
import type { Io } from "../../../server/commands/io.ts";

/** Keeps what a command writes; signals are sent by hand. */
export class RecordedIo implements Io {
  readonly interactive = false;
  readonly columns = 100;
  #out = "";
  #err = "";
  readonly #listeners = new Set<() => void>();
  readonly #waiting: { text: string; resolve(): void }[] = [];

  constructor(readonly variables: Readonly<Record<string, string>> = {}) {}

  /** All of standard output so far. */
  get stdout(): string {
    return this.#out;
  }

  /** All of standard error so far. */
  get stderr(): string {
    return this.#err;
  }

  readonly out = (text: string): void => {
    this.#out += text;
    this.#notify();
  };

  readonly err = (text: string): void => {
    this.#err += text;
    this.#notify();
  };

  env(name: string): string | undefined {
    return this.variables[name];
  }

  onStopSignal(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Sends SIGTERM to the command. */
  stop(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Resolves when the command has written `text` to either stream. */
  wrote(text: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ text, resolve });
    this.#notify();
    return promise;
  }

  #notify(): void {
    for (const { text, resolve } of this.#waiting) {
      if (this.#out.includes(text) || this.#err.includes(text)) resolve();
    }
  }
}
