/**
 * Decision logs as a gateway writes them.
 *
 * @module
 */
import type { LogEntry } from "../../server/engine/decision_log.ts";

/** Reads a whole log. */
export async function readDecisionLog(path: string): Promise<LogEntry[]> {
  const lines = (await Deno.readTextFile(path)).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line));
}

/** Entries of one event. */
export function entriesOf<Event extends LogEntry["event"]>(
  log: readonly LogEntry[],
  event: Event,
): Extract<LogEntry, { event: Event }>[] {
  const isOf = (entry: LogEntry): entry is Extract<LogEntry, { event: Event }> =>
    entry.event === event;
  return log.filter(isOf);
}
