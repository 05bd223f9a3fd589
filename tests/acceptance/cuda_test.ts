/**
 * A gateway on the cuda device, over HTTP: it answers as one on the CPU does, every byte of the
 * device has a name, and unloading gives all of them back.
 */
import assert from "node:assert/strict";
import { DENSE_DIGITS, STARTERS } from "../../models/starter/starters.ts";
import type { Tensor } from "../../models/tensor.ts";
import { readNumbers } from "../../models/tensor_values.ts";
import { infer } from "../../server/commands/demo/client.ts";
import { fetchStarters } from "../../server/commands/demo/fetch.ts";
import { resolveConfig } from "../../server/config.ts";
import { startGateway } from "../../server/main.ts";
import { GatewayClient } from "../../server/commands/gateway_client.ts";
import { randomTensor } from "../../models/random_tensor.ts";
import { seededRandom } from "../../models/random.ts";
import { scaleModel } from "../fixtures/onnx.ts";
import { repositoryWith } from "../fixtures/repository.ts";
import { softwareGpu, softwareGpuTest } from "../fixtures/software_gpu.ts";
import { GatewayProcess } from "../server/commands/gateway_process.ts";

const CHUNK = 2 << 20;
const TOLERANCE = 1e-5;
/** The CPU's Sigmoid ends with an addition of 0.5, so that what comes near 0 keeps its rounding. */
const SIGMOID_ROUNDING = 2 ** -23;
/** For each model, beside its sample. */
const REQUESTS = 200, MOST_ROWS = 33;
const CONCURRENT = 48;
const ILLEGAL_ADDRESS = 700;

const wakeWord = STARTERS.find(({ name }) => name === "wake_word")!;
const convolutional = STARTERS.find(({ name }) => name === "digits")!;
const DENSE = [DENSE_DIGITS, wakeWord];

Deno.test({
  name: "dense models on the cuda device answer as on the CPU, and give all memory back",
  ignore: softwareGpu === undefined,
  async fn(t) {
    await using repository = await repositoryWith({});
    await fetchStarters([...DENSE, convolutional], repository.path, new AbortController().signal);
    await using cpu = GatewayProcess.start("--repository", repository.path, "--device", "cpu");
    const expectedOf = await cpu.serving;
    const requests = DENSE.flatMap((starter) => requestsOf(starter.name, starter.samples[0]));
    const cases = await Promise.all(requests.map(async (request) => ({
      ...request,
      expected: await infer(expectedOf, request.model, request.inputs),
    })));
    cpu.kill("SIGTERM");
    await cpu.exitCode();

    await using gateway = GatewayProcess.start(
      ...["--repository", repository.path, "--memory", "64MiB"],
      ...["--device", "cuda", "--cuda-driver", softwareGpu!.path],
    );
    const url = await gateway.serving;
    const client = new GatewayClient(url);
    const overhead = await held(client, "overhead");

    await t.step(
      "a convolutional one is refused by name, and keeps nobody from being served",
      () => {
        assert.match(gateway.stderr, /Serving 2 models on cuda at /);
        assert.match(
          gateway.stderr,
          /Model 'digits' was not loaded: Model "digits" version 1: operator Conv \(node "[^"]+"\) is not one that the cuda device runs; --device cpu does\n/,
        );
      },
    );

    await t.step("loading leaves nothing behind but the models", async () => {
      assert.doesNotMatch(await client.metrics(), /^sluice_memory_bytes\{model="",class="host"\}/m);
    });

    await t.step("alone and at once, in batches of any size", async () => {
      for (const one of cases) check(await infer(url, one.model, one.inputs), one);
      const sent = Array.from(
        { length: CONCURRENT },
        (_, i) => cases[Math.floor(i * cases.length / CONCURRENT)],
      );
      await Promise.all(sent.map(async (one) => {
        check(await infer(url, one.model, one.inputs), one);
      }));
    });

    await t.step("statistics and metrics name what it holds", async () => {
      for (const { name, memory_usage } of await client.statistics()) {
        assert.deepEqual(memory_usage, [
          { type: "persistent", id: 0, byte_size: CHUNK },
          { type: "ephemeral", id: 0, byte_size: CHUNK },
        ], name);
      }
      assert.equal(await held(client, "persistent"), 2 * CHUNK);
      assert.ok(await held(client, "ephemeral") >= CHUNK);
      assert.ok(await held(client, "host") > 0);
    });

    await t.step("unloading gives all back", async () => {
      for (const { name } of DENSE) await client.unload(name);
      for (const kind of ["persistent", "ephemeral", "host"]) {
        assert.equal(await held(client, kind), 0, kind);
      }
      assert.equal(await held(client, "overhead"), overhead);
    });
    gateway.kill("SIGTERM");
    assert.equal(await gateway.exitCode(), 0, gateway.stderr);
  },
});

