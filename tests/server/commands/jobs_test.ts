import assert from "node:assert/strict";
import { EXIT } from "../../../server/commands/command.ts";
import { jobs } from "../../../server/commands/jobs.ts";
import { rate, settled } from "../jobs/descent.ts";
import { jobGateway } from "./job_gateway.ts";
import { RecordedIo } from "./recorded_io.ts";

async function run(url: string, ...flags: string[]): Promise<[number, RecordedIo]> {
  const io = new RecordedIo();
  return [await jobs(["--server", url, ...flags], io), io];
}

Deno.test("jobs shows every job, and below the table what went wrong", async () => {
  await using gateway = jobGateway();
  const { descent } = gateway;
  assert.equal((await run(gateway.url))[1].stdout, "There are no jobs\n");
  const done = await descent.submit({ iterations: 2, name: "first" });
  descent.sequences[0].step(2);
  await settled(done);
  const running = await descent.submit({ iterations: 200_000 });
  descent.sequences[1].step(50_000);
  const broken = await descent.submit({ inputs: [rate(NaN)] });
  descent.sequences[2].step(2);
  await settled(broken);
  const [code, { stdout }] = await run(gateway.url);
  assert.equal(code, EXIT.ok);
  const [head, ...lines] = stdout.split("\n").map((line) => line.trim().split(/ {2,}/));
  assert.deepEqual(
    head,
    ["ID", "NAME", "MODEL", "STATE", "ITERATIONS", "METRICS", "LEFT", "CHECKPOINT"],
  );
  assert.deepEqual(lines, [
    [done.id, "first", "descent/1", "completed", "2/2 (100 %)", "loss 6", "-", "descent/2"],
    [running.id, "-", "descent/1", "running", "50000/200000 (25 %)", "loss -200000", "3 min", "-"],
    [broken.id, "-", "descent/1", "failed", "2/10 (20 %)", "loss 10", "-", "-"],
    [""],
    [`${broken.id}: Metric 'loss' is NaN after iteration 2: the model diverges`],
    [""],
  ]);
});

Deno.test("jobs says once why a job's last checkpoint was not written", async () => {
  await using gateway = jobGateway();
  const { descent } = gateway;
  const job = await descent.submit({ iterations: 1 });
  descent.store.beforeAdd = () => Promise.reject(new Error("the disk is full"));
  descent.sequences[0].step();
  await settled(job);
  const [, { stdout }] = await run(gateway.url, job.id);
  assert.equal(stdout.split("Iteration 1 was not written: the disk is full").length, 2);
});

Deno.test("jobs shows one job, as text or as the server has it", async () => {
  await using gateway = jobGateway();
  const job = await gateway.descent.submit();
  gateway.descent.sequences[0].step(5);
  const [, { stdout }] = await run(gateway.url, job.id);
  assert.match(stdout, /^State {8}running, 0\.0 s left\nIterations {3}5\/10 \(50 %\)$/m);
  const [, json] = await run(gateway.url, job.id, "--json");
  assert.deepEqual(JSON.parse(json.stdout).curves.values.loss, [10, 6, 2, -2, -6]);
  const [, all] = await run(gateway.url, "--json");
  assert.equal(JSON.parse(all.stdout).length, 1);
});

Deno.test("jobs pauses, resumes and cancels", async () => {
  await using gateway = jobGateway();
  const job = await gateway.descent.submit();
  const state = async (flag: string) => {
    const [code, { stdout }] = await run(gateway.url, flag, job.id);
    assert.equal(code, EXIT.ok);
    return /^State +(\w+)/m.exec(stdout)?.[1];
  };
  assert.equal(await state("--pause"), "pausing");
  gateway.descent.sequences[0].step();
  assert.equal(job.state, "paused");
  assert.equal(await state("--resume"), "running");
  assert.equal(await state("--cancel"), "cancelled");
});

Deno.test("jobs refuses two things at once, and repeats what the server refuses", async () => {
  await using gateway = jobGateway();
  for (const flags of [["--pause", "a", "--cancel", "b"], ["a", "--resume", "a"]]) {
    const [code, { stderr }] = await run(gateway.url, ...flags);
    assert.equal(code, EXIT.usage);
    assert.equal(stderr, "Error: expected one of an id, --pause, --resume and --cancel\n");
  }
  const [code, { stderr }] = await run(gateway.url, "../../v2");
  assert.equal(code, EXIT.failed);
  assert.match(stderr, /refused: There is no job/);
});

Deno.test("jobs refuses an id that is empty, as of a variable that is not set", async () => {
  await using gateway = jobGateway();
  for (const flags of [[""], ["--cancel", ""]]) {
    const [code, { stderr }] = await run(gateway.url, ...flags);
    assert.equal(code, EXIT.usage);
    assert.equal(stderr, "Error: the id of the job is empty; deno task jobs shows all of them\n");
  }
});
