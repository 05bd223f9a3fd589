import assert from "node:assert/strict";
import { planAlone, planRun } from "./plan.ts";
import type { ScenarioInput } from "./scenario.ts";
import { resolveScenario } from "./scenario_schema.ts";

const plan = (scenario: ScenarioInput, traces = new Map()) =>
  planRun(resolveScenario(scenario, "test"), traces);
const counts = (models: readonly { model: number }[]) =>
  [0, 1, 2].map((index) => models.filter(({ model }) => model === index).length);

const THREE = [{ name: "a" }, { name: "b" }, { name: "c" }];

Deno.test("planRun() gives the same requests for the same seed, others for another", () => {
  const scenario: ScenarioInput = { arrivals: { kind: "poisson", rate: 50 }, models: THREE };
  assert.deepEqual(plan(scenario), plan(scenario));
  assert.notDeepEqual(plan({ ...scenario, seed: 2 }), plan(scenario));
});

Deno.test("planRun() covers the warm-up and the counted time", () => {
  const { arrivals, endMicros } = plan({
    arrivals: { kind: "constant", rate: 10 },
    warmupSeconds: 2,
    durationSeconds: 3,
    models: [{ name: "a" }],
  });
  assert.equal(arrivals.length, 50);
  assert.equal(endMicros, 5e6);
});

Deno.test("planRun() divides shared arrivals by Zipf's law", () => {
  const arrivals = { kind: "constant", rate: 1000 } as const;
  const total = 11_000;
  const shares = (zipf: number) => counts(plan({ arrivals, zipf, models: THREE }).arrivals);
  for (const share of shares(0)) assert.ok(Math.abs(share / total - 1 / 3) < 0.02);
  const [first, second, third] = shares(1);
  assert.ok(Math.abs(first / second - 2) < 0.15, `${first} ${second}`);
  assert.ok(Math.abs(first / third - 3) < 0.3, `${first} ${third}`);
});

Deno.test("planRun() gives a model its own arrivals, in one ascending schedule", () => {
  const { arrivals } = plan({
    arrivals: { kind: "poisson", rate: 100 },
    durationSeconds: 1,
    warmupSeconds: 0,
    models: [{ name: "a" }, { name: "b", arrivals: { kind: "constant", rate: 20 } }],
  });
  assert.deepEqual(
    arrivals.filter(({ model }) => model === 1).map(({ atMicros }) => atMicros),
    Array.from({ length: 20 }, (_, index) => index * 50_000),
  );
  const times = arrivals.map(({ atMicros }) => atMicros);
  assert.deepEqual(times, times.toSorted((a, b) => a - b));
  assert.ok(arrivals.some(({ model }) => model === 0));
});

Deno.test("planRun() follows a trace: its models where it names them, within the run", () => {
  const trace = [{ seconds: 0, model: "b" }, { seconds: 0.25 }, { seconds: 9 }];
  const { arrivals } = plan(
    {
      arrivals: { kind: "trace", file: "t" },
      durationSeconds: 1,
      warmupSeconds: 0,
      models: [{ name: "b" }],
    },
    new Map([["t", trace]]),
  );
  assert.deepEqual(arrivals, [{ atMicros: 0, model: 0 }, { atMicros: 250_000, model: 0 }]);
});

Deno.test("planRun() makes clients for closed loops, with seeds of their own", () => {
  const { clients } = plan({
    closed: { concurrency: 2, thinkMs: 5 },
    models: [{ name: "a" }, { name: "b", closed: { concurrency: 3 } }],
  });
  assert.deepEqual(counts(clients), [2, 3, 0]);
  assert.deepEqual(clients.map(({ thinkMicros }) => thinkMicros), [5000, 5000, 0, 0, 0]);
  assert.equal(new Set(clients.map(({ seed }) => seed)).size, 5);
});

Deno.test("planAlone() leaves a model's requests where they were", () => {
  const all = plan({ arrivals: { kind: "poisson", rate: 90 }, models: THREE });
  const alone = planAlone(all, 1);
  assert.ok(alone.arrivals.length > 0);
  assert.deepEqual(alone.arrivals, all.arrivals.filter(({ model }) => model === 1));
});
