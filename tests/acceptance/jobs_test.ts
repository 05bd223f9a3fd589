/** Jobs in a gateway, over HTTP: a training that is as good as one outside, and survives. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { parseManifest } from "../../models/manifest.ts";
import { readInitializers } from "../../models/onnx/initializers.ts";
import expected from "../../models/starter/expected.json" with { type: "json" };
import trainings from "../../models/starter/expected_training.json" with { type: "json" };
import { DIGITS_TRAINING } from "../../models/starter/training.ts";
import type { Tensor } from "../../models/tensor.ts";
import { readNumbers } from "../../models/tensor_values.ts";
import { infer } from "../../server/commands/demo/client.ts";
import { GatewayProcess } from "../server/commands/gateway_process.ts";
import { jobEnded, jobOnce, jobsCall, train } from "./jobs_client.ts";
import { trainingRepository } from "./training_repository.ts";

/** As a share of the reference run's loss. */
const TOLERANCE = 1e-4;
const FOR_EVER = 1e9;
const CARRIED = new Set(Object.values(DIGITS_TRAINING.carry!));

const SAMPLES = expected.digits_dense.samples;
const PIXELS: Tensor = {
  name: "pixels",
  datatype: "FP32",
  shape: [SAMPLES.length, 64],
  data: new Uint8Array(Float32Array.from(SAMPLES.flatMap(({ values }) => values)).buffer),
};

/** How many held-out digits the gateway tells, and by how many steps the weights were trained. */
async function trained(server: string): Promise<{ right: number; steps: bigint }> {
  const [logits, steps] = await infer(server, "digits_trained", [PIXELS]);
  const scores = readNumbers("FP32", logits.data);
  const right = SAMPLES.filter(({ label }, row) => {
    const found = scores.slice(row * 10, row * 10 + 10);
    return found.indexOf(Math.max(...found)) === label;
  });
  return { right: right.length, steps: new BigInt64Array(steps.data.slice().buffer)[0] };
}

/** What a version of `digits_trained` keeps, by name. */
async function weights(folder: string, version: number): Promise<Map<string, Tensor>> {
  const file = join(folder, "digits_trained", String(version), "model.onnx");
  return readInitializers(await Deno.readFile(file), CARRIED, file);
}

Deno.test("jobs learn as the reference run does, side by side, and what they learn is served", async () => {
  await using repository = await trainingRepository();
  await using gateway = GatewayProcess.start("--repository", repository.path);
  const url = await gateway.serving;
  const before = await trained(url);
  assert.equal(before.steps, 0n);
  const jobs = await Promise.all(
    trainings.runs.map(({ learningRate, losses }) => train(url, learningRate, losses.length)),
  );
  for (const [i, { losses, accuracy }] of trainings.runs.entries()) {
    const { state, curves, metrics, checkpoints } = await jobEnded(url, jobs[i]);
    assert.equal(state, "completed");
    assert.deepEqual(curves.iterations, losses.map((_, step) => step + 1));
    for (const [step, loss] of losses.entries()) {
      const off = Math.abs(curves.values.loss[step] - loss) / loss;
      assert.ok(off <= TOLERANCE, `loss of step ${step}: ${curves.values.loss[step]}, not ${loss}`);
    }
    assert.ok(Math.abs(metrics.accuracy - accuracy) < TOLERANCE);
    assert.deepEqual(checkpoints.map(({ iterations }) => iterations), [losses.length]);
  }
  const after = await trained(url);
  assert.equal(after.steps, BigInt(trainings.runs[0].losses.length));
  assert.ok(after.right >= 8 && after.right > before.right, `${before.right}, then ${after.right}`);
});

Deno.test("a job that was killed and resumed gives the weights of one that ran through", async () => {
  await using repository = await trainingRepository();
  let killed: number, resumeFrom: string;
  {
    await using gateway = GatewayProcess.start("--repository", repository.path);
    const url = await gateway.serving;
    const job = await train(url, 0.1, FOR_EVER, { checkpoint_every: 200 });
    const { checkpoints } = await jobOnce(url, job, (now) => now.checkpoints.length > 0);
    gateway.kill("SIGKILL");
    killed = checkpoints[0].iterations;
    resumeFrom = `digits_trained/${checkpoints[0].version}`;
  }
  await using gateway = GatewayProcess.start("--repository", repository.path);
  const url = await gateway.serving;
  const total = killed + 60;
  const resumed = await jobEnded(url, await train(url, 0.1, total, { resume_from: resumeFrom }));
  assert.equal(resumed.state, "completed");
  assert.equal(resumed.curves.iterations[0], killed + 1);
  const whole = await train(url, 0.1, total);
  await jobsCall(url, "POST", `/${whole.id}/pause`);
  const paused = await jobOnce(url, whole, ({ state }) => state === "paused");
  assert.ok(paused.iterations_done < total, "the pause came too late to show anything");
  await jobsCall(url, "POST", `/${whole.id}/resume`);
  const [one, other] = await Promise.all([resumed, await jobEnded(url, whole)].map((job) => {
    const { iterations, version } = job.checkpoints.at(-1)!;
    assert.equal(iterations, total);
    return weights(repository.path, version);
  }));
  assert.equal(one.size, CARRIED.size);
  assert.deepEqual(one, other);
});

Deno.test("a job that diverges is stopped, and the last good checkpoint is served on", async () => {
  await using repository = await trainingRepository();
  await using gateway = GatewayProcess.start("--repository", repository.path);
  const url = await gateway.serving;
  const job = await jobEnded(url, await train(url, 1e4, FOR_EVER, { checkpoint_every: 1 }));
  assert.equal(job.state, "failed");
  assert.match(
    job.error!,
    /^(Metric 'loss' is NaN|Carried input '\w+' has values that are not finite) after iteration \d+: /,
  );
  const { iterations, version } = job.checkpoints.at(-1)!;
  assert.ok(iterations < job.iterations_done);
  for (const { datatype, data } of (await weights(repository.path, version)).values()) {
    if (datatype === "FP32") assert.ok(readNumbers(datatype, data).every(Number.isFinite));
  }
  assert.equal((await trained(url)).steps, BigInt(iterations));
});

Deno.test("a gateway that stops writes a checkpoint of the jobs that run", async () => {
  await using repository = await trainingRepository();
  await using gateway = GatewayProcess.start("--repository", repository.path);
  const url = await gateway.serving;
  const job = await train(url, 0.1, FOR_EVER);
  await jobOnce(url, job, ({ iterations_done }) => iterations_done > 10);
  gateway.kill("SIGTERM");
  assert.equal(await gateway.exitCode(), 0);
  const manifest = join(repository.path, "digits_trained", "manifest.json");
  const { versions } = parseManifest(await Deno.readTextFile(manifest), manifest);
  const origin = versions?.["2"]?.job;
  assert.equal(origin?.id, job.id);
  const { step } = Object.fromEntries(await weights(repository.path, 2));
  assert.equal(new BigInt64Array(step.data.buffer)[0], BigInt(origin!.iterations));
});