softwareGpuTest(
  "a fault of the GPU is told to whoever asks, and the gateway is no longer ready",
  async (gpu) => {
    await using repository = await repositoryWith({ "scale/1/model.onnx": scaleModel() });
    const reports: string[] = [];
    const config = resolveConfig({
      port: 0,
      repository: repository.path,
      device: "cuda",
      cudaDriver: gpu.path,
      memory: "64MiB",
    });
    const { url, shutdown } = await startGateway(config, (line) => reports.push(line));
    const ready = async () => {
      const response = await fetch(`${url}/v2/health/ready`);
      await response.body?.cancel();
      return response.status;
    };
    const input = {
      name: "x",
      datatype: "FP32",
      shape: [1, 4],
      data: new Uint8Array(16),
    } as const;
    await infer(url, "scale", [input]);
    assert.equal(await ready(), 200);
    gpu.control.inject("cuEventQuery", 1, ILLEGAL_ADDRESS);
    for (let i = 0; i < 2; i++) {
      await assert.rejects(infer(url, "scale", [input]), /CUDA_ERROR_ILLEGAL_ADDRESS/);
    }
    assert.equal(await ready(), 503);
    assert.equal(reports.filter((line) => line.startsWith("Device cuda: ")).length, 1);
    await shutdown();
    gpu.control.reset(); // as the end of the process would
  },
);

/** A model's sample, and random ones, of more rows where it takes them. */
function requestsOf(model: string, [sample]: readonly Tensor[]) {
  const random = seededRandom(2);
  const mostRows = model === DENSE_DIGITS.name ? MOST_ROWS : 1;
  const drawn = Array.from({ length: REQUESTS }, () => {
    const rows = 1 + Math.floor(random() * mostRows);
    return randomTensor({ ...sample, shape: [rows, ...sample.shape.slice(1)] }, random);
  });
  return [sample, ...drawn].map((input) => ({ model, inputs: [input] }));
}

function check(
  given: readonly Tensor[],
  { model, expected }: { readonly model: string; readonly expected: readonly Tensor[] },
): void {
  assert.deepEqual(given.map(({ shape }) => shape), expected.map(({ shape }) => shape));
  const rounding = model === wakeWord.name ? SIGMOID_ROUNDING : 0;
  for (const [i, { name, datatype, data }] of given.entries()) {
    assert.equal(datatype, "FP32", name);
    const wanted = readNumbers("FP32", expected[i].data);
    const largest = Math.max(...wanted.map(Math.abs));
    for (const [at, value] of readNumbers("FP32", data).entries()) {
      const difference = Math.abs(value - wanted[at]);
      assert.ok(
        difference <= TOLERANCE * largest + rounding,
        `${model}: ${name}[${at}] is ${value}, on the CPU ${wanted[at]}`,
      );
    }
  }
}

/** Bytes of one class on the device, as the statistics name them; the metrics say the same. */
async function held(client: GatewayClient, kind: string): Promise<number> {
  const response = await fetch(`${client.url}/v2/models/stats`);
  const { device_memory }: { device_memory: { type: string; byte_size: number }[] } = await response
    .json();
  const bytes = device_memory.filter(({ type }) => type === kind)
    .reduce((sum, { byte_size }) => sum + byte_size, 0);
  const pattern = new RegExp(
    `^sluice_memory_bytes\\{model="[^"]*",class="${kind}"\\} (\\d+)$`,
    "gm",
  );
  const samples = (await client.metrics()).matchAll(pattern);
  assert.equal(samples.reduce((sum, [, sample]) => sum + Number(sample), 0), bytes, kind);
  return bytes;
}
