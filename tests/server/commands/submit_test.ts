import assert from "node:assert/strict";
import { EXIT } from "../../../server/commands/command.ts";
import { followJob } from "../../../server/commands/follow_job.ts";
import { GatewayClient, type JobEntry } from "../../../server/commands/gateway_client.ts";
import { submit } from "../../../server/commands/submit.ts";
import { settled, valuesOf } from "../jobs/descent.ts";
import { jobGateway } from "./job_gateway.ts";
import { RecordedIo } from "./recorded_io.ts";

async function run(url: string, ...flags: string[]): Promise<[number, RecordedIo]> {
  const io = new RecordedIo();
  return [await submit(["descent", "--server", url, ...flags], io), io];
}

Deno.test("submit hands a job over with all its flags, and shows it", async () => {
  await using gateway = jobGateway();
  const flags = ["--iterations", "40", "--input", "rate=0.5", "--version", "1", "--name", "try"];
  const more = ["--priority", "2", "--tenant", "lab", "--checkpoint-every", "10"];
  const [code, { stdout }] = await run(gateway.url, ...flags, ...more);
  assert.equal(code, EXIT.ok);
  const [job] = gateway.descent.jobs.list();
  const { inputs, ...request } = job.request;
  assert.deepEqual(request, {
    model: "descent",
    version: "1",
    name: "try",
    iterations: 40,
    priority: 2,
    tenant: "lab",
    checkpointEvery: 10,
  });
  assert.deepEqual(inputs.map(valuesOf), [[0.5]]);
  assert.equal(
    stdout,
    `Job          ${job.id} (try)\nModel        descent/1\nState        running\n` +
      `Iterations   0/40 (0 %)\nTime         0.0 s, of it 0.0 s on the device\n` +
      `Metrics      -\nCheckpoints  -\n`,
  );
});

Deno.test("submit --json prints the job as the server has it", async () => {
  await using gateway = jobGateway();
  const flags = ["--iterations", "4", "--input", "rate=1", "--no-checkpoints"];
  const [, { stdout }] = await run(gateway.url, ...flags, "--json");
  const [job] = gateway.descent.jobs.list();
  assert.equal(JSON.parse(stdout).id, job.id);
  assert.equal(job.request.checkpointEvery, 0);
});

Deno.test("submit --resume-from goes on from a checkpoint", async () => {
  await using gateway = jobGateway();
  const flags = ["--iterations", "4", "--input", "rate=1", "--resume-from", "descent/1"];
  assert.equal((await run(gateway.url, ...flags))[0], EXIT.ok);
  assert.notEqual(gateway.descent.sequences[0].request.initial, undefined);
});

const WRONG: readonly [string, string[], string][] = [
  ["no iterations", ["--input", "rate=1"], "Required option '--iterations <n>' not specified"],
  [
    "iterations of 0",
    ["--iterations", "0"],
    '--iterations is "0"; expected a whole number, 1 or more',
  ],
  [
    "a version that is none",
    ["--iterations", "1", "--version", "new"],
    '--version is "new"; expected a whole number, 1 or more',
  ],
  [
    "checkpoints that shall be written and not",
    ["--iterations", "1", "--checkpoint-every", "1", "--no-checkpoints"],
    "--checkpoint-every and --no-checkpoints are both given; expected one",
  ],
  [
    "an input without a value",
    ["--iterations", "1", "--input", "rate"],
    '--input is "rate"; expected name=value,... such as rate=0.1',
  ],
  [
    "an input that the model lacks",
    ["--iterations", "1", "--input", "rat=1"],
    '--input names "rat"; descent has rate, w; did you mean "rate"?',
  ],
  [
    "a value that is none",
    ["--iterations", "1", "--input", "rate=fast"],
    '--input gives rate the value "fast"; expected a number',
  ],
];

for (const [what, flags, message] of WRONG) {
  Deno.test(`submit refuses ${what}`, async () => {
    await using gateway = jobGateway();
    const [code, { stderr }] = await run(gateway.url, ...flags);
    assert.equal(stderr, `Error: ${message}\n`);
    assert.equal(code, EXIT.usage);
    assert.deepEqual(gateway.descent.jobs.list(), []);
  });
}

Deno.test("submit repeats why the server refuses a job", async () => {
  await using gateway = jobGateway();
  const flags = ["--iterations", "1", "--input", "rate=1", "--resume-from", "descent/9"];
  const [code, { stderr }] = await run(gateway.url, ...flags);
  assert.equal(code, EXIT.failed);
  assert.equal(stderr, `Error: ${gateway.url} refused: There is no descent/9\n`);
});

async function follow(rate: string): Promise<[number, RecordedIo]> {
  await using gateway = jobGateway();
  const { descent } = gateway;
  gateway.onLook = () => descent.sequences[0].step(2);
  return await run(gateway.url, "--iterations", "4", "--input", `rate=${rate}`, "--follow");
}

Deno.test("submit --follow watches a job to its end, and fails when the job does", async () => {
  const [code, { stdout, stderr }] = await follow("1");
  assert.equal(code, EXIT.ok);
  assert.match(stderr, /^Job \w{12} running: 0\/4 \(0 %\), -\n$/);
  assert.match(stdout, /^State {8}completed\nIterations {3}4\/4 \(100 %\)$/m);
  assert.match(stdout, /^Metrics {6}loss -2\nCheckpoints {2}descent\/2$/m);
  const [failed, diverged] = await follow("1e39");
  assert.equal(failed, EXIT.failed);
  assert.match(
    diverged.stdout,
    /\n\nMetric 'loss' is -Infinity after iteration 2: the model diverges\n$/,
  );
});

Deno.test("followJob() leaves a job alone at a stop signal", async () => {
  await using gateway = jobGateway();
  const job = await gateway.descent.submit();
  const io = new RecordedIo();
  const client = new GatewayClient(gateway.url);
  const following = followJob(client, await client.job(job.id), io, 1e6);
  await io.wrote(`Job ${job.id} running: `);
  io.stop();
  assert.equal((await following).state, "running");
  assert.equal(job.state, "running");
  job.cancel();
  await settled(job);
});

Deno.test("followJob() ends at a stop signal while the gateway does not answer", async () => {
  await using gateway = jobGateway();
  const { id } = await gateway.descent.submit();
  const submitted = await new GatewayClient(gateway.url).job(id);
  const asked = Promise.withResolvers<void>();
  class HungGateway extends GatewayClient {
    override job(): Promise<JobEntry> {
      asked.resolve();
      return new Promise(() => {});
    }
  }
  const io = new RecordedIo();
  const following = followJob(new HungGateway(gateway.url), submitted, io, 0);
  await asked.promise;
  io.stop();
  assert.equal(await following, submitted);
});
