/**
 * What one decision costs, among 100 ready queues with 10,000 waiting requests in the real engine:
 * `deno run -A tests/policies/decision_cost.ts` prints a row per policy.
 */
import { contain } from "../../policies/contained.ts";
import { POLICIES } from "../../policies/mod.ts";
import type { PolicyDefinition } from "../../policies/policy.ts";
import { openVirtualEngine, testModel } from "../server/engine/fixture.ts";

const QUEUES = 100;
const WAITING = 10_000;
const DECISIONS = 20_000;
/** The first ones run before the code is compiled. */
const WARM_UP = 2_000;

/** Microseconds of single decisions. */
export interface DecisionCost {
  readonly p50Micros: number;
  readonly p99Micros: number;
}

/** Measures a policy as the engine runs it, contained; every answer is followed by a new request. */
export async function decisionCost(definition: PolicyDefinition): Promise<DecisionCost> {
  const costs: number[] = [];
  const timed: PolicyDefinition = {
    ...definition,
    create(env) {
      const policy = contain(definition.create(env), (fault) => {
        throw new Error(fault);
      });
      return {
        ...(policy.rank === undefined ? {} : { rank: policy.rank }),
        observe: (event) => policy.observe?.(event),
        next(snapshot) {
          const began = performance.now();
          const decision = policy.next(snapshot);
          costs.push((performance.now() - began) * 1_000);
          return decision;
        },
      };
    },
  };
  const names = Array.from({ length: QUEUES }, (_, index) => `model ${index}`);
  const cost = (index: number) => ({ byRows: [[1, 100 + index * 10], [8, 400]] as const });
  await using gateway = await openVirtualEngine(
    names.map((name) => testModel(name)),
    { costs: new Map(names.map((name, index) => [name, cost(index)])) },
    { policy: timed },
  );
  const send = (model: string) => {
    gateway.send(model, { onAnswer: () => void (costs.length < DECISIONS && send(model)) });
  };
  for (let index = 0; index < WAITING; index++) send(names[index % QUEUES]);
  while (costs.length < DECISIONS) gateway.clock.advanceTo(gateway.clock.nowMicros() + 10_000);
  const sorted = costs.slice(WARM_UP, DECISIONS).sort((one, other) => one - other);
  const quantile = (part: number) => sorted[Math.floor(part * sorted.length)];
  return { p50Micros: quantile(0.5), p99Micros: quantile(0.99) };
}

if (import.meta.main) {
  for (const [name, definition] of POLICIES) {
    const { p50Micros, p99Micros } = await decisionCost(definition);
    console.log(
      `${name.padEnd(12)} p50 ${p50Micros.toFixed(1)} us, p99 ${p99Micros.toFixed(1)} us`,
    );
  }
}
