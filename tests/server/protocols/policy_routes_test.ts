import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { fifo } from "../../../policies/fifo.ts";
import type { PolicyDefinition } from "../../../policies/policy.ts";
import { openVirtualEngine, testModel } from "../engine/fixture.ts";
import { ask, testApp } from "./exchange.ts";

const throwing: PolicyDefinition = {
  name: "throwing",
  promises: { noStarvation: true, workConserving: true },
  create: () => ({
    next() {
      throw new Error("out of ideas");
    },
  }),
};

Deno.test("GET /v2/policy shows fifo in force, and why, when the chosen policy has failed", async () => {
  const available = ["fifo", "throwing"];
  await using sluice = await openVirtualEngine([testModel("m")], {}, {
    policy: throwing,
    policies: new Map([fifo, throwing].map((policy) => [policy.name, policy])),
  });
  const app = testApp({ engine: sluice.engine });
  const shown = async () => JSON.parse((await ask(app, "GET", "/v2/policy")).text);
  assert.deepEqual(await shown(), { name: "throwing", available });

  const inputs = [{ name: "x", datatype: "FP32", shape: [1, 4], data: [1, 2, 3, 4] }];
  let answered = false;
  const answer = ask(app, "POST", "/v2/models/m/infer", { inputs }).finally(() => answered = true);
  while (!answered) {
    await setImmediate();
    sluice.clock.advanceTo(sluice.clock.nowMicros() + 1000);
  }
  assert.equal((await answer).status, 200);
  assert.deepEqual(await shown(), {
    name: "fifo",
    available,
    failed: "throwing",
    fault: "next() threw Error: out of ideas",
  });

  const { text } = await ask(app, "PUT", "/v2/policy", { name: "throwing" });
  assert.deepEqual(JSON.parse(text), { name: "throwing", available }, "chosen anew");
});

Deno.test("PUT /v2/policy leaves the policy in force where create() makes none", async () => {
  const none: PolicyDefinition = { ...throwing, name: "none", create: () => undefined! };
  await using sluice = await openVirtualEngine([], {}, {
    policies: new Map([fifo, none].map((policy) => [policy.name, policy])),
  });
  const app = testApp({ engine: sluice.engine });
  const { status, text } = await ask(app, "PUT", "/v2/policy", { name: "none" });
  assert.equal(status, 400, text);
  assert.match(text, /policy 'none' could not be made/);
  assert.equal(sluice.engine.policy().name, "fair");
});
