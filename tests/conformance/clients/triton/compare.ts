/**
 * The gateway against a real Triton, request by request.
 *
 * @module
 */
import assert from "node:assert/strict";
import { check, type CheckResult, type ClientSetting } from "../client.ts";
import { DIFFERENCES } from "./differences.ts";
import { exchange, type PlainAnswer } from "./http.ts";
import { REQUESTS } from "./requests.ts";
import { startTriton } from "./server.ts";

/** Headers that clients read. The others are ours alone, or the connection's. */
const HEADERS = [
  "content-type",
  "content-encoding",
  "accept-encoding",
  "inference-header-content-length",
];

/** Sends every request to both; equal answers pass, and those whose difference is intended. */
export async function* tritonChecks(setting: ClientSetting): AsyncGenerator<CheckResult> {
  await using triton = await startTriton(setting);
  setting.progress("Comparing with Triton");
  for (const request of REQUESTS) {
    yield await check(request.name, async () => {
      const [ours, theirs] = await Promise.all([
        exchange(setting.address, request),
        exchange(triton.address, request),
      ]);
      if (DIFFERENCES.some((difference) => difference.explains(request, ours, theirs))) return;
      assert.deepEqual(comparable(ours), comparable(theirs));
    });
  }
}

/** What has to be equal: of errors the status, and that there is a text; of answers all. */
function comparable({ status, headers, body }: PlainAnswer) {
  const text = new TextDecoder("latin1").decode(body);
  if (status >= 400) {
    const { "accept-encoding": codings } = Object.fromEntries(headers);
    return { status, codings, error: text === "" || /^\{"error":".+"\}$/s.test(text) };
  }
  return {
    status,
    headers: HEADERS.map((name) => `${name}: ${headers.get(name)}`),
    body: headers.has("inference-header-content-length") ? text : withOneSpelling(text),
  };
}

/**
 * JSON with numbers and escapes spelled one way: Triton's writer gives the fewest digits, but not
 * always those nearest to the number, and hexadecimal digits in upper case.
 */
function withOneSpelling(json: string): string {
  return json
    .replaceAll(/\\u[0-9A-F]{4}/g, (escape) => escape.toLowerCase())
    .replaceAll(/-?\d+\.\d+(?:e[-+]?\d+)?/g, (number) => `${Number(number)}`);
}
