/** The storyteller through ONNX Runtime, its cache carried by hand. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import ort from "onnxruntime-node";
import expected from "../../../models/starter/expected_storyteller.json" with { type: "json" };
import { STARTERS, starterSource } from "../../../models/starter/starters.ts";
import { elementCount } from "../../../models/tensor.ts";
import { seededValues } from "../../fixtures/onnx.ts";

const STORYTELLER = STARTERS.find(({ name }) => name === "storyteller")!;
const { maxTokens, endToken } = STORYTELLER.generation!;
const CACHE = STORYTELLER.samples[0].find(({ name }) => name === "past")!.shape;
const [ONE, TWO] = expected.stories.map(({ prompt, told }) => [
  endToken,
  ...new TextEncoder().encode(prompt + told),
]);

/** What one text keeps between two runs. */
interface Text {
  readonly position: number;
  readonly cache: Float32Array;
}

const EMPTY: Text = { position: 0, cache: new Float32Array(elementCount(CACHE)) };

interface Read extends Text {
  readonly logits: Float32Array;
}

/** The model, and what reads with it. */
class Storyteller implements AsyncDisposable {
  readonly #session: ort.InferenceSession;

  private constructor(session: ort.InferenceSession) {
    this.#session = session;
  }

  static async load(): Promise<Storyteller> {
    const path = fileURLToPath(starterSource(STORYTELLER));
    return new Storyteller(await ort.InferenceSession.create(path, { intraOpNumThreads: 1 }));
  }

  /** Reads so many tokens of each text in one run. */
  async readAll(texts: readonly Text[], tokens: readonly (readonly number[])[]): Promise<Read[]> {
    const rows = texts.length;
    const past = new Float32Array(rows * EMPTY.cache.length);
    texts.forEach(({ cache }, row) => past.set(cache, row * cache.length));
    const { logits, present } = await this.#session.run({
      tokens: int64(tokens.flat(), [rows, tokens[0].length]),
      position: int64(texts.map(({ position }) => position), [rows]),
      past: new ort.Tensor("float32", past, [rows, ...CACHE.slice(1)]),
    });
    assert.deepEqual(logits.dims, [rows, 257]);
    assert.deepEqual(present.dims, [rows, ...CACHE.slice(1)]);
    return texts.map(({ position }, row) => ({
      position: position + tokens[row].length,
      logits: rowOf(logits, row),
      cache: rowOf(present, row),
    }));
  }

  async read(text: Text, tokens: readonly number[]): Promise<Read> {
    return (await this.readAll([text], [tokens]))[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.release();
  }
}

function int64(values: readonly number[], shape: readonly number[]): ort.Tensor {
  return new ort.Tensor("int64", BigInt64Array.from(values, BigInt), shape);
}

function rowOf({ data, dims: [rows] }: ort.Tensor, row: number): Float32Array {
  assert.ok(data instanceof Float32Array);
  const length = data.length / rows;
  return data.slice(row * length, (row + 1) * length);
}

function likeliest(logits: Float32Array): number {
  return logits.indexOf(Math.max(...logits));
}

function assertSame(found: Read, wanted: Read): void {
  assert.equal(found.position, wanted.position);
  assertClose(found.logits, wanted.logits);
  assertClose(found.cache, wanted.cache);
}

/** The last bits may differ where sums are made in another order. */
function assertClose(found: Float32Array, wanted: Float32Array): void {
  const off = found.findIndex((value, i) => !(Math.abs(value - wanted[i]) <= 1e-4));
  assert.equal(off, -1, `${off}: ${found[off]}, not ${wanted[off]}`);
}

for (const { prompt, told } of expected.stories) {
  Deno.test(`storyteller goes on with "${prompt}" as it did when it was made`, async () => {
    await using model = await Storyteller.load();
    const bytes: number[] = [];
    let text = await model.read(EMPTY, [endToken, ...new TextEncoder().encode(prompt)]);
    for (let next = likeliest(text.logits); next !== endToken; next = likeliest(text.logits)) {
      bytes.push(next);
      text = await model.read(text, [next]);
    }
    assert.equal(new TextDecoder().decode(Uint8Array.from(bytes)), told);
  });
}

Deno.test("storyteller tells one story of more than 500 tokens, and none that its cache cannot hold", () => {
  const lengths = expected.stories.map(({ told }) => told.length);
  assert.ok(Math.max(...lengths) > 500);
  assert.ok(Math.max(ONE.length, TWO.length) < maxTokens);
});

Deno.test("storyteller reads a text in pieces as it reads the whole", async () => {
  await using model = await Storyteller.load();
  const whole = await model.read(EMPTY, ONE.slice(0, 127));
  let text: Text = EMPTY;
  for (const length of [64, 32, 16, 8, 4, 2, 1]) {
    text = await model.read(text, ONE.slice(text.position, text.position + length));
  }
  assertSame(text as Read, whole);
});

Deno.test("storyteller reads texts at different positions side by side as it reads each alone", async () => {
  await using model = await Storyteller.load();
  const texts: Read[] = [];
  for (const [tokens, length] of [[ONE, 300], [TWO, 20], [ONE, 1], [TWO, 100]] as const) {
    texts.push(await model.read(EMPTY, tokens.slice(0, length)));
  }
  const next = texts.map(({ logits }) => [likeliest(logits)]);
  const together = await model.readAll(texts, next);
  for (const [row, text] of texts.entries()) {
    assertSame(together[row], await model.read(text, next[row]));
  }
});

Deno.test("storyteller sees nothing beyond what it has read", async () => {
  await using model = await Storyteller.load();
  const text = await model.read(EMPTY, ONE.slice(0, 50));
  const wanted = await model.read(text, ONE.slice(50, 58));
  const [, layers, places, width] = CACHE;
  const cache = Float32Array.from(seededValues(1, text.cache.length), (value) => 1e3 * value);
  for (let layer = 0; layer < layers; layer++) {
    const at = layer * places * width;
    cache.set(text.cache.subarray(at, at + 50 * width), at);
  }
  const found = await model.read({ position: 50, cache }, ONE.slice(50, 58));
  assertClose(found.logits, wanted.logits);
  for (let layer = 0; layer < layers; layer++) {
    const at = layer * places * width;
    const seen = [at, at + 58 * width] as const;
    assertClose(found.cache.subarray(...seen), wanted.cache.subarray(...seen));
    const unseen = [at + 58 * width, at + places * width] as const;
    assert.deepEqual(found.cache.subarray(...unseen), cache.subarray(...unseen));
  }
});

Deno.test("storyteller refuses a token that its cache has no place for", async () => {
  await using model = await Storyteller.load();
  const full = { ...EMPTY, position: maxTokens - 1 };
  await assert.rejects(model.read(full, [1, 2]));
  assert.equal((await model.read(full, [1])).position, maxTokens);
});
