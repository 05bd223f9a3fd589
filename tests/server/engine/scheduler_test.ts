import assert from "node:assert/strict";
import type { Model } from "../../../models/model.ts";
import { fifo } from "../../../policies/fifo.ts";
import type { PolicyDefinition } from "../../../policies/policy.ts";
import { input, openVirtualEngine, testModel } from "./fixture.ts";

const cost = (...byRows: [number, number][]) => ({ byRows });
const flat = (micros: number) => cost([1, micros]);

Deno.test("submit() answers each request with its own rows when requests are joined", async () => {
  await using sluice = await openVirtualEngine([testModel("m")], {
    costs: new Map([["m", flat(100)]]),
  });
  const { clock, send } = sluice;
  const answers = [3, 1, 4, 1, 5].map((value, i) => send("m", { value, rows: 1 + i % 2 }));
  clock.advanceTo(10_000);
  answers.forEach((answer, i) => {
    assert.equal(answer.length, 1);
    const [{ outputs }] = answer;
    assert.deepEqual(outputs![0].shape, [1 + i % 2, 4]);
    const values = new Float32Array(outputs![0].data.buffer);
    assert.deepEqual([...values], new Array(4 * (1 + i % 2)).fill([3, 1, 4, 1, 5][i]));
  });
  const { statistics } = sluice.engine.find("m");
  assert.equal(statistics.success.count, 5);
  assert.equal(statistics.inferenceCount, 7);
  const byBatch = [...statistics.batches].reduce(
    (sum, [size, b]) => sum + size * b.computeInfer.count,
    0,
  );
  assert.equal(byBatch, 7);
});

Deno.test("submit() learns the batch size instead of filling up", async () => {
  // A row costs 100 us alone, 50 in a pair, 200 in a batch of 8: two is best.
  await using sluice = await openVirtualEngine([testModel("m")], {
    costs: new Map([["m", cost([1, 100], [2, 100], [4, 600], [8, 1600])]]),
  });
  const { clock, send } = sluice;
  const answers = Array.from({ length: 400 }, () => send("m"));
  clock.advanceTo(1e6);
  const last = answers.slice(-100).map(([answer]) => answer.timing!.batchRows);
  assert.ok(last.filter((rows) => rows === 2).length >= 98, `${last}`); // the last may be alone
});

Deno.test("submit() refuses with queue_full beyond the bounds, and takes again after", async () => {
  await using sluice = await openVirtualEngine([testModel("m")], {
    costs: new Map([["m", flat(100)]]),
  }, {
    maxQueueRequests: 3,
    maxQueueBytes: 10 * 16,
  });
  const { clock, send } = sluice;
  const answers = Array.from({ length: 5 }, () => send("m"));
  assert.deepEqual(answers.map(([a]) => a?.error?.code), [
    undefined,
    undefined,
    undefined,
    "queue_full",
    "queue_full",
  ]);
  clock.advanceTo(1e4);
  const [tooLarge] = send("m", { rows: 11 });
  assert.equal(tooLarge.error?.code, "queue_full");
  assert.match(tooLarge.error!.message, /at most 160 may, and this request has 176/);
  const again = send("m");
  clock.advanceTo(2e4);
  assert.ok(again[0].outputs);
});

