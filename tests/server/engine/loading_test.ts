import assert from "node:assert/strict";
import type { VirtualClock } from "../../../models/clock.ts";
import { SluiceError } from "../../../models/errors.ts";
import { type Answer, openVirtualEngine, testModel } from "./fixture.ts";

const answered = (answers: Answer[][]) => answers.filter(([a]) => a?.outputs !== undefined).length;

/** Lets promises settle between steps of virtual time. */
async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await Promise.resolve();
}

Deno.test("load() of a changed model leaves no gap: queued requests are answered, new ones go on", async () => {
  await using sluice = await openVirtualEngine([testModel("m")], {
    costs: new Map([["m", { byRows: [[1, 1000], [8, 8000]] }]]),
  });
  const before = sluice.engine.find("m");
  const queued = [1, 2, 3].map(() => sluice.send("m"));
  sluice.repository.models.set("m", [testModel("m", { fingerprint: "changed" })]);
  await sluice.engine.load("m");
  const after = sluice.engine.find("m");
  assert.notEqual(after, before);
  const late: Answer[] = [];
  sluice.engine.submit({
    served: before, // found before the reload, sent after it
    id: "",
    inputs: [{ name: "x", datatype: "FP32", shape: [1, 4], data: new Uint8Array(16) }],
    priority: 0,
    timeoutMicros: 0,
    respond: () => late.push({ outputs: [], atMicros: 0 }),
    fail: (error) => late.push({ error, atMicros: 0 }),
  });
  sluice.clock.advanceTo(1e6);
  await settle();
  assert.equal(answered(queued), 3);
  assert.deepEqual(late.map(({ error }) => error), [undefined]);
  assert.equal(after.statistics.success.count, 1);
  assert.deepEqual(await sluice.engine.index(), [{ name: "m", version: "1", state: "READY" }]);
  assert.equal(sluice.engine.memory().filter((use) => use.class === "persistent").length, 1);
});

Deno.test("load() of what is loaded and unchanged does nothing", async () => {
  await using sluice = await openVirtualEngine([testModel("m")]);
  const before = sluice.engine.find("m");
  await sluice.engine.load("m");
  assert.equal(sluice.engine.find("m"), before);
});

Deno.test("load() of a new model by many at once loads it once, and unload() returns all of it", async () => {
  await using sluice = await openVirtualEngine([testModel("m")], {}, { loadAll: false });
  const { engine } = sluice;
  await Promise.all(Array.from({ length: 4 }, () => engine.load("m")));
  const persistent = () => engine.memory().filter((use) => use.class === "persistent").length;
  assert.equal(persistent(), 1);
  await engine.unload("m");
  assert.equal(persistent(), 0);
});

Deno.test("unload() waits for a load that began before it, of a new model too", async () => {
  await using sluice = await openVirtualEngine([testModel("m")], {}, { loadAll: false });
  const loading = sluice.engine.load("m");
  await sluice.engine.unload("m");
  await loading;
  assert.deepEqual(await sluice.engine.index(), [
    { name: "m", version: "1", state: "UNAVAILABLE", reason: "unloaded" },
  ]);
});

/** A model that declares nothing about joining, and whose axes are named so that a probe is worth it. */
const UNDECLARED = (() => {
  const { batching, signature: { inputs, outputs } } = testModel("m");
  const rows = { dimNames: ["rows", undefined] };
  return {
    batching: { ...batching, join: false, probe: true },
    signature: {
      inputs: [{ ...inputs[0], ...rows }],
      outputs: [{ ...outputs[0], ...rows }],
      notServed: [],
    },
  };
})();

/** Lets virtual time pass until a load has ended. */
async function loadedInTime(loaded: Promise<void>, clock: VirtualClock): Promise<void> {
  let loading = true;
  const ended = loaded.finally(() => loading = false);
  while (loading) {
    await settle();
    clock.advanceTo(clock.nowMicros() + 1e6);
  }
  await ended;
}

