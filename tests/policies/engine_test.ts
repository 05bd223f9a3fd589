/** Policies in the real engine: what the conformance suite assumes of a scheduler holds there. */
import assert from "node:assert/strict";
import { edf } from "../../policies/edf.ts";
import { fair } from "../../policies/fair.ts";
import type { PolicyDefinition } from "../../policies/policy.ts";
import { priority } from "../../policies/priority.ts";
import { srtf } from "../../policies/srtf.ts";
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

/** An engine whose `short` takes 100 us and `long` 1000 us, and which has learned that. */
async function openLearned(policy: PolicyDefinition): Promise<VirtualEngine> {
  const gateway = await openVirtualEngine(
    [testModel("short"), testModel("long")],
    {
      costs: new Map([
        ["short", { byRows: [[1, 100]] }],
        ["long", { byRows: [[1, 1_000]] }],
      ]),
    },
    { policy },
  );
  for (const model of ["short", "long"]) {
    for (let iteration = 0; iteration < 5; iteration++) {
      gateway.send(model);
      gateway.clock.advanceTo(gateway.clock.nowMicros() + 2_000);
    }
  }
  return gateway;
}

Deno.test("srtf goes by the costs that the engine has learned", async () => {
  await using gateway = await openLearned(srtf);
  const sentMicros = gateway.clock.nowMicros();
  gateway.send("long");
  gateway.clock.advanceTo(sentMicros + 1);
  const long = gateway.send("long");
  const short = gateway.send("short");
  gateway.clock.advanceTo(sentMicros + 10_000);
  assert.equal(short[0].atMicros - sentMicros, 1_100);
  assert.equal(long[0].atMicros - sentMicros, 2_100);
});

Deno.test("edf chooses what the engine then drops, so that nothing late makes another late", async () => {
  await using gateway = await openLearned(edf);
  const { clock } = gateway;
  const sentMicros = clock.nowMicros();
  gateway.send("long");
  clock.advanceTo(sentMicros + 1);
  // Both could end in time if they ran now; after the iteration that runs only one can.
  const hopeless = gateway.send("long", { timeoutMicros: 1_100 });
  const feasible = gateway.send("short", { timeoutMicros: 1_150 });
  clock.advanceTo(sentMicros + 1_000);
  assert.equal(hopeless[0].error?.code, "deadline_exceeded");
  assert.equal(hopeless[0].atMicros, sentMicros + 1_000);
  clock.advanceTo(sentMicros + 10_000);
  assert.ok(feasible[0].outputs);
  assert.equal(feasible[0].atMicros, sentMicros + 1_100);
  const [{ statistics }] = gateway.engine.served().filter(({ model }) => model.name === "long");
  assert.equal(statistics.executionCount, 6);
});
