/** The voice detectors with their state on the device: chunk by chunk, as a sound comes in. */
import assert from "node:assert/strict";
import { STARTERS } from "../../models/starter/starters.ts";
import { elementCount } from "../../models/tensor.ts";
import { fetchStarters } from "../../server/commands/demo/fetch.ts";
import { resolveConfig } from "../../server/config.ts";
import { startGateway } from "../../server/main.ts";
import { seededValues } from "../fixtures/onnx.ts";
import { repositoryWith } from "../fixtures/repository.ts";

const CHUNK = 512;
const CHUNKS = 8;
const TOLERANCE = 1e-6;

type Values = readonly number[];
/** The state that a sound begins with. */
const SILENCE: Values = new Array(256).fill(0);

type Outputs = Readonly<Record<string, Values>>;

/** A sound in chunks, louder and louder, so that what came before matters. */
function sound(seed: number): Values[] {
  const samples = [...seededValues(seed, CHUNK * CHUNKS)].map((value, i) => value * i / 5000);
  return Array.from({ length: CHUNKS }, (_, i) => samples.slice(i * CHUNK, (i + 1) * CHUNK));
}

Deno.test("the voice detectors hear the same with their state on the device as with it sent to and fro", async (t) => {
  await using repository = await repositoryWith({});
  const starters = STARTERS.filter(({ name }) => name.startsWith("silero_vad"));
  assert.equal(starters.length, 2);
  await fetchStarters(starters, repository.path, new AbortController().signal);
  const config = resolveConfig({ port: 0, repository: repository.path, device: "cpu" });
  const gateway = await startGateway(config);
  await using _ = { [Symbol.asyncDispose]: () => gateway.shutdown().then(() => {}) };

  const ask = async (
    model: string,
    chunk: Values,
    parameters: Readonly<Record<string, unknown>>,
    state?: Values,
  ): Promise<Response> => {
    const fp32 = (name: string, shape: readonly number[], data: Values) => {
      assert.equal(data.length, elementCount(shape));
      return { name, shape, datatype: "FP32", data };
    };
    return await fetch(`${gateway.url}/v2/models/${model}/infer`, {
      method: "POST",
      body: JSON.stringify({
        parameters,
        inputs: [
          fp32("input", [1, CHUNK], chunk),
          { name: "sr", shape: [], datatype: "INT64", data: [16000] },
          ...state === undefined ? [] : [fp32("state", [2, 1, 128], state)],
        ],
      }),
    });
  };
  const hear = async (...given: Parameters<typeof ask>): Promise<Outputs> => {
    const response = await ask(...given);
    assert.equal(response.status, 200, response.ok ? "" : await response.clone().text());
    const { outputs }: { readonly outputs: readonly { name: string; data: Values }[] } =
      await response.json();
    return Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
  };

  for (const { name } of starters) {
    await t.step(name, async () => {
      const sounds = [sound(1), sound(2)];
      const expected: number[][] = [];
      for (const chunks of sounds) {
        let state = SILENCE;
        let most = 0;
        const heard: number[] = [];
        for (const chunk of chunks) {
          const { output, stateN } = await hear(name, chunk, {}, state);
          const forgetful = await hear(name, chunk, {}, SILENCE);
          most = Math.max(most, Math.abs(output[0] - forgetful.output[0]));
          heard.push(output[0]);
          state = stateN;
        }
        assert.ok(most > 100 * TOLERANCE, `what came before matters: ${most}`);
        expected.push(heard);
      }
      for (const round of ["first", "again under the same names"]) {
        const heard: number[][] = [[], []];
        for (let i = 0; i < CHUNKS; i++) {
          // Of numbers and strings each is a name of its own.
          const answers = await Promise.all(
            [7, "7"].map((sequence_id, which) =>
              hear(name, sounds[which][i], { sequence_id, sequence_start: i === 0 })
            ),
          );
          answers.forEach((answer, which) => {
            assert.deepEqual(Object.keys(answer), ["output"]);
            heard[which].push(answer.output[0]);
          });
        }
        heard.flat().forEach((value, i) => {
          const difference = Math.abs(value - expected.flat()[i]);
          assert.ok(difference <= TOLERANCE, `${round}, chunk ${i}: ${difference}`);
        });
        assert.equal(gateway.engine.find(name).openSequences, 2);
      }
      for (const sequence_id of [7, "7"]) {
        await hear(name, sounds[0][0], { sequence_id, sequence_end: true });
        const refused = await ask(name, sounds[0][0], { sequence_id });
        assert.equal(refused.status, 400);
        assert.match((await refused.json()).error, /sequence 7 .*must specify the START flag/);
      }
      const { openSequences, stateBytes } = gateway.engine.find(name);
      assert.deepEqual([openSequences, stateBytes], [0, 0]);
    });
  }
});