Deno.test("submit() names what is wrong with the inputs", async () => {
  const two: Model = testModel("two", {
    signature: {
      inputs: [
        { name: "a", datatype: "FP32", shape: [-1, 4] },
        { name: "b", datatype: "INT32", shape: [-1, 2] },
      ],
      outputs: [{ name: "y", datatype: "FP32", shape: [-1, 4] }],
      notServed: [],
    },
    maxBatchSize: 8,
    batching: { ...testModel("m").batching, batchedInputs: [true, true] },
  });
  await using sluice = await openVirtualEngine([testModel("m"), two]);
  const x = input(1, 1);
  const b = { name: "b", datatype: "INT32" as const, shape: [1, 2], data: new Uint8Array(8) };
  const a = { ...x, name: "a" };
  const cases: [string, Parameters<typeof sluice.send>[1], RegExp][] = [
    ["m", { inputs: [] }, /expected 1 inputs but got 0 .* missing required input\(s\) \['x'\]/],
    ["m", { inputs: [{ ...x, name: "z" }] }, /unexpected inference input 'z' .* it has 'x'/],
    ["m", { inputs: [x, x] }, /input 'x' was given more than once/],
    ["m", { inputs: [{ ...x, datatype: "INT32" }] }, /datatype INT32, but model 'm' expects FP32/],
    [
      "m",
      { inputs: [{ ...x, shape: [1, 5] }] },
      /Expected \[-1,4\], got \[1,5\]: dimension 1 must be 4/,
    ],
    ["m", { inputs: [{ ...x, shape: [4] }] }, /2 dimensions are expected, 1 were given/],
    [
      "m",
      { inputs: [{ ...x, shape: [2, 4] }] },
      /16 bytes of data, but shape \[2,4\] of FP32 needs 32/,
    ],
    ["two", { inputs: [a] }, /missing required input\(s\) \['b'\]/],
    [
      "two",
      { inputs: [{ ...a, ...input(2, 1), name: "a" }, b] },
      /'b' has batch size 1, .* before it have 2/,
    ],
    ["two", {
      inputs: [{ ...input(9, 1), name: "a" }, { ...b, shape: [9, 2], data: new Uint8Array(72) }],
    }, /<= 8 for 'two', got 9/],
    ["two", { inputs: [{ ...a, shape: [4] }, b] }, /is the leading batch dimension missing/],
  ];
  for (const [model, sent, expected] of cases) {
    const [answer] = sluice.send(model, sent);
    assert.equal(answer.error?.code, "invalid_argument");
    assert.match(answer.error.message, expected);
  }
  assert.equal(sluice.engine.find("m").statistics.fail.count, 0, "refused before the queue");
});

Deno.test("submit() takes any rank where the model declares none", async () => {
  const { signature, batching } = testModel("m");
  const inputs = [{ ...signature.inputs[0], shape: [], unranked: true }];
  const free = testModel("free", {
    signature: { ...signature, inputs },
    batching: { ...batching, join: false, batchedInputs: [false] },
  });
  await using sluice = await openVirtualEngine([free]);
  const answers = [[4], [2, 2], [1, 1, 4]].map((shape) =>
    sluice.send("free", { inputs: [{ ...input(1, 1), shape }] })
  );
  sluice.clock.advanceTo(1e6);
  for (const [answer] of answers) assert.ok(answer.outputs);
});

Deno.test("a deadline is enforced at arrival, while waiting and when a batch is formed", async () => {
  await using sluice = await openVirtualEngine([
    testModel("m", { batching: { ...testModel("m").batching, join: false } }),
  ], {
    costs: new Map([["m", flat(1000)]]),
  });
  const { clock, send } = sluice;
  for (let i = 0; i < 6; i++) send("m");
  clock.advanceTo(10_000);
  const impossible = send("m", { timeoutMicros: 500 });
  assert.equal(impossible[0].error?.code, "deadline_exceeded", "at arrival");
  assert.match(impossible[0].error!.message, /500 us cannot be met/);
  const first = send("m");
  const waiting = send("m", { timeoutMicros: 1500 }); // runs from 1000 to 2000: too late
  const long = send("m", { timeoutMicros: 5000 });
  clock.advanceTo(11_400);
  assert.equal(first.length, 1);
  assert.equal(waiting[0].error?.code, "deadline_exceeded", "dropped as the batch was formed");
  assert.equal(waiting[0].atMicros, 11_000);
  clock.advanceTo(20_000);
  assert.ok(long[0].outputs);
  const { statistics } = sluice.engine.find("m");
  assert.equal(statistics.executionCount, 8);
  assert.equal(statistics.failures.REJECTED, 2);
});

Deno.test("a deadline that passes in the queue is answered when it passes", async () => {
  await using sluice = await openVirtualEngine([testModel("m")], {
    costs: new Map([["m", flat(50_000)]]),
  });
  const { clock, send } = sluice;
  send("m");
  clock.advanceTo(10);
  const waiting = send("m", { timeoutMicros: 2000 });
  clock.advanceTo(40_000);
  assert.equal(waiting[0].error?.code, "deadline_exceeded");
  assert.equal(waiting[0].atMicros, 2010);
});

Deno.test("a request whose client leaves while it waits is not run", async () => {
  await using sluice = await openVirtualEngine([
    testModel("m", { batching: { ...testModel("m").batching, join: false } }),
  ], {
    costs: new Map([["m", flat(1000)]]),
  });
  const { clock, send } = sluice;
  send("m");
  const leaving = new AbortController();
  const gone = send("m", { signal: leaving.signal });
  const stays = send("m");
  clock.advanceTo(500);
  leaving.abort();
  assert.equal(gone[0].error?.code, "cancelled");
  clock.advanceTo(5000);
  assert.equal(stays[0].atMicros, 2000);
  const { statistics } = sluice.engine.find("m");
  assert.equal(statistics.executionCount, 2);
  assert.equal(statistics.failures.CANCELED, 1);
});