Deno.test("a probe gets its working memory at the cost of idle lanes", async () => {
  await using sluice = await openVirtualEngine([testModel("first")], {
    memoryBytes: 3000,
    ephemeralBytes: () => 800,
  });
  const { engine, clock, repository } = sluice;
  sluice.send("first");
  clock.advanceTo(1e6);
  assert.equal(engine.lanes()[0].bytes, 800); // 1000 + 800 are taken, the next model leaves 200
  repository.models.set("m", [testModel("m", UNDECLARED)]);
  await loadedInTime(engine.load("m"), clock);
  const { join, reason } = engine.find("m").model.batching;
  assert.ok(join, reason);
  assert.equal(engine.lanes()[0].bytes, 0);
});

Deno.test("load() probes a model once and again only when its content has changed", async () => {
  let iterations = 0;
  const iteration = () => {
    iterations++;
    return undefined;
  };
  await using sluice = await openVirtualEngine([testModel("m", UNDECLARED)], {
    faults: { iteration },
  }, { loadAll: false });
  const { engine, clock, repository } = sluice;
  const load = async () => {
    await loadedInTime(engine.load("m"), clock);
    const { join, reason } = engine.find("m").model.batching;
    assert.ok(join, reason);
  };
  await load();
  const probe = iterations;
  assert.ok(probe > 0);
  await engine.unload("m");
  await load();
  assert.equal(iterations, probe);
  repository.models.set("m", [testModel("m", { ...UNDECLARED, fingerprint: "changed" })]);
  await load();
  assert.equal(iterations, 2 * probe);
});

Deno.test("load() that fails leaves the old version serving", async () => {
  let broken = false;
  await using sluice = await openVirtualEngine([testModel("m")], {
    faults: {
      stage: () =>
        broken ? new SluiceError("invalid_argument", "the file is cut short") : undefined,
    },
  });
  broken = true;
  sluice.repository.models.set("m", [testModel("m", { fingerprint: "changed" })]);
  await assert.rejects(sluice.engine.load("m"), /cut short/);
  const answer = sluice.send("m");
  sluice.clock.advanceTo(1e6);
  assert.ok(answer[0].outputs);
  assert.deepEqual(await sluice.engine.index(), [{ name: "m", version: "1", state: "READY" }]);
});

Deno.test("loads, unloads, failed reloads and switches of policy are told, a line each", async () => {
  const news: string[] = [];
  let broken = false;
  await using sluice = await openVirtualEngine([testModel("m")], {
    stageMicros: (model) => model.fingerprint === "changed" ? 7000 : 0,
    faults: {
      stage: () => broken ? new SluiceError("invalid_argument", "it is cut short") : undefined,
    },
  }, { report: (message) => news.push(message), announce: (message) => news.push(message) });
  const { engine, clock, repository } = sluice;
  repository.models.set("m", [testModel("m", { fingerprint: "changed" })]);
  const reloaded = engine.load("m");
  await settle();
  clock.advanceTo(7000);
  await reloaded;
  await settle();
  broken = true;
  repository.models.set("m", [testModel("m", { fingerprint: "broken" })]);
  await assert.rejects(engine.load("m"));
  engine.setPolicy("fifo");
  await engine.unload("m");
  await assert.rejects(engine.load("m"));
  assert.deepEqual(news, [
    "Loaded model 'm/1': 1000 bytes, 0 ms",
    "Loaded model 'm/1' anew: 1000 bytes, 7 ms",
    "Unloaded replaced model 'm/1': 1000 bytes",
    "Model 'm' was not loaded: it is cut short; as before, version 1 serves",
    "Policy 'fifo' takes over from 'fair'",
    "Unloaded model 'm/1': 1000 bytes",
    "Model 'm' was not loaded: it is cut short",
  ]);
});

Deno.test("a model that does not load is in the index with its reason, and keeps nobody out", async () => {
  await using sluice = await openVirtualEngine([testModel("bad"), testModel("good")], {
    faults: {
      stage: ({ name }) =>
        name === "bad" ? new SluiceError("invalid_argument", "text named .onnx") : undefined,
    },
  });
  assert.deepEqual(await sluice.engine.index(), [
    { name: "bad", version: "1", state: "UNAVAILABLE", reason: "text named .onnx" },
    { name: "good", version: "1", state: "READY" },
  ]);
  assert.throws(() => sluice.engine.find("bad"), { code: "not_ready" });
  assert.throws(() => sluice.engine.find("nobody"), { code: "not_found" });
  assert.equal(sluice.engine.notReadyReason(), undefined);
  assert.deepEqual(sluice.engine.brokenModels(), ["model 'bad' is not ready: text named .onnx"]);
  await sluice.engine.unload("bad");
  assert.deepEqual(sluice.engine.brokenModels(), []);
});

