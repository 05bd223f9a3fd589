import assert from "node:assert/strict";
import fc from "fast-check";
import type { LogEntry } from "../../../server/engine/decision_log.ts";
import { type Decided, replay } from "../../../server/engine/replay.ts";
import { POLICIES } from "../../../policies/mod.ts";
import { openVirtualEngine, testModel } from "./fixture.ts";

const DECIDED = ["start", "idle", "discard"];
const decisionsOf = (log: readonly LogEntry[]) =>
  log.filter(({ event }) => DECIDED.includes(event));

const action = fc.record({
  kind: fc.constantFrom("send", "send", "send", "send", "leave", "policy", "reload", "wait"),
  model: fc.constantFrom("a", "b", "c"),
  rows: fc.integer({ min: 1, max: 5 }),
  priority: fc.integer({ min: 0, max: 3 }),
  timeoutMicros: fc.constantFrom(0, 0, 0, 300, 2000),
  policy: fc.constantFrom(...POLICIES.keys()),
  micros: fc.integer({ min: 0, max: 800 }),
});

const actions = fc.array(action, { minLength: 30, maxLength: 120 });
/** Ample, or hardly enough for a reload beside three models of 1000 bytes. */
const memory = fc.constantFrom(40_000, 4150);

Deno.test("replay() makes the decisions that were recorded, whatever happened", async () => {
  await fc.assert(
    fc.asyncProperty(actions, memory, async (actions, memoryBytes) => {
      const log: LogEntry[] = [];
      const { batching } = testModel("a");
      await using sluice = await openVirtualEngine(
        [
          testModel("a", { weight: 2 }),
          testModel("b", { batching: { ...batching, maxDelayMicros: 150 } }),
          testModel("c", { batching: { ...batching, join: false } }),
        ],
        {
          memoryBytes,
          costs: new Map([
            ["a", { byRows: [[1, 40], [8, 60]] }],
            ["b", { byRows: [[1, 100], [8, 700]] }],
            ["c", { byRows: [[1, 250]] }],
          ]),
          faults: { iteration: (_, index) => index % 7 === 5 ? "execution_failed" : undefined },
        },
        {
          lanes: 2,
          expressMicros: 70,
          decisionLog: (entry) => log.push(JSON.parse(JSON.stringify(entry))),
        },
      );
      const leaving: AbortController[] = [];
      let content = 0;
      for (const { kind, model, rows, priority, timeoutMicros, policy, micros } of actions) {
        if (kind === "send") {
          const client = new AbortController();
          leaving.push(client);
          sluice.send(model, { rows, priority, timeoutMicros, signal: client.signal });
        } else if (kind === "leave") leaving.pop()?.abort();
        else if (kind === "policy") sluice.engine.setPolicy(policy);
        else if (kind === "reload") {
          // What is queued stays with the model that is replaced.
          const [served] = sluice.repository.models.get(model)!;
          sluice.repository.models.set(model, [{ ...served, fingerprint: `${++content}` }]);
          await sluice.engine.load(model).catch((error) =>
            assert.equal(error.code, "out_of_memory")
          );
        } else sluice.clock.advanceTo(sluice.clock.nowMicros() + micros);
      }
      sluice.clock.advanceTo(sluice.clock.nowMicros() + 1e6);
      assert.deepEqual(replay(log, POLICIES), decisionsOf(log));
    }),
    { numRuns: 60, seed: 20 },
  );
});

