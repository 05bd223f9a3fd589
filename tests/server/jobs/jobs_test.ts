import assert from "node:assert/strict";
import { SluiceError } from "../../../models/errors.ts";
import { readInitializers } from "../../../models/onnx/initializers.ts";
import { MOST_OPEN } from "../../../server/jobs/jobs.ts";
import { scaleModel } from "../../fixtures/onnx.ts";
import { descentModel } from "../../fixtures/sequence_models.ts";
import { fakeModel } from "../protocols/fake_engine.ts";
import { Descent, ITERATION_MICROS, rate, refused, settled, valuesOf } from "./descent.ts";

Deno.test("a job runs its iterations on the same inputs, and collects what is a single number", async () => {
  const descent = new Descent();
  const job = await descent.submit({ iterations: 3, priority: 4, tenant: "t" });
  const [sequence] = descent.sequences;
  const { endless, background, iterations, maxIdleMicros, priority, tenant } = sequence.request;
  assert.deepEqual([endless, background, maxIdleMicros], [true, true, Infinity]);
  assert.deepEqual([iterations, priority, tenant], [3, 4, "t"]);
  sequence.step(2);
  assert.equal(job.state, "running");
  assert.equal(job.remainingMicros, ITERATION_MICROS);
  sequence.step(5);
  await settled(job);
  assert.equal(job.state, "completed");
  assert.equal(job.iterationsDone, 3);
  assert.deepEqual(job.metrics.curves(), { iterations: [1, 2, 3], values: { loss: [10, 6, 2] } });
  assert.equal(job.attainedMicros, 3 * ITERATION_MICROS);
  assert.equal(job.runMicros, 3 * ITERATION_MICROS);
  assert.equal(job.remainingMicros, undefined);
});

Deno.test("a job writes checkpoints as often as it was asked to, and at its end", async () => {
  const descent = new Descent();
  const job = await descent.submit({ iterations: 10, checkpointEvery: 4 });
  for (let i = 0; i < 10; i++) {
    descent.sequences[0].step();
    await settled(job);
  }
  assert.deepEqual(descent.written(), [4, 8, 10]);
  const w = readInitializers(descent.store.versions[2].bytes, new Set(["w"]), "").get("w")!;
  assert.deepEqual(valuesOf(w), [-7, -6, -5, -4]);
});

Deno.test("a job that asked for no checkpoints writes none, whatever its model has", async () => {
  const descent = new Descent();
  descent.store.versions.length = 0;
  const job = await descent.submit({ iterations: 2, checkpointEvery: 0 });
  descent.sequences[0].step(2);
  await settled(job);
  assert.equal(job.state, "completed");
  assert.deepEqual(descent.written(), []);
});

Deno.test("a job leaves out checkpoints that are due while one is written, but not the last", async () => {
  const descent = new Descent();
  const { promise, resolve } = Promise.withResolvers<void>();
  descent.store.beforeAdd = () => promise;
  const job = await descent.submit({ iterations: 10, checkpointEvery: 2 });
  descent.sequences[0].step(10);
  assert.equal(job.state, "running", "it is completed once its last checkpoint is there");
  assert.notEqual(job.endedMillis, undefined, "but its last iteration has ended");
  resolve();
  await settled(job);
  assert.equal(job.state, "completed");
  assert.deepEqual(descent.written(), [2, 10]);
});

Deno.test("a checkpoint that cannot be written is told, and the job goes on", async () => {
  const descent = new Descent();
  descent.store.beforeAdd = () => Promise.reject(new SluiceError("too_large", "no room"));
  const job = await descent.submit({ iterations: 4, checkpointEvery: 2 });
  descent.sequences[0].step(2);
  await settled(job);
  assert.equal(job.checkpoints!.fault, "Iteration 2 was not written: no room");
  descent.store.beforeAdd = () => Promise.resolve();
  descent.sequences[0].step(2);
  await settled(job);
  assert.equal(job.state, "completed");
  assert.equal(job.checkpoints!.fault, undefined);
});

Deno.test("a job whose last checkpoint cannot be written has failed", async () => {
  const descent = new Descent();
  descent.store.beforeAdd = () => Promise.reject(new SluiceError("too_large", "no room"));
  const job = await descent.submit({ iterations: 2 });
  descent.sequences[0].step(2);
  await settled(job);
  assert.equal(job.state, "failed");
  assert.equal(job.error, "Iteration 2 was not written: no room");
});

