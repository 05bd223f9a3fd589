/**
 * The HTTP listener: takes its handler when there is one, and can be closed in order.
 *
 * @module
 */
import { SluiceError } from "../models/errors.ts";
import { within } from "./within.ts";

/** What `Deno.serve` calls. */
export type HttpHandler = (
  request: Request,
  info: Deno.ServeHandlerInfo<Deno.NetAddr>,
) => Response | Promise<Response>;

/** A listening port. */
export interface Listener {
  /** Where it can be reached, e.g. `http://127.0.0.1:8000`. */
  readonly url: string;
  /** The port it really has. */
  readonly port: number;
  /** Replaces the handler; requests that an earlier one has begun stay with that one. */
  handle(handler: HttpHandler): void;
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

/**
 * Listens at once, so that a port in use is known before any model is loaded.
 *
 * @param port 0 picks a free one.
 * @throws {SluiceError} `conflict` when the port is in use, `invalid_argument` when it or the host
 * cannot be listened on.
 */
export function listen(host: string, port: number, handler: HttpHandler): Listener {
  let current = handler;
  const server = serve(host, port, (request, info) => current(request, info));
  const address = server.addr;
  return {
    url: `http://${
      address.hostname.includes(":") ? `[${address.hostname}]` : address.hostname
    }:${address.port}`,
    port: address.port,
    handle(handler) {
      current = handler;
    },
    sendClientsAway() {
      const inner = current;
      current = async (request, info) => {
        const response = await inner(request, info);
        response.headers.set("connection", "close");
        return response;
      };
    },
    close: (timeoutMillis) => within(timeoutMillis, server.shutdown()),
  };
}

function serve(hostname: string, port: number, handler: HttpHandler) {
  try {
    return Deno.serve({ hostname, port, onListen() {} }, handler);
  } catch (cause) {
    if (cause instanceof Deno.errors.AddrInUse) {
      throw new SluiceError(
        "conflict",
        `Port ${port} of ${hostname} is in use by another process; give another one with --port`,
        { cause },
      );
    }
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SluiceError(
      "invalid_argument",
      `Cannot listen on ${hostname}, port ${port}: ${reason}`,
      { cause },
    );
  }
}
