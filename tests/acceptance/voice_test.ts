/** The voice detectors over HTTP: the state that the server carries is the one a client would. */
import assert from "node:assert/strict";
import { STARTERS } from "../../models/starter/starters.ts";
import type { Tensor } from "../../models/tensor.ts";
import { relativeDifference } from "../../models/tensor_difference.ts";
import { fetchStarters } from "../../server/commands/demo/fetch.ts";
import { resolveConfig } from "../../server/config.ts";
import { startGateway } from "../../server/main.ts";
import { seededValues } from "../fixtures/onnx.ts";
import { repositoryWith } from "../fixtures/repository.ts";
import { inferJson } from "./json_client.ts";

const DETECTORS = STARTERS.filter(({ name }) => name.startsWith("silero_vad"));
const SOUNDS = 4;
const CHUNKS = 12;
const TOLERANCE = 1e-4;

function chunk(sound: number, index: number): Tensor {
  const loud = (index + 1) / CHUNKS;
  const values = [...seededValues(sound * CHUNKS + index, 512)].map((value) => loud * value);
  const data = new Uint8Array(Float32Array.from(values).buffer);
  return { name: "input", datatype: "FP32", shape: [1, 512], data };
}

Deno.test("voice detectors hear sounds in sequences as with the state carried by hand", async (t) => {
  await using repository = await repositoryWith({});
  await fetchStarters(DETECTORS, repository.path, new AbortController().signal);
  const config = resolveConfig({ port: 0, repository: repository.path, device: "cpu" });
  const gateway = await startGateway(config);
  await using _ = { [Symbol.asyncDispose]: () => gateway.shutdown().then(() => {}) };

  for (const { name, samples: [sample] } of DETECTORS) {
    const silence = sample.find((tensor) => tensor.name === "state")!;
    const rate = sample.find((tensor) => tensor.name === "sr")!;

    const byHand = async (sound: number): Promise<Tensor[]> => {
      const heard: Tensor[] = [];
      let state = silence;
      for (let index = 0; index < CHUNKS; index++) {
        const inputs = [chunk(sound, index), state, rate];
        const [output, next] = await inferJson(gateway.url, name, inputs);
        heard.push(output);
        state = { ...next, name: state.name };
      }
      return heard;
    };
    const inSequence = async (sound: number): Promise<Tensor[]> => {
      const heard: Tensor[] = [];
      for (let index = 0; index < CHUNKS; index++) {
        const outputs = await inferJson(gateway.url, name, [chunk(sound, index), rate], {
          sequence_id: sound + 1,
          sequence_start: index === 0,
          sequence_end: index === CHUNKS - 1,
        });
        assert.deepEqual(outputs.map((output) => output.name), ["output"]);
        heard.push(outputs[0]);
      }
      return heard;
    };

    await t.step(name, async () => {
      const sounds = Array.from({ length: SOUNDS }, (_, sound) => sound);
      const together = await Promise.all(sounds.map(inSequence));
      for (const sound of sounds) {
        const alone = await byHand(sound);
        for (const [index, { datatype, data }] of together[sound].entries()) {
          const difference = relativeDifference(datatype, data, alone[index].data);
          assert.ok(difference <= TOLERANCE, `sound ${sound}, chunk ${index}: ${difference}`);
        }
      }
    });
  }
});