Deno.test("one bad request spares its batchmates", async () => {
  await using sluice = await openVirtualEngine([testModel("m")], {
    costs: new Map([["m", flat(100)]]),
    // The first joined batch fails, and so does the second request when run alone.
    faults: {
      iteration: (_model, index) => index === 1 || index === 3 ? "execution_failed" : undefined,
    },
  });
  const { clock, send } = sluice;
  const first = send("m");
  clock.advanceTo(1000);
  const answers = [1, 2].map((value) => send("m", { value }));
  clock.advanceTo(10_000);
  assert.ok(first[0].outputs);
  assert.ok(answers[0][0].outputs);
  assert.equal(answers[1][0].error?.code, "execution_failed");
  assert.equal(answers.flat().length, 2, "each is answered exactly once");
});

Deno.test("a request that is run again runs by itself, whoever came meanwhile", async () => {
  let failing = false;
  await using sluice = await openVirtualEngine([testModel("m")], {
    costs: new Map([["m", { byRows: [[1, 100], [8, 101]] }]]),
    faults: {
      iteration() {
        const fault = failing ? "execution_failed" : undefined;
        failing = false; // one iteration only
        return fault;
      },
    },
  });
  const { clock, send } = sluice;
  for (let i = 0; i < 40; i++) send("m"); // learns that joining pays
  clock.advanceTo(10_000);
  failing = true;
  const spared = [1, 2].map((value) => send("m", { value }));
  clock.advanceTo(10_050);
  const later = [3, 4].map((value) => send("m", { value }));
  clock.advanceTo(20_000);
  assert.deepEqual(spared.map(([{ timing }]) => timing?.batchRows), [1, 1]);
  assert.deepEqual(later.map(([{ timing }]) => timing?.batchRows), [2, 2]);
});

Deno.test("requests with unequal shared inputs are not joined", async () => {
  const vad: Model = testModel("vad", {
    signature: {
      inputs: [
        { name: "x", datatype: "FP32", shape: [-1, 4] },
        { name: "rate", datatype: "INT64", shape: [] },
      ],
      outputs: [{ name: "y", datatype: "FP32", shape: [-1, 4] }],
      notServed: [],
    },
    batching: { ...testModel("m").batching, batchedInputs: [true, false] },
  });
  await using sluice = await openVirtualEngine([vad], {
    costs: new Map([["vad", cost([1, 100], [8, 110])]]),
  });
  const rate = (value: bigint) => ({
    name: "rate",
    datatype: "INT64" as const,
    shape: [],
    data: new Uint8Array(new BigInt64Array([value]).buffer),
  });
  for (let i = 0; i < 64; i++) {
    sluice.send("vad", { inputs: [input(1, i), rate(i % 2 === 0 ? 8000n : 16000n)] });
  }
  sluice.clock.advanceTo(1e6);
  const { statistics } = sluice.engine.find("vad");
  assert.equal(statistics.success.count, 64);
  assert.ok(statistics.executionCount < 32, "equal rates are joined");
  const answers = [8000n, 16000n].map((value) =>
    sluice.send("vad", { inputs: [input(1, 1), rate(value)] })
  );
  sluice.clock.advanceTo(2e6);
  for (const [answer] of answers) assert.equal(answer.timing!.batchRows, 1);
});

Deno.test("device time is charged in microseconds, divided by the lanes busy meanwhile", async () => {
  const models = ["a", "b"].map((name) => testModel(name));
  await using sluice = await openVirtualEngine(models, {
    costs: new Map([["a", flat(1000)], ["b", flat(500)]]),
  }, { lanes: 2 });
  sluice.send("a");
  sluice.send("b");
  sluice.clock.advanceTo(10_000);
  const charged = (name: string) => sluice.engine.find(name).statistics.chargedMicros;
  assert.ok(Math.abs(charged("b") - 250) < 1, "both lanes busy all the time");
  assert.ok(Math.abs(charged("a") - 750) < 1, "half the time shared");
  const busy = sluice.engine.lanes().map((lane) => lane.busyMicros).sort();
  assert.deepEqual(busy, [1000, 500].sort());
});

