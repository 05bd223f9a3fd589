import assert from "node:assert/strict";
import type { CostTable } from "../../../models/simulated/cost.ts";
import { POLICIES } from "../../../policies/mod.ts";
import type { LogEntry } from "../../../server/engine/decision_log.ts";
import { replay } from "../../../server/engine/replay.ts";
import { input, openVirtualEngine, sequenceModel, testModel } from "./fixture.ts";
import { delayed, pass, SEQUENCE_COST, stateOf, Story } from "./story.ts";

for (const policy of ["fair", "srtf", "edf", "las_2d", "round_robin"]) {
  Deno.test(`a plain request and a short generation wait for two iterations of a long one at most: ${policy}`, async () => {
    await using sluice = await openVirtualEngine([sequenceModel("s"), testModel("plain")], {
      costs: new Map<string, CostTable>([...SEQUENCE_COST, ["plain", { byRows: [[1, 50]] }]]),
    });
    sluice.engine.setPolicy(policy);
    const long = new Story(sluice, 500);
    pass(sluice, 30_030);
    const before = long.outputs.length;
    const plain = sluice.send("plain");
    pass(sluice, 300);
    assert.ok(plain[0]?.outputs, "answered");
    assert.ok(long.outputs.length - before <= 2);
    const short = new Story(sluice, 3, {}, 2);
    const since = long.outputs.length;
    pass(sluice, 1000);
    assert.ok(
      short.atMicros[0] - long.atMicros[since] <= 200,
      "starts at the second at the latest",
    );
    pass(sluice, 1e6);
    assert.equal(short.outputs.length, 3);
    assert.equal(long.outputs.length, 500);
  });
}

for (const policy of POLICIES.keys()) {
  Deno.test(`a job delays no request by more than its iteration: ${policy}`, async () => {
    await using sluice = await openVirtualEngine(
      [sequenceModel("s"), sequenceModel("g"), testModel("plain"), testModel("other")],
      { costs: SEQUENCE_COST },
    );
    sluice.engine.setPolicy(policy);
    const job = new Story(sluice, Infinity, { endless: true, background: true });
    pass(sluice, 5050);
    const before = job.outputs.length;
    const sent = ["plain", "plain", "other"].map((model) => sluice.send(model, { rows: 8 }));
    const generation = new Story(sluice, 20, { served: sluice.engine.find("g") }, 2);
    pass(sluice, 10_000);
    assert.equal(generation.outputs.length, 20);
    for (const [{ atMicros }] of sent) {
      assert.ok(job.atMicros.slice(before).filter((at) => at < atMicros).length <= 1);
    }
    assert.ok(generation.atMicros[0] - 5050 < 500, "does not wait for the job's turn");
    assert.ok(job.outputs.length > before + 50, "goes on when there is room");
    job.open!.end();
  });

  Deno.test(`a job is not starved by a flood of requests: ${policy}`, async () => {
    await using sluice = await openVirtualEngine([sequenceModel("s"), testModel("plain")], {
      costs: new Map([...SEQUENCE_COST, ["plain", { byRows: [[1, 1000]] }], ["s", {
        byRows: [[1, 1000]],
      }]]),
    });
    sluice.engine.setPolicy(policy);
    const job = new Story(sluice, Infinity, { endless: true, background: true });
    let flooding = true;
    const answered = { plain: 0, s: 0 };
    const flood = (model: "plain" | "s") => {
      const inputs = model === "s" ? [input(1, 1), stateOf(1)] : [input(8, 1)];
      const onAnswer = () => {
        answered[model]++;
        if (flooding) flood(model);
      };
      sluice.send(model, { inputs, onAnswer });
    };
    for (const model of ["plain", "plain", "s", "s"] as const) flood(model);
    const since = job.outputs.length;
    pass(sluice, 5.5e6);
    const during = job.outputs.length - since;
    assert.ok(during >= 4 && during <= 7, `${during} iterations in 5.5 s`);
    if (policy !== "srtf") assert.ok(answered.plain > 500, "jobs give a model no say over others");
    flooding = false;
    job.open!.end();
  });
}

