/**
 * One request from sending to the end of its answer, whole or in pieces.
 *
 * @module
 */
import type { Clock } from "../../models/clock.ts";
import { connectionFault } from "../../models/sources/connection_fault.ts";
import { refusalOf } from "../../server/commands/gateway_client.ts";
import { EventStream } from "./event_stream.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import type { Payload, SequenceStep } from "./payload.ts";
import type { Target } from "./target.ts";

/** Text that came in pieces. */
export interface TokenTimes {
  /** When each piece came, on the clock. */
  readonly atMicros: readonly number[];
  /** Tokens that the server counted; else the pieces. */
  readonly count: number;
}

/** How a request ended. */
export interface Answer {
  /** In the words of the report. */
  readonly outcome: Outcome;
  /** What the server, or the connection, said where there is no answer. */
  readonly said?: string;
  /** A refusal that said when to come back. */
  readonly retryAfter?: boolean;
  /** Present where text was generated, to its end. */
  readonly tokens?: TokenTimes;
}

/** Sends the next request of a model and gives what became of it. Never throws. */
export type Exchange = (model: number, stop: AbortSignal, step?: SequenceStep) => Promise<Answer>;

/** What the clients of one model send. */
export interface Requests {
  /** Where they are answered, from the server's root. */
  readonly path: string;
  /** Whether the answer is a stream of events. */
  readonly streamed: boolean;
  /** The n-th from 0, as a step of a sequence where it is one. */
  payload(n: number, step?: SequenceStep): Payload;
}

/** A client that may get compressed answers asks for them unless told otherwise: more work for both. */
const UNCOMPRESSED = { "accept-encoding": "identity" };

/**
 * Sends each model's payloads in turn.
 *
 * @param models For each model of the scenario.
 * @param timeoutMicros When a client gives up.
 */
export function exchangeWith(
  target: Target,
  models: readonly Requests[],
  clock: Clock,
  timeoutMicros: number,
): Exchange {
  const sent = models.map(() => 0);
  return async (model, stop, step) => {
    const { path, streamed, payload } = models[model];
    const leave = new AbortController();
    const cancel = () => leave.abort();
    let late = false;
    const timer = clock.at(clock.nowMicros() + timeoutMicros, () => {
      late = true;
      leave.abort();
    });
    stop.addEventListener("abort", cancel, { once: true });
    try {
      const { headers, body } = payload(sent[model]++, step);
      const response = await target.post(path, {
        headers: { ...UNCOMPRESSED, ...headers },
        body,
      }, leave.signal);
      return await (streamed && response.ok ? readStream(response, clock) : readWhole(response));
    } catch (error) {
      if (stop.aborted) return { outcome: "cancelled" };
      if (late) return { outcome: "timeout" };
      return { outcome: "connection", said: connectionFault(error, target.url) };
    } finally {
      timer.cancel();
      stop.removeEventListener("abort", cancel);
    }
  };
}

async function readWhole(response: Response): Promise<Answer> {
  const { status, headers } = response;
  if (response.ok) {
    await response.bytes();
    return { outcome: "ok" };
  }
  const said = await refusalOf(response);
  return {
    outcome: outcomeOf(status, headers.get("sluice-error-code"), said),
    said,
    retryAfter: headers.has("retry-after"),
  };
}

/** An event of `generate_stream`, as far as it is looked at. */
interface GenerateEvent {
  readonly text_output?: string;
  readonly error?: string;
  readonly code?: string;
  readonly usage?: { readonly completion_tokens?: number };
}

/** Reads to the end; an error ends it too. An event without text is no token that a reader sees. */
async function readStream({ body }: Response, clock: Clock): Promise<Answer> {
  const events = new EventStream();
  const atMicros: number[] = [];
  let some = false, count: number | undefined;
  for await (const chunk of body ?? []) {
    const now = clock.nowMicros();
    for (const data of events.push(chunk)) {
      const event = parseEvent(data);
      if (event.error !== undefined) {
        const { error, code = null } = event;
        return { outcome: outcomeOf(500, code, error), said: error };
      }
      some = true;
      if (event.text_output) atMicros.push(now);
      count = event.usage?.completion_tokens ?? count;
    }
  }
  if (!some) return { outcome: "failed", said: "a stream without an event" };
  return { outcome: "ok", tokens: { atMicros, count: count ?? atMicros.length } };
}

function parseEvent(data: string): GenerateEvent {
  try {
    return Object(JSON.parse(data));
  } catch {
    return { error: `${data} is no JSON` };
  }
}
