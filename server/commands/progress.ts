/**
 * Shows that something is still going on.
 *
 * @module
 */
import yoctoSpinner from "yocto-spinner";
import type { Io } from "./io.ts";

/** What takes less is not worth a word. */
const QUIET_MILLIS = 1000;

/** How to show it. */
export interface ProgressOptions {
  /** Says nothing of what takes less than this. */
  readonly quietMillis?: number;
  /** The command listens for signals, so that the spinner must not end the process at one. */
  readonly listensForSignals?: boolean;
}

/**
 * Waits for `work`, saying what goes on when it takes longer: a spinner on a terminal, a line
 * elsewhere.
 *
 * @param text What goes on, e.g. `Fetching npm:package@1.0.0/model.onnx`.
 */
export async function withProgress<T>(
  io: Io,
  text: string,
  work: Promise<T>,
  { quietMillis = QUIET_MILLIS, listensForSignals = false }: ProgressOptions = {},
): Promise<T> {
  let spinner: ReturnType<typeof yoctoSpinner> | undefined;
  const timer = setTimeout(() => {
    if (io.interactive) {
      spinner = yoctoSpinner({ text, handleSignals: !listensForSignals }).start();
    } else {
      io.err(`${text} ...\n`);
    }
  }, quietMillis);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    spinner?.stop();
  }
}
