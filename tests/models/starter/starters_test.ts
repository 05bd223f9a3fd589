import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import ort from "onnxruntime-node";
import expected from "../../../models/starter/expected.json" with { type: "json" };
import {
  DENSE_DIGITS,
  type Starter,
  STARTERS,
  starterSource,
} from "../../../models/starter/starters.ts";
import { byteLength } from "../../../models/tensor.ts";

const CLASSIFIERS = [...STARTERS, DENSE_DIGITS].filter(({ source, labels }) =>
  !source.startsWith("npm:") && labels !== undefined
);

Deno.test("STARTERS names nine models, each once", () => {
  assert.equal(new Set(STARTERS.map(({ name }) => name)).size, 9);
  assert.equal(STARTERS.length, 9);
});

Deno.test("starterSource() gives an exact npm version or a file that is there", async () => {
  for (const starter of [...STARTERS, DENSE_DIGITS]) {
    const source = starterSource(starter);
    if (source.startsWith("npm:")) {
      assert.match(source, /^npm:(@[a-z0-9-]+\/)?[a-z0-9-]+@\d+\.\d+\.\d+\/.+\.onnx$/);
    } else {
      assert.ok((await Deno.stat(new URL(source))).isFile, source);
    }
  }
});

Deno.test("Starter.samples have as many bytes as their shapes say", () => {
  for (const { name, samples } of [...STARTERS, DENSE_DIGITS]) {
    assert.ok(samples.length > 0, name);
    for (const { datatype, shape, data } of samples.flat()) {
      assert.equal(data.byteLength, byteLength(datatype, shape), name);
    }
  }
});

/** Scores of one sample by ONNX Runtime itself. */
async function scores(starter: Starter, values: readonly number[]): Promise<number[]> {
  const session = await ort.InferenceSession.create(fileURLToPath(starterSource(starter)), {
    intraOpNumThreads: 1,
  });
  const [{ name, shape }] = starter.samples[0];
  const outputs = await session.run({
    [name]: new ort.Tensor("float32", Float32Array.from(values), shape),
  });
  await session.release();
  return [...outputs[Object.keys(starter.labels!)[0]].data as Float32Array];
}

for (const starter of CLASSIFIERS) {
  Deno.test(`${starter.source} tells its held-out samples`, async () => {
    const { samples } = new Map(Object.entries(expected)).get(starter.source.replace(".onnx", ""))!;
    assert.equal(samples.length, starter.samples.length);
    for (const { label, values } of samples) {
      const found = await scores(starter, values);
      assert.equal(found.indexOf(Math.max(...found)), label);
      assert.equal(found.length, Object.values(starter.labels!)[0].length);
    }
  });
}

Deno.test("expected.json promises at least 97 % for the convolutional digits", () => {
  assert.ok(expected.digits_cnn.accuracy >= 0.97);
});
