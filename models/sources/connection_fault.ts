/**
 * Why a server could not be reached, out of what `fetch` throws.
 *
 * @module
 */
import { messageOf } from "../errors.ts";

const CLIENT = /client error \((\w+)\): (.*)$/;
const TCP = /^tcp connect error: /;
const NAME = /^dns error: (?:failed to lookup address information: )?/;

/** The first cause in plain words: "Connection refused (os error 111)", "TLS: ...". */
export function connectionFault(thrown: unknown, url: string): string {
  const text = messageOf(firstCause(thrown));
  const [, step, fault = text] = CLIENT.exec(text) ?? [];
  if (TCP.test(fault)) return fault.replace(TCP, "");
  if (NAME.test(fault)) {
    return `the name ${URL.parse(url)?.hostname} is not found (${fault.replace(NAME, "")})`;
  }
  // What is left of connecting, once there is an address and a connection to it.
  return step === "Connect" && url.startsWith("https:") ? `TLS: ${fault}` : fault;
}

/** `fetch` itself says no more than that it failed. */
function firstCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? firstCause(error.cause) : error;
}