Deno.test("a paused job whose checkpoint could not be written leaves it when the engine ends it", async () => {
  const descent = new Descent();
  const job = await descent.submit();
  descent.store.beforeAdd = () => Promise.reject(new SluiceError("too_large", "no room"));
  job.pause();
  descent.sequences[0].step();
  await settled(job);
  descent.store.beforeAdd = () => Promise.resolve();
  descent.sequences[0].fail(new SluiceError("not_ready", "Model 'descent/1' was unloaded"));
  await settled(job);
  assert.deepEqual(descent.written(), [1]);
});

Deno.test("a job goes on from a checkpoint as if it had never ended", async () => {
  const descent = new Descent();
  const first = await descent.submit({ iterations: 4 });
  descent.sequences[0].step(4);
  await settled(first);
  const job = await descent.submit({ iterations: 6 }, { model: "descent", version: 2 });
  const [, sequence] = descent.sequences;
  assert.equal(sequence.request.iterations, 2);
  sequence.step(9);
  await settled(job);
  assert.equal(job.iterationsDone, 6);
  assert.deepEqual(job.metrics.curves(), { iterations: [5, 6], values: { loss: [-6, -10] } });
  assert.deepEqual(descent.written(), [4, 6]);
});

Deno.test("a job goes on from the newest version where none is named, which no job need have written", async () => {
  const descent = new Descent();
  const job = await descent.submit({ iterations: 1 }, { model: "descent" });
  descent.sequences[0].step();
  assert.equal(job.iterationsDone, 1);
  assert.deepEqual(valuesOf(descent.sequences[0].request.initial![0]), [1, 2, 3, 4]);
});

Deno.test("a pause comes after the iteration that runs, with a checkpoint; a resumption feeds it", async () => {
  const descent = new Descent();
  const job = await descent.submit();
  const [sequence] = descent.sequences;
  sequence.step(3);
  job.pause();
  assert.equal(job.state, "pausing");
  sequence.step(5);
  assert.equal(job.state, "paused");
  assert.equal(job.iterationsDone, 4);
  await settled(job);
  assert.deepEqual(descent.written(), [4]);
  descent.clock.advanceTo(1e9);
  assert.equal(job.runMicros, 4 * ITERATION_MICROS, "a pause is no running time");
  descent.jobs.resume(job);
  assert.equal(job.state, "running");
  sequence.step(10);
  await settled(job);
  assert.equal(job.state, "completed");
});

Deno.test("a pause that has not come yet is taken back by a resumption", async () => {
  const descent = new Descent();
  const job = await descent.submit();
  job.pause();
  descent.jobs.resume(job);
  descent.sequences[0].step(4);
  assert.equal(job.state, "running");
});

Deno.test("a job that is cancelled ends its sequence, without a checkpoint, and stays cancelled", async () => {
  const descent = new Descent();
  const job = await descent.submit();
  descent.sequences[0].step(2);
  job.cancel();
  assert.equal(job.state, "cancelled");
  assert.ok(descent.sequences[0].over);
  assert.equal(job.attainedMicros, 2 * ITERATION_MICROS);
  await settled(job);
  assert.deepEqual(descent.written(), []);
  job.cancel();
  assert.equal(job.state, "cancelled");
  assert.deepEqual(await refused(() => job.pause()), [
    "conflict",
    `Job ${job.id} is cancelled and cannot be paused`,
  ]);
  assert.equal((await refused(() => job.resume()))[0], "conflict");
});

for (const [value, what] of [[Infinity, "-Infinity"], [NaN, "NaN"]] as const) {
  Deno.test(`a job whose metric is ${what} fails, and its last good checkpoint stays`, async () => {
    const descent = new Descent();
    const good = await descent.submit({ iterations: 1 });
    descent.sequences[0].step();
    await settled(good);
    const job = await descent.submit({ inputs: [rate(value)], iterations: 9 }, {
      model: "descent",
    });
    descent.sequences[1].step(9);
    await settled(job);
    assert.equal(job.state, "failed");
    assert.equal(job.error, `Metric 'loss' is ${what} after iteration 3: the model diverges`);
    assert.deepEqual(job.metrics.curves().iterations, [2]);
    assert.deepEqual(descent.written(), [1]);
  });
}