Deno.test("a model that cannot even be read is in the index with its reason", async () => {
  await using sluice = await openVirtualEngine([testModel("good")]);
  const { repository, engine } = sluice;
  const read = repository.read.bind(repository);
  repository.models.set("cut", []);
  repository.read = (name) =>
    name === "cut"
      ? Promise.reject(new SluiceError("invalid_argument", "manifest.json is cut short"))
      : read(name);
  await assert.rejects(engine.load("cut"), /cut short/);
  await assert.rejects(engine.load("nobody"), { code: "not_found" });
  assert.deepEqual(await engine.index(), [
    { name: "cut", version: "", state: "UNAVAILABLE", reason: "manifest.json is cut short" },
    { name: "good", version: "1", state: "READY" },
  ]);
});

Deno.test("unload() answers what is queued, takes nothing new and gives all memory back", async () => {
  await using sluice = await openVirtualEngine([testModel("m")]);
  const queued = [1, 2, 3].map(() => sluice.send("m"));
  const unloading = sluice.engine.unload("m");
  await settle();
  assert.throws(() => sluice.engine.find("m"), { code: "not_ready" });
  assert.equal((await sluice.engine.index())[0].state, "UNLOADING");
  sluice.clock.advanceTo(1e6);
  await unloading;
  assert.equal(answered(queued), 3);
  assert.deepEqual(await sluice.engine.index(), [
    { name: "m", version: "1", state: "UNAVAILABLE", reason: "unloaded" },
  ]);
  assert.equal(sluice.engine.memory().reduce((sum, { bytes }) => sum + bytes, 0), 0);
  await sluice.engine.unload("m");
  await sluice.engine.unload("nobody");
  await sluice.engine.load("m");
  assert.ok(sluice.engine.find("m"));
});

Deno.test("a new model that does not load and is not in the repository leaves no trace", async () => {
  await using sluice = await openVirtualEngine([testModel("m")], { memoryBytes: 1 }, {
    loadAll: false,
  });
  sluice.repository.list = () => Promise.resolve([]); // as of one whose files are uploaded
  await assert.rejects(sluice.engine.load("m"), { code: "out_of_memory" });
  assert.throws(() => sluice.engine.find("m"), { code: "not_found" });
  assert.deepEqual(await sluice.engine.index(), []);
});

Deno.test("a model that does not fit is refused with the bytes it needs, and fits once there is room", async () => {
  await using sluice = await openVirtualEngine([testModel("a"), testModel("b")], {
    memoryBytes: 1600,
  });
  assert.match(
    sluice.reports[0],
    /'b\/1' has a file of 1000 bytes, but only 600 of 1600 bytes are free/,
  );
  await sluice.engine.unload("a");
  await sluice.engine.load("b");
  const answer = sluice.send("b");
  sluice.clock.advanceTo(1e6);
  assert.ok(answer[0].outputs);
});

Deno.test("a second model fits into a lane that the first one sized", async () => {
  // Salus sizes a lane by the weights and working memory of its first model: no second one fits.
  await using sluice = await openVirtualEngine([testModel("a"), testModel("b")], {
    memoryBytes: 2500,
    ephemeralBytes: ({ name }) => name === "a" ? 300 : 500,
    costs: new Map([["a", { byRows: [[1, 10]] }], ["b", { byRows: [[1, 10]] }]]),
  });
  const answers = ["a", "b", "a"].map((name) => sluice.send(name));
  sluice.clock.advanceTo(1e6);
  assert.equal(answered(answers), 3);
  assert.equal(sluice.engine.lanes()[0].bytes, 500);
});

