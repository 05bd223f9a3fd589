/** Text from the storyteller over HTTP, on the CPU device. */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import expected from "../../models/starter/expected_storyteller.json" with { type: "json" };
import { STARTERS } from "../../models/starter/starters.ts";
import { fetchStarters } from "../../server/commands/demo/fetch.ts";
import { generationStatistics } from "../../server/generation/statistics.ts";
import { resolveConfig } from "../../server/config.ts";
import { startGateway } from "../../server/main.ts";
import { repositoryWith } from "../fixtures/repository.ts";
import { LOCAL, testApp } from "../server/protocols/exchange.ts";

const [story] = expected.stories;

interface Told {
  readonly text_output: string;
  readonly finish_reason: string;
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

function post(url: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  return fetch(url, { method: "POST", body: JSON.stringify(body), signal });
}

function eventsOf(text: string): Told[] {
  return text.trim().split("\n\n").map((event) => JSON.parse(event.slice("data: ".length)));
}

async function until(reached: () => boolean): Promise<void> {
  const deadline = AbortSignal.timeout(30_000);
  while (!reached()) {
    deadline.throwIfAborted();
    await setTimeout(1);
  }
}

Deno.test("the storyteller tells its stories over HTTP", async (t) => {
  await using repository = await repositoryWith({});
  const starters = STARTERS.filter(({ generation }) => generation !== undefined);
  await fetchStarters(starters, repository.path, new AbortController().signal);
  const config = resolveConfig({
    port: 0,
    repository: repository.path,
    device: "cpu",
    lanes: 1,
  });
  const gateway = await startGateway(config);
  await using _ = { [Symbol.asyncDispose]: () => gateway.shutdown().then(() => {}) };
  const model = `${gateway.url}/v2/models/storyteller`;
  const served = () => gateway.engine.find("storyteller");

  const tell = async (body: Readonly<Record<string, unknown>>): Promise<Told> => {
    const response = await post(`${model}/generate`, body);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text);
  };
  const events = async (body: Readonly<Record<string, unknown>>): Promise<Told[]> => {
    const response = await post(`${model}/generate_stream`, body);
    assert.equal(response.status, 200);
    return eventsOf(await response.text());
  };
  const whole = { text_input: story.prompt, max_tokens: 700 };

  for (const { prompt, told } of expected.stories) {
    await t.step(`greedy: ${prompt}`, async () => {
      const { text_output, finish_reason, usage } = await tell({ ...whole, text_input: prompt });
      assert.equal(text_output, told);
      assert.equal(finish_reason, "stop");
      // Bytes are tokens; one begins the text and one ends it.
      assert.deepEqual(usage, {
        prompt_tokens: 1 + prompt.length,
        completion_tokens: told.length + 1,
      });
    });
  }

  await t.step("a stream is the whole in pieces", async () => {
    const given = await events(whole);
    assert.equal(given.map(({ text_output }) => text_output).join(""), story.told);
    assert.equal(given.length, story.told.length + 1, "an event for each token");
    assert.equal(given.at(-1)?.finish_reason, "stop");
  });

  const free = { ...whole, temperature: 1, max_tokens: 100 };

  await t.step("a seed gives the same text, whatever else shares its iterations", async () => {
    const seeds = Array.from({ length: 12 }, (_, seed) => seed);
    const alone: string[] = [];
    for (const seed of seeds) alone.push((await tell({ ...free, seed })).text_output);
    assert.equal(new Set(alone).size, seeds.length);
    // They come and go: each prompt has another length, and so has each text.
    const others = seeds.map((i) =>
      tell({ text_input: story.prompt.slice(i), max_tokens: 20 + 10 * i })
    );
    const together = await Promise.all(seeds.map((seed) => tell({ ...free, seed })));
    await Promise.all(others);
    assert.deepEqual(together.map(({ text_output }) => text_output), alone);
    const most = Math.max(...served().statistics.batches.keys());
    assert.ok(most > 1, "some have shared an iteration");
  });

  await t.step("two readers at once each get their own story", async () => {
    const streams = expected.stories.map(({ prompt }) => events({ ...whole, text_input: prompt }));
    const texts = (await Promise.all(streams)).map((given) =>
      given.map(({ text_output }) => text_output).join("")
    );
    assert.deepEqual(texts, expected.stories.map(({ told }) => told));
  });

  await t.step("stop ends it before the string", async () => {
    const { text_output, finish_reason } = await tell({ ...whole, stop: ["Nora", "."] });
    assert.equal(text_output, story.told.slice(0, story.told.indexOf(".")));
    assert.equal(finish_reason, "stop");
  });

  await t.step("max_tokens ends it, and beyond the cache is refused", async () => {
    const { text_output, finish_reason } = await tell({ ...whole, max_tokens: 9 });
    assert.equal(text_output, story.told.slice(0, 9));
    assert.equal(finish_reason, "length");
    const { maxTokens } = served().model.sequence!.generation!;
    const most = maxTokens - 1 - story.prompt.length;
    assert.equal((await tell({ ...whole, max_tokens: most })).text_output, story.told);
    const refused = await post(`${model}/generate`, { ...whole, max_tokens: most + 1 });
    assert.equal(refused.status, 400);
    const { error } = await refused.json();
    assert.ok(error.includes(String(most + 1)) && error.includes(String(maxTokens)), error);
  });

  await t.step(
    "a reader that does not read makes its sequence wait, and gets all when it does",
    async () => {
      // Without a network, which would take more than a story before anyone reads.
      await using app = testApp({ engine: gateway.engine });
      const request = new Request(`${model}/generate_stream`, {
        method: "POST",
        body: JSON.stringify(whole),
      });
      const before = generationStatistics(served()).generatedTokens;
      const { body } = await app(request, LOCAL);
      await until(() => served().runningRequests + served().queuedRequests === 0);
      assert.equal(served().openSequences, 1);
      const generated = generationStatistics(served()).generatedTokens - before;
      assert.ok(generated < story.told.length / 2, `${generated} tokens`);
      const given = eventsOf(await new Response(body).text());
      assert.equal(given.map(({ text_output }) => text_output).join(""), story.told);
      assert.equal(served().openSequences, 0);
    },
  );

  await t.step("a reader that leaves frees its sequence's memory", async () => {
    const reading = new AbortController();
    const before = generationStatistics(served()).generatedTokens;
    const response = await post(`${model}/generate_stream`, whole, reading.signal);
    await response.body!.getReader().read();
    assert.equal(served().openSequences, 1);
    assert.ok(served().stateBytes > 0);
    reading.abort();
    await until(() => served().openSequences === 0);
    assert.equal(served().stateBytes, 0);
    // Client and gateway take turns on one event loop: it is noticed long before the story ends.
    const generated = generationStatistics(served()).generatedTokens - before;
    assert.ok(generated < story.told.length, `${generated} tokens`);
  });
});