Deno.test("a job whose state is not finite fails instead of writing it, though its metrics are fine", async () => {
  const descent = new Descent();
  const job = await descent.submit({ inputs: [rate(NaN)], iterations: 1 });
  descent.sequences[0].step();
  await settled(job);
  assert.equal(
    job.error,
    "Carried input 'w' has values that are not finite after iteration 1: the model diverges",
  );
  assert.deepEqual(descent.written(), []);
});

Deno.test("a job that the engine ends has failed, with a checkpoint of what it had", async () => {
  const descent = new Descent();
  const job = await descent.submit();
  descent.sequences[0].step(7);
  descent.sequences[0].fail(new SluiceError("shutting_down", "The gateway is shutting down"));
  await descent.jobs.close();
  await settled(job);
  assert.equal(job.state, "failed");
  assert.equal(job.error, "The gateway is shutting down");
  assert.deepEqual(descent.written(), [7]);
});

Deno.test("a job that had no iteration of its own, or whose device failed, leaves no checkpoint", async () => {
  const descent = new Descent();
  const idle = await descent.submit();
  descent.sequences[0].fail(new SluiceError("not_ready", "unloaded"));
  const unlucky = await descent.submit();
  descent.sequences[1].step();
  descent.sequences[1].fail(new SluiceError("device_failed", "gone"));
  await Promise.all([settled(idle), settled(unlucky)]);
  assert.deepEqual([idle.state, unlucky.state], ["failed", "failed"]);
  assert.deepEqual(descent.written(), []);
});

Deno.test("jobs without memory wait, and begin in their order when others end", async () => {
  const descent = new Descent(1);
  const jobs = [
    await descent.submit({ iterations: 1 }),
    await descent.submit(),
    await descent.submit(),
  ];
  assert.deepEqual(jobs.map(({ state }) => state), ["running", "queued", "queued"]);
  descent.sequences[0].step();
  await settled(jobs[0]);
  assert.deepEqual(jobs.map(({ state }) => state), ["completed", "running", "queued"]);
});

Deno.test("jobs that wait are tried again every second, as others than jobs may give memory back", async () => {
  const descent = new Descent(1);
  await descent.submit();
  const waiting = await descent.submit();
  descent.clock.advanceTo(1_500_000);
  assert.equal(waiting.state, "queued");
  descent.sequences[0].over = true; // as if it had been another's
  descent.clock.advanceTo(1_999_999);
  assert.equal(waiting.state, "queued");
  descent.clock.advanceTo(2_000_000);
  assert.equal(waiting.state, "running");
});

Deno.test("a job that waits can be paused, which lets others past, and cancelled", async () => {
  const descent = new Descent(1);
  const [first, second, third] = [
    await descent.submit(),
    await descent.submit(),
    await descent.submit(),
  ];
  second.pause();
  assert.equal(second.state, "paused");
  first.cancel();
  assert.deepEqual([second.state, third.state], ["paused", "running"]);
  descent.jobs.resume(second);
  assert.equal(second.state, "queued");
  third.cancel();
  assert.equal(second.state, "running");
});

Deno.test("Jobs.submit() refuses what can never run, and keeps nothing of it", async () => {
  const others = [fakeModel("plain", [], []), descentModel("bare")];
  const descent = new Descent(Infinity, others);
  assert.equal((await refused(() => descent.submit({ model: "nobody" })))[0], "not_found");
  assert.deepEqual(await refused(() => descent.submit({ model: "plain" })), [
    "invalid_argument",
    "Model 'plain' keeps nothing from iteration to iteration; expected one whose manifest.json has " +
    '"carry"',
  ]);
  const missing = { model: "descent", version: 9 };
  assert.deepEqual(await refused(() => descent.submit({}, missing)), [
    "not_found",
    "There is no descent/9",
  ]);
  assert.deepEqual(await refused(() => descent.submit({ model: "bare" })), [
    "not_found",
    "No checkpoint could be written: There is no bare. With 'checkpoint_every' 0 the job writes none",
  ]);
  descent.store.checkWritable = () =>
    Promise.reject(new SluiceError("forbidden", "It is read-only"));
  assert.deepEqual(await refused(() => descent.submit()), [
    "forbidden",
    "No checkpoint could be written: It is read-only. With 'checkpoint_every' 0 the job writes none",
  ]);
  descent.store.checkWritable = () => Promise.resolve();
  descent.store.versions.push({ version: 2, bytes: scaleModel(2) });
  assert.match(
    (await refused(() => descent.submit()))[1],
    /^No checkpoint could be written: descent\/2: initialiser 'w' is missing/,
  );
  assert.deepEqual(descent.jobs.list(), []);
});

