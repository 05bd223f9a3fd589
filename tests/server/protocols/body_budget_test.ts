import assert from "node:assert/strict";
import fc from "fast-check";
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
