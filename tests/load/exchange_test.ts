import assert from "node:assert/strict";
import { VirtualClock } from "../../models/clock.ts";
import { type Answer, exchangeWith, type Requests } from "./exchange.ts";
import { inVirtualTime, type TimedEvent, virtualStream } from "./fake_server.ts";
import { type Fetch, Target } from "./target.ts";

const PAYLOAD = { headers: {}, body: new Uint8Array() };
const requests = (streamed: boolean): Requests => ({
  path: `/v2/models/toy/${streamed ? "generate_stream" : "infer"}`,
  streamed,
  payload: () => PAYLOAD,
});

function exchange(fetch: Fetch, streamed: boolean, virtual = new VirtualClock()): Promise<Answer> {
  const target = new Target("http://server", fetch);
  const send = exchangeWith(target, [requests(streamed)], virtual, 1e6);
  return inVirtualTime(virtual, send(0, new AbortController().signal));
}

const stream = (...events: readonly TimedEvent[]) => {
  const virtual = new VirtualClock();
  return exchange(virtualStream(virtual, () => Promise.resolve(events)), true, virtual);
};

Deno.test("exchangeWith() notes when each token came, and counts as the server does", async () => {
  const { outcome, tokens } = await stream(
    [20_000, '{"text_output":"a"}'],
    [30_000, '{"text_output":""}'],
    [45_000, '{"text_output":"bc"}'],
    [50_000, '{"text_output":"","finish_reason":"length","usage":{"completion_tokens":4}}'],
  );
  assert.equal(outcome, "ok");
  assert.deepEqual(tokens, { atMicros: [20_000, 45_000], count: 4 });
});

Deno.test("exchangeWith() counts tokens itself where the server does not", async () => {
  const { tokens } = await stream([1000, '{"text_output":"a"}'], [2000, '{"text_output":"b"}']);
  assert.equal(tokens?.count, 2);
});

for (
  const [event, outcome, said] of [
    ['{"error":"the model failed"}', "failed", "the model failed"],
    ['{"error":"too late","code":"deadline_exceeded"}', "deadline", "too late"],
    ["[DONE", "failed", "[DONE is no JSON"],
  ] as const
) {
  Deno.test(`exchangeWith() is ${outcome} when a stream says ${event}`, async () => {
    const answer = await stream([1000, '{"text_output":"a"}'], [2000, event]);
    assert.deepEqual(answer, { outcome, said });
  });
}

Deno.test("exchangeWith() is failed when a stream says nothing", async () => {
  assert.deepEqual(await stream(), { outcome: "failed", said: "a stream without an event" });
});

Deno.test("exchangeWith() gives up a stream that does not end in time", async () => {
  const late: TimedEvent = [2e6, '{"text_output":"b"}'];
  assert.deepEqual(await stream([1000, '{"text_output":"a"}'], late), { outcome: "timeout" });
});

Deno.test("exchangeWith() gives what the connection says", async () => {
  const refused = () => Promise.reject(new TypeError("Connection refused"));
  const answer = await exchange(refused, false);
  assert.deepEqual(answer, { outcome: "connection", said: "Connection refused" });
});

Deno.test("exchangeWith() asks for answers that are not compressed", async () => {
  let asked: string | null = null;
  await exchange((url, init) => {
    asked = new Request(url, init).headers.get("accept-encoding");
    return Promise.resolve(new Response());
  }, false);
  assert.equal(asked, "identity");
});

Deno.test("exchangeWith() notes a refusal of a stream, and when to come back", async () => {
  const headers = { "retry-after": "1" };
  const full = () => Promise.resolve(Response.json({ error: "full" }, { status: 429, headers }));
  const answer = await exchange(full, true);
  assert.deepEqual(answer, { outcome: "queue_full", said: "full", retryAfter: true });
});
