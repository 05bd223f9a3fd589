import assert from "node:assert/strict";
import fc from "fast-check";
import { Sampler, type SamplingOptions } from "../../../server/generation/sampling.ts";

const OPTIONS: SamplingOptions = { temperature: 1, topK: 0, topP: 1, seed: 7 };

/** At an odd address, as a row of a batch may be. */
function bytes(logits: readonly number[]): Uint8Array<ArrayBuffer> {
  const data = new Uint8Array(1 + 4 * logits.length).subarray(1);
  data.set(new Uint8Array(Float32Array.from(logits).buffer));
  return data;
}

/** How often each token is drawn of so many. */
function counts(logits: readonly number[], options: Partial<SamplingOptions>, draws = 4000) {
  const sampler = new Sampler(logits.length, { ...OPTIONS, ...options });
  const data = bytes(logits);
  const found = logits.map(() => 0);
  for (let i = 0; i < draws; i++) found[sampler.next(data)]++;
  return found;
}

/** The tokens that are ever drawn. */
function drawn(logits: readonly number[], options: Partial<SamplingOptions>): number[] {
  return counts(logits, options).flatMap((count, token) => count > 0 ? [token] : []);
}

Deno.test("Sampler.next() takes the likeliest token at temperature 0, the lowest of equals", () => {
  assert.deepEqual(drawn([1, 3, 2, 3], { temperature: 0 }), [1]);
  assert.deepEqual(drawn([-5, -5, -Infinity], { temperature: 0 }), [0]);
  assert.deepEqual(drawn([-0, 0], { temperature: 0 }), [0]);
});

Deno.test("Sampler.next() draws tokens by their probabilities", () => {
  const probabilities = [0.5, 0.1, 0.4];
  const logits = probabilities.map((p) => Math.log(p) + 100);
  const draws = 20_000;
  counts(logits, {}, draws).forEach((count, token) => {
    assert.ok(Math.abs(count / draws - probabilities[token]) < 0.015, `${token}: ${count}`);
  });
});

Deno.test("Sampler.next() divides by the temperature", () => {
  const draws = 20_000;
  // Odds of 9 to 1 become their square root.
  const [likely] = counts([Math.log(9), 0], { temperature: 2 }, draws);
  assert.ok(Math.abs(likely / draws - 0.75) < 0.015, String(likely));
  assert.deepEqual(drawn([0, 0.1], { temperature: 1e-9 }), [1]);
  assert.deepEqual(drawn([0, 0.1, 0.1], { temperature: Number.MIN_VALUE }), [1, 2]);
});

Deno.test("Sampler.next() draws from the top k, the lowest of equals among them", () => {
  assert.deepEqual(drawn([0, 2, 1, 3], { topK: 2 }), [1, 3]);
  assert.deepEqual(drawn([1, 2, 1, 1], { topK: 3 }), [0, 1, 2]);
  assert.deepEqual(drawn([-0, 0, 0], { topK: 2 }), [0, 1]);
  assert.deepEqual(drawn([1, 1], { topK: 99 }), [0, 1]);
  assert.deepEqual(drawn([1, 2, 2], { topK: 1 }), [1]);
});

Deno.test("Sampler.next() draws from the fewest tokens that have the probability top p", () => {
  const logits = [0.1, 0.5, 0.15, 0.25].map(Math.log);
  assert.deepEqual(drawn(logits, { topP: 0.4 }), [1]);
  assert.deepEqual(drawn(logits, { topP: 0.6 }), [1, 3]);
  assert.deepEqual(drawn(logits, { topP: 0.8 }), [1, 2, 3]);
  assert.deepEqual(drawn([0, 0, 0, 0], { topP: 0.4 }), [0, 1]);
  assert.deepEqual(drawn([0, 0, 0, 0], { topP: 0.5 }), [0, 1]);
  assert.deepEqual(drawn(logits, { topP: Number.MIN_VALUE }), [1]);
});

Deno.test("Sampler.next() counts top p among the top k", () => {
  const logits = [0.1, 0.5, 0.15, 0.25].map(Math.log);
  // Of the two likeliest the first has two thirds.
  assert.deepEqual(drawn(logits, { topK: 2, topP: 0.66 }), [1]);
  assert.deepEqual(drawn(logits, { topK: 2, topP: 0.67 }), [1, 3]);
});

Deno.test("Sampler.next() never draws a token of logit -Infinity", () => {
  assert.deepEqual(drawn([-Infinity, 1, -Infinity, 1], {}), [1, 3]);
  assert.deepEqual(drawn([-Infinity, 1, -Infinity, 1], { topK: 3, topP: 0.99 }), [1, 3]);
});

Deno.test("Sampler.next() gives the same tokens for the same seed, and others for another", () => {
  const logits = bytes(Array(257).fill(0));
  const text = (seed: number) => {
    const sampler = new Sampler(257, { ...OPTIONS, seed });
    return Array.from({ length: 20 }, () => sampler.next(logits));
  };
  assert.deepEqual(text(7), text(7));
  assert.notDeepEqual(text(7), text(8));
});

Deno.test("Sampler.next() says which token has no logit", () => {
  for (
    const [logits, message] of [
      [[0, NaN, 0], /gave NaN as the logit of token 1/],
      [[0, 1, Infinity], /gave Infinity as the logit of token 2/],
      [[-Infinity, -Infinity], /gave -Infinity as the logit of every token/],
    ] as const
  ) {
    for (const temperature of [0, 1]) {
      const sampler = new Sampler(logits.length, { ...OPTIONS, temperature });
      assert.throws(() => sampler.next(bytes(logits)), { code: "execution_failed", message });
    }
  }
});

/** As it is defined: sorted, cut, cut again, normalised. */
function probabilities(logits: readonly number[], options: SamplingOptions): number[] {
  const highest = Math.max(...logits);
  const weight = (token: number) => Math.exp((logits[token] - highest) / options.temperature);
  const sum = (tokens: readonly number[]) => tokens.reduce((sum, t) => sum + weight(t), 0);
  const likeliest = [...logits.keys()].toSorted((a, b) => logits[b] - logits[a] || a - b);
  const top = likeliest.slice(0, options.topK || logits.length);
  let count = 1;
  while (count < top.length && sum(top.slice(0, count)) < options.topP * sum(top)) count++;
  const nucleus = top.slice(0, count);
  return [...logits.keys()].map((t) => nucleus.includes(t) ? weight(t) / sum(nucleus) : 0);
}

Deno.test("Sampler.next() draws as defined, whatever logits and options are", () => {
  const logit = fc.constantFrom(-2, -0.5, 0, 0.25, 1, 3);
  const options = fc.record({
    temperature: fc.constantFrom(0.5, 1, 2),
    topK: fc.nat(6),
    topP: fc.constantFrom(0.15, 0.37, 0.61, 0.83, 1),
    seed: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(logit, { minLength: 1, maxLength: 6 }), options, (logits, options) => {
      const draws = 1000;
      const expected = probabilities(logits, options);
      counts(logits, options, draws).forEach((count, token) => {
        if (expected[token] === 0) assert.equal(count, 0);
        else assert.ok(Math.abs(count / draws - expected[token]) < 0.08, `${token}: ${count}`);
      });
    }),
    { seed: 1, numRuns: 200 },
  );
});
