/** All starter models in one gateway, over HTTP: every answer is the one that ONNX Runtime gives. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type Starter, STARTERS } from "../../models/starter/starters.ts";
import type { Tensor } from "../../models/tensor.ts";
import { relativeDifference } from "../../models/tensor_difference.ts";
import { infer } from "../../server/commands/demo/client.ts";
import { GatewayClient } from "../../server/commands/gateway_client.ts";
import { seededValues } from "../fixtures/onnx.ts";
import { nodeApiAnswers } from "../models/cpu/node_api.ts";
import { GatewayProcess } from "../server/commands/gateway_process.ts";
import { inferJson } from "./json_client.ts";
import { starterRepository } from "./starter_repository.ts";

/** Requests beside a model's samples, so that the answers of neighbours in a batch differ. */
const VARIATIONS = 4;
const CONCURRENT = 64;
const ROUNDS = 4;
/** As a share of the largest value; integers have to be equal. */
const TOLERANCE = 1e-5;

interface Case {
  readonly model: string;
  readonly request: readonly Tensor[];
  readonly expected: readonly Tensor[];
}

Deno.test("nine starter models answer as ONNX Runtime does, alone and under 64 mixed requests", async (t) => {
  await using repository = await starterRepository();
  const cases: Case[] = [];
  for (const starter of STARTERS) cases.push(...await casesOf(starter, repository.path));
  await using gateway = GatewayProcess.start("--repository", repository.path);
  const url = await gateway.serving;

  await t.step("all are ready at once", async () => {
    const index = await new GatewayClient(url).index();
    assert.deepEqual(
      index.map(({ name, state }) => [name, state]),
      STARTERS.map(({ name }) => [name, "READY"]).sort(),
    );
  });
  for (const { name } of STARTERS) {
    await t.step(`alone: ${name}`, async () => {
      for (const one of cases.filter(({ model }) => model === name)) {
        check(one, await infer(url, name, one.request));
        check(one, await inferJson(url, name, one.request));
      }
    });
  }
  await t.step("64 at once, binary and JSON", async () => {
    const drawn = Array.from(
      seededValues(1, ROUNDS * CONCURRENT),
      (value) => cases[Math.floor((value + 1) / 2 * cases.length)],
    );
    for (let round = 0; round < ROUNDS; round++) {
      const sent = drawn.slice(round * CONCURRENT, (round + 1) * CONCURRENT);
      await Promise.all(sent.map(async (one, i) => {
        const ask = i % 2 === 0 ? infer : inferJson;
        check(one, await ask(url, one.model, one.request));
      }));
    }
  });
});

/** A starter's samples and variations of the first one, with the answers that are due. */
async function casesOf(starter: Starter, repository: string): Promise<Case[]> {
  const [sample] = starter.samples;
  const requests = [
    ...starter.samples,
    ...Array.from({ length: VARIATIONS }, (_, i) => sample.map((tensor) => varied(tensor, i))),
  ];
  const model = await Deno.readFile(join(repository, starter.name, "1", "model.onnx"));
  const answers = await nodeApiAnswers(model, requests);
  return requests.map((request, i) => ({
    model: starter.name,
    request,
    expected: answers[i],
  }));
}

/** Other values of the same size; integers say what the values are and stay. */
function varied(tensor: Tensor, seed: number): Tensor {
  if (tensor.datatype !== "FP32") return tensor;
  const values = new Float32Array(tensor.data.slice().buffer);
  const factors = [...seededValues(seed, values.length)];
  const data = new Uint8Array(values.map((value, i) => (value || 1) * factors[i]).buffer);
  return { ...tensor, data };
}

function check({ model, expected }: Case, answer: readonly Tensor[]): void {
  const declared = (tensors: readonly Tensor[]) =>
    tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape: [...shape] }));
  assert.deepEqual(declared(answer), declared(expected), model);
  for (const [i, { name, datatype, data }] of answer.entries()) {
    const difference = relativeDifference(datatype, data, expected[i].data);
    assert.ok(difference <= TOLERANCE, `${model}: ${name} differs by ${difference}`);
  }
}
