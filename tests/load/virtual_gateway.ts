/**
 * A whole gateway in virtual time, as a `fetch`: protocol, engine, policy, and a simulated device
 * whose iterations take what they are told to.
 *
 * @module
 */
import type { VirtualClock } from "../../models/clock.ts";
import { openSimulatedDevice } from "../../models/simulated/device.ts";
import { POLICIES } from "../../policies/mod.ts";
import { openEngine } from "../../server/engine/engine.ts";
import { MemoryRepository, testModel } from "../server/engine/fixture.ts";
import { LOCAL, testApp } from "../server/protocols/exchange.ts";
import type { Fetch } from "./target.ts";

/** A model of one FP32 input `[-1, 4]`, whose requests are not joined. */
export interface SimulatedModel {
  /** What an iteration takes. */
  readonly millis: number;
  /** Its share under fair policies; 1 when absent. */
  readonly weight?: number;
}

/** A gateway on one lane. */
export interface VirtualGateway extends AsyncDisposable {
  /** Reaches it, whatever the host. */
  readonly fetch: Fetch;
}

/** Opens a gateway with these models, by name, under a policy. */
export async function openVirtualGateway(
  clock: VirtualClock,
  policy: string,
  models: Readonly<Record<string, SimulatedModel>>,
): Promise<VirtualGateway> {
  await using parts = new AsyncDisposableStack();
  const costs = new Map<string, { byRows: [number, number][] }>();
  const made = Object.entries(models).map(([name, { millis, weight = 1 }]) => {
    costs.set(name, { byRows: [[1, millis * 1000]] });
    const { batching } = testModel(name);
    return testModel(name, { weight, batching: { ...batching, join: false, maxRows: 1 } });
  });
  // One iteration in flight at a time: what is decided is what runs next.
  const device = parts.use(openSimulatedDevice({ clock, costs, depth: 1 }));
  const engine = parts.use(
    await openEngine({
      device,
      clock,
      lanes: 1,
      policy: POLICIES.get(policy),
      repository: new MemoryRepository(new Map(made.map((model) => [model.name, [model]]))),
    }),
  );
  const app = parts.use(testApp({ engine, clock }));
  const open = parts.move();
  return {
    fetch: async (url, init) => await app(new Request(url, init), LOCAL),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