Deno.test("replay() has the memory that there was: weights and lanes that gave way to them", async () => {
  const log: LogEntry[] = [];
  const names = ["small", "large", "late"];
  await using sluice = await openVirtualEngine(names.map((name) => testModel(name)), {
    memoryBytes: 4200, // 1200 beside the weights: too little for both kinds of iteration at once
    ephemeralBytes: ({ name }) => name === "large" ? 900 : 400,
    costs: new Map(names.map((name) => [name, { byRows: [[1, 100]] }])),
  }, { lanes: 2, decisionLog: (entry) => log.push(JSON.parse(JSON.stringify(entry))) });
  const { engine, clock, send } = sluice;
  const changes = [
    () => engine.unload("late"),
    () => engine.load("late"), // lanes that have grown give way
    () => Promise.resolve(),
  ];
  for (const change of changes) {
    for (const name of ["small", "large", "small", "large"]) {
      send(name);
      clock.advanceTo(clock.nowMicros() + 10);
    }
    clock.advanceTo(clock.nowMicros() + 10_000);
    await change();
  }
  assert.deepEqual(replay(log, POLICIES), decisionsOf(log));
  const careless = log.filter(({ event }) => event !== "reserve");
  assert.notDeepEqual(replayed(careless), decisionsOf(log), "memory was not tight");
});

/** The decisions until the log cannot be followed. */
function replayed(log: readonly LogEntry[]): Decided[] {
  const upTo = log.findIndex((_, index) => {
    try {
      replay(log.slice(0, index + 1), POLICIES);
      return false;
    } catch {
      return true;
    }
  });
  return replay(log.slice(0, upTo === -1 ? log.length : upTo), POLICIES);
}

Deno.test("replay() shows where another policy would have decided otherwise", async () => {
  const log: LogEntry[] = [];
  await using sluice = await openVirtualEngine([testModel("a"), testModel("b")], {
    costs: new Map([["a", { byRows: [[1, 100]] }], ["b", { byRows: [[1, 1000]] }]]),
  }, { decisionLog: (entry) => log.push(entry) });
  for (let i = 0; i < 20; i++) sluice.send(i < 10 ? "b" : "a", { priority: i < 10 ? 9 : 1 });
  sluice.clock.advanceTo(1e6);
  const urgentFirst = log.map((entry) =>
    entry.event === "policy" ? { ...entry, name: "priority" } : entry
  );
  const [first] = replay(
    urgentFirst.slice(0, urgentFirst.findIndex((e) => e.event === "finish")),
    POLICIES,
  );
  assert.equal(first.event === "start" && first.model, "a/1");
});

Deno.test("replay() says where a log cannot be followed", () => {
  const at = 0;
  assert.throws(
    () => replay([{ at, event: "expire" }], POLICIES),
    /it names no engine and policy at its start/,
  );
  const start: LogEntry[] = [{
    at,
    event: "engine",
    lanes: 1,
    laneDepth: 1,
    capacityBytes: 1,
    expressMicros: 0,
  }];
  assert.throws(
    () => replay([...start, { at, event: "policy", name: "mine", seed: 1 }], POLICIES),
    /policy 'mine', which is not given/,
  );
  const ready: LogEntry[] = [...start, { at, event: "policy", name: "fifo", seed: 1 }];
  assert.throws(
    () => replay([...ready, { at, event: "finish", iteration: 3, deviceMicros: 1 }], POLICIES),
    /iteration 3 ends, but was not started/,
  );
  assert.throws(
    () => replay([...ready, { at, event: "remove", load: 0, model: "x/1" }], POLICIES),
    /model 'x\/1' was not added before/,
  );
});

Deno.test("replay() passes lanes over in the order in which they were", async () => {
  const log: LogEntry[] = [];
  const batching = { ...testModel("a").batching, join: false };
  await using sluice = await openVirtualEngine([testModel("a", { batching })], {
    depth: 2,
    memoryBytes: 1500,
    durations: (_, index) => index === 1 ? 100 : 1000,
  }, { lanes: 3, decisionLog: (entry) => log.push(JSON.parse(JSON.stringify(entry))) });
  for (const rows of [1, 1, 12]) sluice.send("a", { rows });
  sluice.clock.advanceTo(200);
  sluice.send("a", { rows: 12 }); // fits behind the other large one alone, not on idle lane 1
  sluice.clock.advanceTo(10_000);
  const decided = decisionsOf(log);
  assert.deepEqual((decided.at(-1) as Decided).except, [1, 0]);
  assert.deepEqual(replay(log, POLICIES), decided);
});
