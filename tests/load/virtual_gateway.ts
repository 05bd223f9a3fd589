/**
 * A whole gateway in virtual time, as a `fetch`: protocol, engine, policy, and a simulated device
 * whose iterations take what they are told to.
 *
 * @module
 */
import type { VirtualClock } from "../../models/clock.ts";
import type { Model } from "../../models/model.ts";
import { openSimulatedDevice } from "../../models/simulated/device.ts";
import type { Datatype } from "../../models/tensor.ts";
import { POLICIES } from "../../policies/mod.ts";
import { openEngine } from "../../server/engine/engine.ts";
import { modelWith } from "../fixtures/model.ts";
import { MemoryRepository, testModel } from "../server/engine/fixture.ts";
import { LOCAL, testApp } from "../server/protocols/exchange.ts";
import type { Fetch } from "./target.ts";

/** A model of one FP32 input `[-1, 4]`, or one that writes ASCII; nothing of it is joined. */
export interface SimulatedModel {
  /** What an iteration takes. */
  readonly millis: number;
  /** It writes text, a token an iteration, for as long as it is asked to. */
  readonly writes?: true;
  /** Its share under fair policies; 1 when absent. */
  readonly weight?: number;
}

/** A gateway on one lane. */
export interface VirtualGateway extends AsyncDisposable {
  /** Reaches it, whatever the host. */
  readonly fetch: Fetch;
}

const UNJOINED = { join: false, maxRows: 1 };
const ASCII = 128;

/** A decoder whose every token is a character, and none of them the end. */
function textModel(name: string): Model {
  const tensor = (name: string, datatype: Datatype, shape: number[]) => ({ name, datatype, shape });
  const model = modelWith(name, {
    inputs: [
      tensor("tokens", "INT64", [-1, -1]),
      tensor("position", "INT64", [-1]),
      tensor("past", "FP32", [-1, 1]),
    ],
    outputs: [tensor("logits", "FP32", [-1, ASCII]), tensor("present", "FP32", [-1, 1])],
  });
  const carried = { input: "past", output: "present", datatype: "FP32", batchAxis: 0 } as const;
  return {
    ...model,
    sequence: {
      carry: [{ ...carried, shape: [1, 1] }],
      batching: { ...model.batching, ...UNJOINED },
      generation: {
        tokens: "tokens",
        position: "position",
        logits: "logits",
        maxTokens: 1000,
        endToken: ASCII,
      },
      maxIdleMicros: 60e6,
      required: true,
      checkpoint: name,
    },
  };
}

/** Opens a gateway with these models, by name, under a policy. */
export async function openVirtualGateway(
  clock: VirtualClock,
  policy: string,
  models: Readonly<Record<string, SimulatedModel>>,
): Promise<VirtualGateway> {
  await using parts = new AsyncDisposableStack();
  const costs = new Map<string, { byRows: [number, number][] }>();
  const made = Object.entries(models).map(([name, { millis, writes, weight = 1 }]) => {
    costs.set(name, { byRows: [[1, millis * 1000]] });
    const { batching, ...model } = writes ? textModel(name) : testModel(name);
    return { ...model, weight, batching: { ...batching, ...UNJOINED } };
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