Deno.test("Jobs.submit() throws what the engine says of a job that it will not run", async () => {
  const descent = new Descent();
  descent.refusal = new SluiceError("invalid_argument", "unexpected inference input 'rat'");
  assert.deepEqual(await refused(() => descent.submit()), [
    "invalid_argument",
    "unexpected inference input 'rat'",
  ]);
  assert.deepEqual(descent.jobs.list(), []);
});

Deno.test("a job that waited fails when the engine will not run it any more, and others go on", async () => {
  const descent = new Descent(1);
  const first = await descent.submit();
  const waiting = [await descent.submit(), await descent.submit()];
  descent.refusal = new SluiceError("not_ready", "Model 'descent' is not at ready state");
  first.cancel();
  assert.deepEqual(waiting.map(({ state, error }) => [state, error]), [
    ["failed", "Model 'descent' is not at ready state"],
    ["failed", "Model 'descent' is not at ready state"],
  ]);
});

Deno.test("Jobs.submit() refuses a total that the checkpoint has reached already", async () => {
  const descent = new Descent();
  const first = await descent.submit({ iterations: 4 });
  descent.sequences[0].step(4);
  await settled(first);
  assert.deepEqual(await refused(() => descent.submit({ iterations: 4 }, { model: "descent" })), [
    "invalid_argument",
    "'iterations' is 4, but descent/2 has 4 already; expected more, as it counts those before the " +
    "resumption too",
  ]);
});

Deno.test("Jobs.submit() refuses more open jobs than it can keep", async () => {
  const descent = new Descent(1);
  for (let i = 0; i < MOST_OPEN; i++) await descent.submit();
  assert.deepEqual(await refused(() => descent.submit()), [
    "queue_full",
    `${MOST_OPEN} jobs are open, at most ${MOST_OPEN} may be; cancel one, or wait for its end`,
  ]);
  descent.jobs.list()[5].cancel();
  await descent.submit();
});

Deno.test("Jobs announces what was submitted, and how it ended", async () => {
  const descent = new Descent();
  const good = await descent.submit({ iterations: 1 });
  descent.sequences[0].step();
  await settled(good);
  const bad = await descent.submit({ inputs: [rate(NaN)] });
  descent.sequences[1].step(2);
  await settled(bad);
  assert.deepEqual(descent.announced, [
    `Job ${good.id} of 'descent' was submitted, up to iteration 1`,
    `Job ${good.id} of 'descent' completed after iteration 1`,
    `Job ${bad.id} of 'descent' was submitted, up to iteration 10`,
    `Job ${bad.id} of 'descent' failed after iteration 2: Metric 'loss' is NaN after iteration 2: ` +
    "the model diverges",
  ]);
});

Deno.test("Jobs forgets the jobs that ended first, beyond a thousand", async () => {
  const descent = new Descent();
  const cancelled = async () => {
    const job = await descent.submit({ checkpointEvery: 0 });
    job.cancel();
    return job;
  };
  const [open, long] = [await descent.submit(), await descent.submit()];
  const first = await cancelled();
  for (let i = 0; i < 997; i++) await cancelled();
  long.cancel();
  assert.equal(descent.jobs.list().length, 1000);
  const last = await cancelled();
  const kept = descent.jobs.list();
  assert.equal(kept.length, 1000);
  assert.deepEqual([kept[0], kept[1], kept.at(-1)], [open, long, last]);
  assert.ok(!kept.includes(first));
  assert.equal(descent.jobs.counts().get("cancelled"), 999);
});

Deno.test("a checkpoint is loaded where its model is, unless the job itself runs on that model", async () => {
  const trainer = descentModel("trainer");
  const descent = new Descent(Infinity, [
    { ...trainer, sequence: { ...trainer.sequence!, checkpoint: "descent" } },
  ]);
  const finish = async (model: string) => {
    const job = await descent.submit({ model, iterations: 1 });
    descent.sequences.at(-1)!.step();
    await settled(job);
    assert.equal(job.checkpoints!.kept[0].model, "descent");
    assert.equal(job.checkpoints!.fault, undefined);
  };
  await finish("descent");
  assert.deepEqual(descent.engine.loads, []);
  await finish("trainer");
  assert.deepEqual(descent.engine.loads.map(({ name }) => name), ["descent"]);
});
