/**
 * The header `Server-Timing`: durations in milliseconds. Short, as Deno checks every character.
 *
 * @module
 */
import type { Timing } from "../engine/api.ts";
import type { TextTiming } from "../generation/generation.ts";

/** Of an inference. */
export function formatTiming(timing: Timing): string {
  return "queue;dur=" + millis(timing.queueMicros) +
    ",compute;dur=" + millis(timing.computeMicros) +
    ",batch;desc=" + timing.batchRows +
    ",lane;desc=" + timing.lane +
    "," + policy(timing.because);
}

/** Of a text, as far as it has come: a stream's headers go out with its first token. */
export function formatTextTiming(timing: TextTiming): string {
  return "queue;dur=" + millis(timing.queueMicros) +
    ",first_token;dur=" + millis(timing.firstTokenMicros) +
    ",compute;dur=" + millis(timing.computeMicros) +
    ",iterations;desc=" + timing.iterations +
    "," + policy(timing.because);
}

function millis(micros: number): number {
  return Math.round(micros) / 1000;
}

/** The reason as it can stand in a quoted string of a header: printable ASCII without `"` and `\`. */
function policy(because: string): string {
  const quotable = QUOTABLE.test(because) ? because : because.replace(/[^ !#-[\]-~]/g, "?");
  return 'policy;desc="' + quotable + '"';
}

const QUOTABLE = /^[ !#-[\]-~]*$/;