Deno.test("a lane grows at the cost of idle lanes, and waits for busy ones", async () => {
  await using sluice = await openVirtualEngine([testModel("small"), testModel("large")], {
    memoryBytes: 3000,
    ephemeralBytes: ({ name }) => name === "small" ? 400 : 900,
    costs: new Map([["small", { byRows: [[1, 100]] }], ["large", { byRows: [[1, 100]] }]]),
  }, { lanes: 2 });
  const first = sluice.send("small");
  sluice.clock.advanceTo(10);
  const large = sluice.send("large"); // 400 + 900 exceed the 1000 that are left
  sluice.clock.advanceTo(90);
  assert.deepEqual(sluice.engine.lanes().map(({ running }) => running.length), [1, 0]);
  sluice.clock.advanceTo(1000);
  assert.equal(first[0].atMicros, 100);
  assert.equal(large[0].atMicros, 200);
  const bytes = sluice.engine.lanes().reduce((sum, lane) => sum + lane.bytes, 0);
  assert.ok(bytes <= 1000);
});

Deno.test("an iteration that fits no lane is refused with the bytes it needs", async () => {
  await using sluice = await openVirtualEngine([testModel("m")], {
    memoryBytes: 2000,
    ephemeralBytes: (_, { inputs }) => 200 * inputs[0].shape[0],
  });
  const [refused] = sluice.send("m", { rows: 6 });
  assert.equal(refused.error?.code, "out_of_memory");
  assert.match(refused.error.message, /needs 1200 bytes of working memory, but at most 1000/);
  const joined = Array.from({ length: 20 }, () => sluice.send("m", { rows: 2 }));
  sluice.clock.advanceTo(1e6);
  assert.equal(answered(joined), 20, "joined only as far as memory goes");
});

Deno.test("a failure while an iteration is prepared frees its lane", async () => {
  // In Salus the lane is taken before prepare(); a failure there hangs it for good.
  await using sluice = await openVirtualEngine([testModel("m")], {
    faults: { iteration: (_, index) => index === 0 ? "execution_failed" : undefined },
  });
  const failed = sluice.send("m");
  sluice.clock.advanceTo(1e5);
  const answer = sluice.send("m");
  sluice.clock.advanceTo(2e5);
  assert.equal(failed[0].error?.code, "execution_failed");
  assert.ok(answer[0].outputs);
});

Deno.test("a device that fails for good fails readiness, liveness and requests", async () => {
  await using sluice = await openVirtualEngine([testModel("m")], {
    faults: { iteration: () => "device_failed" },
  });
  const hit = sluice.send("m");
  sluice.clock.advanceTo(1e6);
  assert.equal(hit[0].error?.code, "device_failed");
  assert.equal(sluice.engine.live, false);
  assert.match(sluice.engine.notReadyReason()!, /The device has failed/);
  assert.equal(sluice.send("m")[0].error?.code, "device_failed");
});

Deno.test("drain() is not ready at once, finishes what is queued and refuses what is new", async () => {
  await using sluice = await openVirtualEngine([testModel("m")]);
  const queued = [1, 2, 3].map(() => sluice.send("m"));
  const drained = sluice.engine.drain(1e6);
  assert.match(sluice.engine.notReadyReason()!, /shutting down/);
  assert.equal(sluice.send("m")[0].error?.code, "shutting_down");
  await assert.rejects(sluice.engine.load("m"), { code: "shutting_down" });
  sluice.clock.advanceTo(1e6);
  await drained;
  assert.equal(answered(queued), 3);
});

Deno.test("drain() gives up after its time and fails what is left", async () => {
  const batching = { ...testModel("m").batching, join: false };
  await using sluice = await openVirtualEngine([testModel("m", { batching })], {
    costs: new Map([["m", { byRows: [[1, 400_000]] }]]),
  });
  const queued = [1, 2, 3].map(() => sluice.send("m"));
  const drained = sluice.engine.drain(500_000);
  const rejected = assert.rejects(drained, { code: "deadline_exceeded" });
  sluice.clock.advanceTo(1e7);
  await rejected;
  assert.equal(answered(queued) + queued.filter(([a]) => a.error).length, 3);
  assert.ok(queued.some(([a]) => a.error?.code === "deadline_exceeded"));
});