Deno.test("a lane of depth 2 takes a second iteration behind the first", async () => {
  await using sluice = await openVirtualEngine(["a", "b", "c"].map((name) => testModel(name)), {
    depth: 2,
    costs: new Map([["a", flat(100)], ["b", flat(100)], ["c", flat(100)]]),
  });
  for (const name of ["a", "b", "c"]) sluice.send(name);
  sluice.clock.advanceTo(50);
  assert.deepEqual(sluice.engine.lanes()[0].running, ["a", "b"]);
  sluice.clock.advanceTo(150);
  assert.deepEqual(sluice.engine.lanes()[0].running, ["b", "c"]);
  sluice.clock.advanceTo(1000);
  assert.equal(sluice.engine.lanes()[0].iterations, 3);
});

Deno.test("an iteration behind another on its lane takes time only from when that one ends", async () => {
  const shown: number[][][] = [];
  const watching: PolicyDefinition = {
    ...fifo,
    create: (env) => {
      const policy = fifo.create(env);
      return {
        next(snapshot) {
          shown.push(
            snapshot.lanes.map(({ running }) => running.map(({ untilMicros }) => untilMicros)),
          );
          return policy.next(snapshot);
        },
      };
    },
  };
  const names = ["a", "b", "c", "d"];
  await using sluice = await openVirtualEngine(names.map((name) => testModel(name)), {
    depth: 2,
    costs: new Map(names.map((name) => [name, flat(100)])),
  }, { lanes: 2, policy: watching });
  const { clock, send, engine } = sluice;
  for (const name of names) {
    send(name); // what it costs is known from then on
    clock.advanceTo(clock.nowMicros() + 1000);
  }
  shown.length = 0;
  const charged = engine.find("c").statistics.chargedMicros;
  const [, , behind] = ["a", "b", "c"].map((name) => send(name));
  clock.advanceTo(4050);
  send("d");
  clock.advanceTo(5000);
  assert.deepEqual(shown, [[[], []], [[4100], []], [[4100], [4100]], [[4100, 4200], [4100]]]);
  assert.equal(behind[0].timing!.queueMicros, 100);
  assert.equal(behind[0].atMicros, 4200);
  // Beside it ran "d", behind "b" on the other lane.
  assert.equal(engine.find("c").statistics.chargedMicros - charged, 50);
});

Deno.test("setPolicy() under load answers every request in flight exactly once", async () => {
  const models = ["a", "b", "c", "d"].map((name) => testModel(name));
  await using sluice = await openVirtualEngine(models, {}, { lanes: 2 });
  const answers = Array.from(
    { length: 200 },
    (_, i) => sluice.send("abcd"[i % 4], { priority: 1 + i % 5 }),
  );
  for (const name of ["fair", "priority", "round_robin", "fifo"]) {
    sluice.clock.advanceTo(sluice.clock.nowMicros() + 30);
    sluice.engine.setPolicy(name);
    assert.equal(sluice.engine.policy().name, name);
  }
  sluice.clock.advanceTo(1e9);
  assert.equal(answers.filter((answer) => answer.length === 1 && answer[0].outputs).length, 200);
  assert.throws(
    () => sluice.engine.setPolicy("nonsense"),
    /unknown policy 'nonsense'; available are/,
  );
});

Deno.test("a policy that breaks is reported, and fifo takes over without losing a request", async () => {
  let turns = 0;
  const broken: PolicyDefinition = {
    name: "broken",
    promises: { noStarvation: true, workConserving: true },
    create: () => ({
      next: ({ ready }) => {
        if (++turns > 3) throw new Error("out of ideas");
        return { run: ready[0], rows: 1, because: "still fine" };
      },
    }),
  };
  await using sluice = await openVirtualEngine([testModel("a"), testModel("b")], {}, {
    policy: broken,
  });
  const answers = Array.from({ length: 50 }, (_, i) => sluice.send("ab"[i % 2]));
  sluice.clock.advanceTo(1e8);
  assert.equal(answers.filter((answer) => answer.length === 1 && answer[0].outputs).length, 50);
  assert.match(sluice.engine.policy().fault!, /out of ideas/);
  assert.equal(sluice.reports.length, 1);
});

