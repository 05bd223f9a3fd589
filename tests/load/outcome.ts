/**
 * How a request ended, in the words of the report.
 *
 * @module
 */

/** All ways in which a request ends, in the report's order. */
export const OUTCOMES = [
  "ok",
  "queue_full", // refused: 429, or Triton's 503 for a full queue
  "deadline", // the server gave up: 504, or Triton's 503 for a passed timeout
  "unavailable", // any other 503
  "refused", // any other 4xx
  "failed", // any other 5xx, or a status that is no answer
  "timeout", // the client gave up
  "cancelled", // the run was interrupted, or the server says that we left
  "connection", // refused, reset, broken off
] as const;

/** How a request ended. */
export type Outcome = typeof OUTCOMES[number];

/** What Triton says with its 503, which it gives for both. */
const TRITON_503: readonly (readonly [RegExp, Outcome])[] = [
  [/exceeds maximum queue size/i, "queue_full"],
  [/timeout expired/i, "deadline"],
];

/** This project's codes, which say the same whatever the status. */
const CODES: Readonly<Record<string, Outcome>> = {
  queue_full: "queue_full",
  deadline_exceeded: "deadline",
};

/** What an answer means; `said` is read only where the status does not tell. */
export function outcomeOf(status: number, code: string | null, said: string): Outcome {
  if (code !== null && code in CODES) return CODES[code];
  if (status >= 200 && status < 300) return "ok";
  if (status === 429) return "queue_full";
  if (status === 504) return "deadline";
  if (status === 499) return "cancelled";
  if (status === 503) {
    return TRITON_503.find(([pattern]) => pattern.test(said))?.[1] ?? "unavailable";
  }
  return status >= 400 && status < 500 ? "refused" : "failed";
}
