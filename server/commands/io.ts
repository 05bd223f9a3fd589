/**
 * What a command may touch of its process. Tests pass their own, so every command runs in process.
 *
 * @module
 */

/** A command's surroundings. */
export interface Io {
  /** Writes results to standard output, as given. */
  out(text: string): void;
  /** Writes progress and errors to standard error, as given. */
  err(text: string): void;
  /** Whether someone watches standard error: progress may animate. */
  readonly interactive: boolean;
  /** Width to wrap at. */
  readonly columns: number;
  /** An environment variable. */
  env(name: string): string | undefined;
  /** Calls `listener` at every SIGINT and SIGTERM, instead of the process's end, until disposed. */
  onStopSignal(listener: () => void): Disposable;
}

/** The process this runs in. */
export function processIo(): Io {
  return {
    out: (text) => write(Deno.stdout, text),
    err(text) {
      try {
        write(Deno.stderr, text);
      } catch {
        // A log's full disk is no reason to stop, and there is nowhere else to say so.
      }
    },
    interactive: Deno.stderr.isTerminal(),
    columns: Deno.stdout.isTerminal() ? Deno.consoleSize().columns : 100,
    env: (name) => Deno.env.get(name),
    onStopSignal(listener) {
      const signals: Deno.Signal[] = Deno.build.os === "windows"
        ? ["SIGINT", "SIGBREAK"]
        : ["SIGINT", "SIGTERM"];
      for (const signal of signals) Deno.addSignalListener(signal, listener);
      return {
        [Symbol.dispose]() {
          for (const signal of signals) Deno.removeSignalListener(signal, listener);
        },
      };
    },
  };
}

function write(stream: { writeSync(bytes: Uint8Array): number }, text: string): void {
  let rest = new TextEncoder().encode(text);
  try {
    while (rest.length > 0) rest = rest.subarray(stream.writeSync(rest));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error; // `| head` has read enough
  }
}