Deno.test("a job's iterations are not those of its model's other sequences, which do not wait with it", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s"), testModel("plain")], {
    costs: new Map(["s", "plain"].map((name) => [name, { byRows: [[1, 1000]] }])),
  });
  let flooding = true;
  const flood = () => void (flooding && sluice.send("plain", { rows: 8, onAnswer: flood }));
  flood();
  flood();
  const job = new Story(sluice, Infinity, { endless: true, background: true });
  const other = new Story(sluice, 5, {}, 2);
  pass(sluice, 50_000);
  flooding = false;
  assert.deepEqual([job.outputs.length, other.outputs.length], [0, 5]);
});

Deno.test("jobs of a model have an iteration a second between them where requests leave no room", async () => {
  const { batching } = sequenceModel("s").sequence!;
  const apart = sequenceModel("s", { batching: { ...batching, join: false, maxRows: 1 } });
  await using sluice = await openVirtualEngine([apart, testModel("plain")], {
    costs: new Map(["s", "plain"].map((name) => [name, { byRows: [[1, 1000]] }])),
  });
  const jobs = [1, 2, 3].map((seed) =>
    new Story(sluice, Infinity, { endless: true, background: true }, seed)
  );
  let flooding = true;
  const flood = () => void (flooding && sluice.send("plain", { rows: 8, onAnswer: flood }));
  flood();
  flood();
  pass(sluice, 9.5e6);
  flooding = false;
  const iterations = jobs.map(({ outputs }) => outputs.length);
  assert.ok(Math.max(...iterations) - Math.min(...iterations) <= 1, `${iterations}: in turn`);
  const all = iterations.reduce((sum, count) => sum + count);
  assert.ok(all >= 8 && all <= 10, `${all} iterations in 9.5 s`);
});

Deno.test("a sequence of unknown length is taken to be as long as others of its model were", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { costs: SEQUENCE_COST }, {
    policies: new Map([...POLICIES, ["spy", {
      name: "spy",
      promises: { noStarvation: true, workConserving: true },
      create: () => ({
        rank: ({ iterationsDone, iterationsTotal }) => {
          seen.push(`${iterationsDone}/${iterationsTotal}`);
          return 0;
        },
        next: ({ ready: [queue] }) => ({ run: queue, rows: 1, because: "first" }),
      }),
    }]]),
  });
  const seen: string[] = [];
  sluice.engine.setPolicy("spy");
  const unknown = (iterations: number) => {
    new Story(sluice, iterations, { iterations: undefined });
    pass(sluice, 1e5);
    return seen.splice(0);
  };
  assert.deepEqual(unknown(4), ["0/1", "1/2", "2/4", "3/6"]);
  assert.deepEqual(unknown(6), ["0/4", "1/4", "2/4", "3/4", "4/8", "5/10"]);
  assert.deepEqual(unknown(1), ["0/4.2"]); // a tenth of the way from 4 to 6
});

Deno.test("replay() follows sequences", async () => {
  const log: LogEntry[] = [];
  await using sluice = await openVirtualEngine(
    [delayed(50), testModel("plain")],
    { costs: SEQUENCE_COST, memoryBytes: 2300 },
    { lanes: 2, decisionLog: (entry) => log.push(JSON.parse(JSON.stringify(entry))) },
  );
  for (const policy of POLICIES.keys()) {
    sluice.engine.setPolicy(policy);
    for (let index = 0; index < 5; index++) {
      const client = new AbortController();
      new Story(sluice, 3 + index, { signal: client.signal, tenant: `t${index % 2}` }, index);
      sluice.send("plain");
      pass(sluice, 70);
      if (index === 2) client.abort();
    }
    pass(sluice, 300);
  }
  pass(sluice, 1e5);
  const decided = log.filter(({ event }) => ["start", "idle", "discard"].includes(event));
  assert.ok(log.filter(({ event }) => event === "arrive").length > 100);
  assert.deepEqual(replay(log, POLICIES), decided);
});
