/** Policies in the real engine: what the conformance suite assumes of a scheduler holds there. */
import assert from "node:assert/strict";
import { fair } from "../../policies/fair.ts";
import type { PolicyDefinition } from "../../policies/policy.ts";
import { priority } from "../../policies/priority.ts";
import { openVirtualEngine, testModel, type VirtualEngine } from "../server/engine/fixture.ts";

const UNTIL = 2_000_000;

interface Client {
  readonly model: string;
  readonly priority?: number;
}

const sixteen = (client: Client): Client[] => Array.from({ length: 16 }, () => client);

/** A client that sends its next request when the last is answered. */
function loop(gateway: VirtualEngine, { model, priority }: Client): void {
  const send = () => {
    if (gateway.clock.nowMicros() < UNTIL) gateway.send(model, { priority, onAnswer: send });
  };
  send();
}

async function chargedUnder(
  policy: PolicyDefinition,
  lanes: number,
  clients: readonly Client[],
): Promise<Map<string, number>> {
  const batching = { ...testModel("").batching, maxRows: 1, join: false };
  const models = [
    testModel("short", { batching }),
    testModel("long", { batching, weight: 3 }),
  ];
  const costs = new Map([
    ["short", { byRows: [[1, 100]] as const }],
    ["long", { byRows: [[1, 1_000]] as const }],
  ]);
  await using gateway = await openVirtualEngine(models, { costs }, { policy, lanes });
  for (const client of clients) loop(gateway, client);
  gateway.clock.advanceTo(UNTIL);
  const charged = new Map<string, number>();
  for (const { model, statistics } of gateway.engine.served()) {
    charged.set(model.name, statistics.chargedMicros);
  }
  return charged;
}

for (const lanes of [1, 2]) {
  Deno.test(`fair shares the device by weight in the engine, on ${lanes} lanes`, async () => {
    const clients = [...sixteen({ model: "short" }), ...sixteen({ model: "long" })];
    const charged = await chargedUnder(fair, lanes, clients);
    const [short, long] = [charged.get("short")!, charged.get("long")!];
    const share = long / (short + long);
    assert.ok(Math.abs(share - 0.75) <= 0.05 * 0.75, `the model of weight 3 got ${share}`);
    assert.ok(short + long > 0.95 * UNTIL, "the device was busy");
  });
}

Deno.test("priority gives the usual one iteration a second in the engine, when urgent", async () => {
  const clients = [
    ...sixteen({ model: "short", priority: 1 }),
    ...sixteen({ model: "long" }),
  ];
  const charged = await chargedUnder(priority, 1, clients);
  const iterations = charged.get("long")! / 1_000;
  assert.ok(iterations >= 1 && iterations <= 1 + UNTIL / 1_000_000, `${iterations} iterations`);
});
