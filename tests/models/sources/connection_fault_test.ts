import assert from "node:assert/strict";
import { connectionFault } from "../../../models/sources/connection_fault.ts";

const fault = (message: string, url: string) =>
  connectionFault(new TypeError("fetch failed", { cause: new Error(message) }), url);
const sending = (url: string) => `error sending request for url (${url}): client error (Connect): `;

Deno.test("connectionFault() says what went wrong, without what was being done", () => {
  const url = "https://models.example:8000/x";
  const cases = {
    "tcp connect error: Connection refused (os error 111)": "Connection refused (os error 111)",
    "dns error: failed to lookup address information: Name or service not known":
      "the name models.example is not found (Name or service not known)",
    "invalid peer certificate: UnknownIssuer": "TLS: invalid peer certificate: UnknownIssuer",
  };
  for (const [cause, expected] of Object.entries(cases)) {
    assert.equal(fault(sending(url) + cause, url), expected);
  }
});

Deno.test("connectionFault() takes what is no fault of connecting as it is", () => {
  const url = "https://models.example/";
  const cut = "connection closed before message completed";
  assert.equal(fault(`error sending request: client error (SendRequest): ${cut}`, url), cut);
  assert.equal(connectionFault(new Error("Port 1 is blocked"), url), "Port 1 is blocked");
  assert.equal(connectionFault("odd", url), "odd");
});
