/**
 * The HTTP listener: a port that is taken before there is anything to answer with, and that can be
 * closed in order.
 *
 * @module
 */
import { setTimeout } from "node:timers/promises";
import { messageOf, SluiceError } from "../models/errors.ts";
import { within } from "./within.ts";

/** Answers a request, as `Deno.serve` calls it. */
export type Answer = Deno.ServeHandler<Deno.NetAddr>;

/** A listening port. */
export interface Listener {
  /** Where it can be reached, e.g. `http://127.0.0.1:8000`. */
  readonly url: string;
  /** The port it really has. */
  readonly port: number;
  /** Answers by `answer` from now on; requests that an earlier one has begun stay with that one. */
  answerWith(answer: Answer): void;
  /**
   * From now on every answer says `Connection: close`, so that clients connect anew, elsewhere.
   * Those that go on here all the same are answered: nothing is cut.
   */
  sendClientsAway(): void;
  /**
   * Accepts no connection and closes the idle ones. Resolves to true when all answers have been
   * sent; to false when after `timeoutMillis` there are bodies half sent, or answers half read.
   */
  close(timeoutMillis: number): Promise<boolean>;
}

/** Before listening anew: by then clients may have left, and a flood makes few lines in the log. */
const REOPEN_MILLIS = 1000;

/**
 * Listens at once, so that a port in use is known before any model is loaded.
 *
 * Where the system refuses a connection, for want of file descriptors mostly, `Deno.serve` ends: it
 * finishes what it has begun and accepts no more. Then the port is listened on anew.
 *
 * @param port 0 picks a free one.
 * @param report Told when the system refuses connections.
 * @throws {SluiceError} `conflict` when the port is in use, `invalid_argument` when it or the host
 * cannot be listened on.
 */
export function listen(
  host: string,
  port: number,
  answer: Answer,
  report: (message: string) => void = () => {},
): Listener {
  let current = answer;
  let closing = false;
  const answerByCurrent: Answer = (request, info) => current(request, info);
  let server = serve(host, port, answerByCurrent);
  const address = server.addr;
  const reopen = async (fault: unknown) => {
    report(
      `Connections are refused for a moment: ${messageOf(fault)}`,
    );
    while (!closing) {
      await setTimeout(REOPEN_MILLIS);
      try {
        if (!closing) server = serve(host, address.port, answerByCurrent);
        return watch();
      } catch (error) {
        report(`Still refused: ${messageOf(error)}`);
      }
    }
  };
  const watch = () => void server.finished.catch(reopen);
  watch();
  return {
    url: `http://${
      address.hostname.includes(":") ? `[${address.hostname}]` : address.hostname
    }:${address.port}`,
    port: address.port,
    answerWith(answer) {
      current = answer;
    },
    sendClientsAway() {
      const inner = current;
      current = async (request, info) => {
        const response = await inner(request, info);
        response.headers.set("connection", "close");
        return response;
      };
    },
    close(timeoutMillis) {
      closing = true;
      return within(timeoutMillis, server.shutdown());
    },
  };
}

function serve(hostname: string, port: number, answer: Answer) {
  try {
    return Deno.serve({ hostname, port, onListen() {} }, answer);
  } catch (cause) {
    if (cause instanceof Deno.errors.AddrInUse) {
      throw new SluiceError(
        "conflict",
        `Port ${port} of ${hostname} is in use by another process; give another one with --port`,
        { cause },
      );
    }
    const reason = messageOf(cause);
    throw new SluiceError(
      "invalid_argument",
      `Cannot listen on ${hostname}, port ${port}: ${reason}`,
      { cause },
    );
  }
}