Deno.test("what comes first when a policy has broken runs when it fits, not before", async () => {
  let turns = 0;
  const newestFirst: PolicyDefinition = {
    name: "newest_first",
    promises: { noStarvation: false, workConserving: true },
    create: () => ({
      rank: ({ arrivedMicros }) => -arrivedMicros,
      next: ({ ready }) => {
        if (++turns > 1) throw new Error("out of ideas");
        return { run: ready[0], rows: 1, because: "newest" };
      },
    }),
  };
  await using sluice = await openVirtualEngine([testModel("a")], {
    memoryBytes: 1400,
    costs: new Map([["a", { byRows: [[1, 100]] }]]),
  }, { policy: newestFirst, lanes: 2 });
  const running = sluice.send("a");
  sluice.clock.advanceTo(10);
  const large = sluice.send("a", { rows: 12 }); // 384 bytes: not beside what runs
  sluice.clock.advanceTo(20);
  const small = sluice.send("a");
  sluice.clock.advanceTo(1000);
  assert.deepEqual([running, large, small].map(([{ atMicros }]) => atMicros), [100, 200, 300]);
});

Deno.test("what a policy ranked before it broke is ranked anew", async () => {
  let asked = 0;
  const last: PolicyDefinition = {
    name: "last",
    promises: { noStarvation: true, workConserving: true },
    create: () => ({
      rank: () => asked++ === 0 ? 1e300 : 0,
      next: () => {
        throw new Error("broken");
      },
    }),
  };
  await using sluice = await openVirtualEngine(
    [
      testModel("a", { batching: { ...testModel("a").batching, join: false } }),
    ],
    {},
    { policy: last },
  );
  const answers = [1, 2, 3].map(() => sluice.send("a"));
  sluice.clock.advanceTo(1e6);
  const [first, second, third] = answers.map(([{ atMicros }]) => atMicros);
  assert.ok(first < second && second < third, "in order of arrival, as fifo has it");
});

Deno.test("a policy that writes into a queue breaks itself, and nothing else", async () => {
  const writing: PolicyDefinition = {
    name: "writing",
    promises: { noStarvation: true, workConserving: true },
    create: () => ({
      next: ({ ready }) => {
        (ready[0] as { rows: number }).rows = 1000;
        return { run: ready[0], rows: 900, because: "all of it" };
      },
    }),
  };
  await using sluice = await openVirtualEngine([testModel("a")], {}, { policy: writing });
  const answers = [sluice.send("a"), sluice.send("a")];
  sluice.clock.advanceTo(1e8);
  assert.equal(answers.filter((answer) => answer.length === 1 && answer[0].outputs).length, 2);
  assert.match(sluice.engine.policy().fault!, /rows/);
});

Deno.test("an idle decision is asked again when its time has come", async () => {
  const patient: PolicyDefinition = {
    name: "patient",
    promises: { noStarvation: true, workConserving: false },
    create: () => ({
      next: ({ nowMicros, ready }) =>
        nowMicros < 5000
          ? { idleUntilMicros: 5000, because: "too early" }
          : { run: ready[0], rows: 1, because: "now" },
    }),
  };
  await using sluice = await openVirtualEngine([testModel("m")], {
    costs: new Map([["m", flat(100)]]),
  }, {
    policy: patient,
  });
  const answer = sluice.send("m");
  sluice.clock.advanceTo(10_000);
  assert.equal(answer[0].atMicros, 5100);
  assert.equal(answer[0].timing!.because, "now");
});

Deno.test("a queue delay lets a batch fill, but not beyond its time", async () => {
  const batching = { ...testModel("m").batching, maxRows: 4, maxDelayMicros: 2000 };
  await using sluice = await openVirtualEngine([testModel("m", { batching })], {
    costs: new Map([["m", flat(100)]]),
  });
  const alone = sluice.send("m");
  sluice.clock.advanceTo(1999);
  assert.equal(alone.length, 0);
  sluice.clock.advanceTo(3000);
  assert.equal(alone[0].atMicros, 2100);
  const full = [1, 2, 3, 4].map(() => sluice.send("m"));
  sluice.clock.advanceTo(3200);
  assert.ok(full.some((answer) => answer.length === 1), "a full batch does not wait");
});

Deno.test("of several queue delays the earliest is kept", async () => {
  const delayed = (name: string, maxDelayMicros: number) =>
    testModel(name, { batching: { ...testModel("m").batching, maxDelayMicros } });
  await using sluice = await openVirtualEngine([delayed("soon", 500), delayed("late", 4000)], {
    costs: new Map([["soon", flat(100)], ["late", flat(100)]]),
  });
  const [late, soon] = [sluice.send("late"), sluice.send("soon")];
  sluice.clock.advanceTo(10_000);
  assert.equal(soon[0].atMicros, 600);
  assert.equal(late[0].atMicros, 4100);
});
