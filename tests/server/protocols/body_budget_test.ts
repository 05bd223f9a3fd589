import assert from "node:assert/strict";
import fc from "fast-check";
import { VirtualClock } from "../../../models/clock.ts";
import { BodyBudget, UNCOUNTED_BYTES } from "../../../server/protocols/body_budget.ts";
import { hasCode } from "../../conformance/device.ts";
import { ask, binaryBody, errorOf, testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

Deno.test("take() never lets bodies beyond the limit in, but one alone, and all is given back", () => {
  const limit = 4 * UNCOUNTED_BYTES;
  const length = fc.nat(6 * UNCOUNTED_BYTES);
  fc.assert(fc.property(fc.array(fc.record({ length, leaves: fc.boolean() })), (bodies) => {
    const budget = new BodyBudget(limit);
    const held: number[] = [];
    for (const { length, leaves } of bodies) {
      if (leaves) budget.giveBack(held.shift() ?? 0);
      try {
        budget.take(length);
        held.push(length);
      } catch (fault) {
        assert.ok(hasCode("queue_full")(fault));
        assert.ok(budget.held + length > limit);
      }
      const large = held.filter((length) => length > UNCOUNTED_BYTES);
      assert.equal(budget.held, large.reduce((sum, length) => sum + length, 0));
      assert.ok(budget.held <= limit || large.length === 1);
    }
    for (const length of held) budget.giveBack(length);
    assert.equal(budget.held, 0);
  }));
});

Deno.test("take() counts a body that grows once", () => {
  const budget = new BodyBudget(300_000);
  budget.take(60_000);
  assert.equal(budget.held, 0);
  budget.take(120_000, 60_000);
  budget.take(200_000, 120_000);
  assert.equal(budget.held, 200_000);
  budget.take(100_000);
  assert.throws(() => budget.take(200_001, 200_000), hasCode("queue_full"));
  budget.giveBack(200_000);
  budget.giveBack(100_000);
  assert.equal(budget.held, 0);
});

const model = fakeModel(
  "m",
  [{ name: "x", datatype: "UINT8", shape: [-1] }],
  [{ name: "y", datatype: "UINT8", shape: [-1] }],
);
const PATH = "/v2/models/m/infer";

const requestOf = (count: number) =>
  binaryBody({
    inputs: [{
      name: "x",
      shape: [count],
      datatype: "UINT8",
      parameters: { binary_data_size: count },
    }],
  }, new Uint8Array(count));

/** A body of which a part comes, and no more until it fails. */
function stalled() {
  const { promise: received, resolve } = Promise.withResolvers<void>();
  const { promise: rest, reject: fail } = Promise.withResolvers<void>();
  let part: Uint8Array<ArrayBuffer> | undefined = new Uint8Array(100_000);
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (part === undefined) {
        resolve();
        return rest;
      }
      controller.enqueue(part);
      part = undefined;
    },
  }, { highWaterMark: 0 });
  return { stream, received, fail };
}

for (const declared of [true, false]) {
  Deno.test(`infer refuses a large body while others take the room, ${declared ? "" : "not "}declared`, async () => {
    await using app = testApp({ engine: fakeEngine([model]), maxBodiesBytes: 300_000 });
    const lengths: Record<string, string> = declared ? { "content-length": "150000" } : {};
    const bodies = [stalled(), stalled()];
    const slow = bodies.map(({ stream }) => ask(app, "POST", PATH, stream, lengths));
    const send = async (count: number) => {
      const { body, headers } = requestOf(count);
      const size: Record<string, string> = declared ? { "content-length": String(body.size) } : {};
      return await ask(app, "POST", PATH, body, { ...headers, ...size });
    };
    await Promise.all(bodies.map(({ received }) => received));
    const refused = await send(150_000);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get("sluice-error-code"), "queue_full");
    assert.equal(refused.headers.get("retry-after"), "1");
    assert.match(errorOf(refused), /of 300000 bytes, try again later/);
    assert.equal((await send(1000)).status, 200);

    bodies[0].fail(new TypeError("gone"));
    assert.equal((await slow[0]).status, 400);
    // Each gives back what it took, or the later ones would be refused.
    for (let i = 0; i < 5; i++) assert.equal((await send(140_000)).status, 200);
    bodies[1].fail(new TypeError("gone"));
    await slow[1];
  });
}

/** What 30 seconds without 1 MiB end. */
const PERIOD_MICROS = 30_000_000;

for (
  const [how, declared] of [["at once", 900_000], ["in pieces", 3_000_000], [
    "undeclared",
    0,
  ]] as const
) {
  Deno.test(`infer answers 408 for a body read ${how} that stops coming, and gives its room back`, async () => {
    const clock = new VirtualClock();
    await using app = testApp({
      engine: fakeEngine([model]),
      maxBodyBytes: 10_000_000,
      maxBodiesBytes: 3_000_000,
      clock,
    });
    const body = stalled();
    const answer = ask(
      app,
      "POST",
      PATH,
      body.stream,
      declared === 0 ? {} : { "content-length": String(declared) },
    );
    await body.received;
    clock.advanceTo(PERIOD_MICROS);
    const refused = await answer;
    assert.equal(refused.status, 408);
    assert.equal(refused.headers.get("sluice-error-code"), "request_timeout");
    assert.equal(refused.headers.get("connection"), "close");
    assert.match(errorOf(refused), /1048576 bytes or its end within 30 seconds/);
    body.fail(new TypeError("gone")); // the client leaves
    await new Promise((resolve) => setTimeout(resolve));
    const { body: whole, headers } = requestOf(2_900_000);
    const size = { "content-length": String(whole.size) };
    assert.equal((await ask(app, "POST", PATH, whole, { ...headers, ...size })).status, 200);
  });
}

Deno.test("infer waits for a large body as long as it brings 1 MiB in every period", async () => {
  const clock = new VirtualClock();
  await using app = testApp({ engine: fakeEngine([model]), maxBodyBytes: 10_000_000, clock });
  const { body, headers } = requestOf(4 * 1024 * 1024);
  const bytes = await body.bytes();
  let sent = 0;
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      clock.advanceTo(clock.nowMicros() + PERIOD_MICROS / 4);
      const end = Math.min(bytes.length, sent + 400_000);
      if (end > sent) controller.enqueue(bytes.slice(sent, end));
      else controller.close();
      sent = end;
    },
  }, { highWaterMark: 0 });
  const size = { "content-length": String(bytes.length) };
  assert.equal((await ask(app, "POST", PATH, stream, { ...headers, ...size })).status, 200);
  assert.ok(clock.nowMicros() > 2 * PERIOD_MICROS);
});

Deno.test("infer reads bodies so that they can be stopped once half of the room is taken", async () => {
  const clock = new VirtualClock();
  await using app = testApp({ engine: fakeEngine([model]), maxBodiesBytes: 1_000_000, clock });
  const send = (body: ReadableStream, length: number) =>
    ask(app, "POST", PATH, body, { "content-length": String(length) });
  const bodies = [stalled(), stalled(), stalled()];
  const slow = [];
  for (const { stream, received } of bodies) {
    slow.push(send(stream, 300_000));
    await received;
  }
  clock.advanceTo(PERIOD_MICROS);
  for (const answer of slow) assert.equal((await answer).status, 408);
  // The first two are still held, for their clients have not left; the third is not.
  const { body, headers } = requestOf(390_000);
  const size = { "content-length": String(body.size) };
  assert.equal((await ask(app, "POST", PATH, body, { ...headers, ...size })).status, 200);
  for (const { fail } of bodies) fail(new TypeError("gone"));
});
