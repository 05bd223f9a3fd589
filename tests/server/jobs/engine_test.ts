/** Jobs on the real engine, in virtual time. */
import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { Tensor } from "../../../models/tensor.ts";
import type { Job } from "../../../server/jobs/job.ts";
import { Jobs } from "../../../server/jobs/jobs.ts";
import { input, openVirtualEngine, sequenceModel, type VirtualEngine } from "../engine/fixture.ts";
import { refused, settled } from "./descent.ts";
import { NO_CHECKPOINTS } from "./fake_checkpoints.ts";

function jobsOf({ engine, clock }: VirtualEngine): Jobs {
  return new Jobs({ engine, clock, checkpoints: NO_CHECKPOINTS });
}

function submit(jobs: Jobs, iterations: number, inputs: readonly Tensor[] = [input(1, 1)]) {
  const rest = { model: "s", name: "", priority: 0, checkpointEvery: 0 };
  return jobs.submit({ ...rest, iterations, inputs });
}

/** Lets time pass until it is done. */
async function whileTimePasses({ clock }: VirtualEngine, work: Promise<void>): Promise<void> {
  let isDone = false;
  const done = work.finally(() => isDone = true);
  while (!isDone) {
    clock.advanceTo(clock.nowMicros() + 1000);
    await setImmediate();
  }
  await done;
}

Deno.test("jobs for whose state there is no memory are run when there is, one after another", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { memoryBytes: 1060 });
  const jobs = jobsOf(sluice);
  const all: Job[] = [];
  for (const iterations of [5, 5, 5, 5, 5]) all.push(await submit(jobs, iterations));
  assert.deepEqual(
    all.map(({ state }) => state),
    ["running", "running", "queued", "queued", "queued"],
  );
  for (const job of all) {
    while (!job.isOver) {
      sluice.clock.advanceTo(sluice.clock.nowMicros() + 100_000);
      await settled(job);
    }
  }
  assert.deepEqual(all.map(({ state }) => state), all.map(() => "completed"));
  assert.deepEqual(all.map(({ iterationsDone }) => iterationsDone), [5, 5, 5, 5, 5]);
  const { stateBytes, statistics } = sluice.engine.find("s");
  assert.equal(stateBytes, 0);
  assert.equal(statistics.failures.REJECTED, 0, "to wait is not to be refused");
});

Deno.test("a job is paused between two iterations for as long as it takes, and goes on", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")]);
  const job = await submit(jobsOf(sluice), 1000);
  const pass = (micros: number) => sluice.clock.advanceTo(sluice.clock.nowMicros() + micros);
  while (job.iterationsDone < 10) pass(100);
  const { iterationsDone } = job;
  job.pause();
  pass(3600e6);
  assert.equal(job.state, "paused");
  assert.ok(job.iterationsDone <= iterationsDone + 1);
  job.resume();
  pass(10e6);
  await settled(job);
  assert.equal(job.state, "completed");
});

Deno.test("a job whose model is unloaded has failed, and so has one whose gateway stops", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")]);
  const jobs = jobsOf(sluice);
  const first = await submit(jobs, 1e9);
  sluice.clock.advanceTo(10_000);
  await whileTimePasses(sluice, sluice.engine.unload("s"));
  await settled(first);
  assert.equal(first.error, "Model 's/1' was unloaded");
  await sluice.engine.load("s");
  const second = await submit(jobs, 1e9);
  await whileTimePasses(sluice, sluice.engine.drain(1e6));
  await jobs.close();
  assert.equal(second.state, "failed");
  assert.equal(second.error, "The gateway is shutting down");
  assert.deepEqual(await refused(() => submit(jobs, 1)), [
    "shutting_down",
    "The gateway is shutting down and takes no requests",
  ]);
});

Deno.test("the inputs of a job are checked at once, also where it would have to wait", async () => {
  await using sluice = await openVirtualEngine([sequenceModel("s")], { memoryBytes: 1060 });
  const jobs = jobsOf(sluice);
  for (let i = 0; i < 3; i++) await submit(jobs, 1e9);
  const [code, message] = await refused(() => submit(jobs, 1, [input(2, 1)]));
  assert.equal(code, "invalid_argument");
  assert.match(message, /has one row, but this one for model 's' has 2/);
  const carried = { ...input(1, 1), name: "s", shape: [1, 4] };
  assert.equal(
    (await refused(() => submit(jobs, 1, [input(1, 1), carried])))[0],
    "invalid_argument",
  );
  assert.equal(jobs.list().length, 3);
});
