import assert from "node:assert/strict";
import { VirtualClock } from "../../../models/clock.ts";
import { SluiceError } from "../../../models/errors.ts";
import type { SequenceRequest } from "../../../server/engine/api.ts";
import {
  RULE,
  saying,
  type Script,
  ScriptedSequence,
  VOCABULARY,
  writer,
} from "../generation/scripted.ts";
import { ask, errorOf, LOCAL, testApp } from "./exchange.ts";
import { fakeEngine, fakeModel } from "./fake_engine.ts";

const PATH = "/v2/models/writer/generate";
const STREAM = "/v2/models/writer/generate_stream";

/** An app whose model follows a script; `opened` are its sequences. */
function scripted(script: Script, { run = true, models = [writer()] } = {}) {
  const opened: ScriptedSequence[] = [];
  const engine = fakeEngine([...models, fakeModel("plain", [], [])], {
    open(request: SequenceRequest) {
      const sequence = new ScriptedSequence(request, script);
      opened.push(sequence);
      if (run) queueMicrotask(() => sequence.run());
      return sequence;
    },
  });
  return { app: testApp({ engine, clock: new VirtualClock() }), opened };
}

/** The events of a whole stream. */
function eventsOf(text: string): Record<string, unknown>[] {
  assert.ok(text.endsWith("\n\n"), text);
  return text.slice(0, -2).split("\n\n").map((event) => {
    assert.ok(event.startsWith("data: "), event);
    return JSON.parse(event.slice("data: ".length));
  });
}

const HEAD = { model_name: "writer", model_version: "1" };

Deno.test("generate answers with the whole text", async () => {
  const { app } = scripted(saying("Once", " upon a time"));
  for (const path of [PATH, "/v2/models/writer/versions/1/generate"]) {
    const { status, headers, text } = await ask(app, "POST", path, { text_input: "Once" });
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "application/json");
    assert.equal(
      headers.get("server-timing"),
      'queue;dur=0.012,first_token;dur=0,compute;dur=0.56,iterations;desc=14,policy;desc="oldest first"',
    );
    assert.deepEqual(JSON.parse(text), {
      ...HEAD,
      text_output: " upon a time",
      finish_reason: "stop",
      usage: { prompt_tokens: 5, completion_tokens: 13 },
    });
  }
});

Deno.test("generate asks the version that is named, else the newest", async () => {
  const models = [writer(), { ...writer(), version: 2 }];
  const { app } = scripted(saying("Once", " upon a time"), { models });
  for (const [path, version] of [["/versions/1", "1"], ["/versions/2", "2"], ["", "2"]]) {
    const route = `/v2/models/writer${path}/generate`;
    const { text } = await ask(app, "POST", route, { text_input: "Once" });
    assert.equal(JSON.parse(text).model_version, version);
  }
});

Deno.test("generate_stream answers with an event for each piece, and one for the end", async () => {
  const { app } = scripted(saying("Once", "a €"));
  const { status, headers, text } = await ask(app, "POST", STREAM, { text_input: "Once", id: "7" });
  assert.equal(status, 200);
  assert.equal(headers.get("content-type"), "text/event-stream; charset=utf-8");
  assert.equal(headers.get("cache-control"), "no-store");
  assert.match(headers.get("server-timing") ?? "", /iterations;desc=2,policy;desc="oldest first"$/);
  const head = { id: "7", ...HEAD };
  assert.deepEqual(eventsOf(text), [
    { ...head, text_output: "a", done: false },
    { ...head, text_output: " ", done: false },
    { ...head, text_output: "€", done: false },
    {
      ...head,
      text_output: "",
      done: true,
      finish_reason: "stop",
      usage: { prompt_tokens: 5, completion_tokens: 6 },
    },
  ]);
});

Deno.test("generate_stream answers a text without a character with its end alone", async () => {
  const { app } = scripted(saying("Once", ""));
  const { status, text } = await ask(app, "POST", STREAM, { text_input: "Once" });
  assert.equal(status, 200);
  const [end, ...others] = eventsOf(text);
  assert.deepEqual(others, []);
  assert.deepEqual([end.text_output, end.done, end.finish_reason], ["", true, "stop"]);
});

Deno.test("generate takes parameters beside text_input, in parameters, and mixed", async () => {
  const { app, opened } = scripted(saying("a", "bcdef"));
  const parameters = { max_tokens: 3, stop: ["x", "d"], priority: 2, timeout: 5000, tenant: "me" };
  const { max_tokens, ...others } = parameters;
  for (
    const body of [
      { text_input: "a", ...parameters, id: "7" },
      { text_input: "a", parameters: { ...parameters, id: "7" } },
      { text_input: "a", max_tokens, id: "7", parameters: others },
    ]
  ) {
    const { status, text } = await ask(app, "POST", PATH, body);
    assert.equal(status, 200, text);
    const answer = JSON.parse(text);
    assert.deepEqual([answer.id, answer.text_output, answer.finish_reason], ["7", "bc", "stop"]);
    const { id, priority, timeoutMicros, tenant, iterations } = opened.at(-1)!.request;
    assert.deepEqual([id, priority, timeoutMicros, tenant, iterations], ["7", 2, 5000, "me", 3]);
  }
});

Deno.test("generate takes 128 tokens where nothing is said, or what the cache has left", async () => {
  for (const [length, expected] of [[10, 128], [250, RULE.maxTokens - 251]]) {
    const prompt = "p".repeat(length);
    const { app } = scripted(saying(prompt, "x".repeat(1000)));
    const { text } = await ask(app, "POST", PATH, { text_input: prompt });
    const { usage, finish_reason } = JSON.parse(text);
    assert.deepEqual(usage, { prompt_tokens: length + 1, completion_tokens: expected });
    assert.equal(finish_reason, "length");
  }
});

Deno.test("generate draws by temperature, top_k, top_p and seed, and greedily without", async () => {
  // Three letters, of which the first is the likeliest.
  const letters: Script = () => {
    const logits = new Float32Array(VOCABULARY).fill(-99);
    logits.set([0.2, 0.1, 0], 97);
    return logits;
  };
  const text = async (parameters: Record<string, unknown>) => {
    const { app } = scripted(letters);
    const answer = await ask(app, "POST", PATH, { text_input: "", max_tokens: 60, parameters });
    return JSON.parse(answer.text).text_output as string;
  };
  const letterCount = async (parameters: Record<string, unknown>) =>
    new Set(await text({ seed: 1, ...parameters })).size;
  assert.equal(await text({}), "a".repeat(60));
  assert.equal(await letterCount({ temperature: 0, top_k: 2 }), 1);
  assert.equal(await letterCount({ temperature: 1 }), 3);
  assert.equal(await letterCount({ top_k: 2 }), 2);
  assert.equal(await letterCount({ top_p: 0.6 }), 2);
  assert.equal(await text({ temperature: 1, seed: 5 }), await text({ temperature: 1, seed: 5 }));
  assert.notEqual(await text({ temperature: 1, seed: 5 }), await text({ temperature: 1, seed: 6 }));
  assert.notEqual(await text({ temperature: 1 }), await text({ temperature: 1 }));
});

const BAD: readonly (readonly [body: Record<string, unknown>, message: RegExp])[] = [
  [{}, /'text_input' is missing, expected a string/],
  [{ text_input: 7 }, /'text_input' is 7/],
  [{ text_input: "\ud800" }, /'text_input' has half of a surrogate pair/],
  [{ text_input: "a", parameters: 7 }, /'parameters' is 7, expected an object/],
  [{ text_input: "a", best_of: 2 }, /'best_of' is not known, expected 'text_input' and .*'top_k'/],
  [{ text_input: "a", parameters: { best_of: 2 } }, /'best_of' is not known/],
  [{ text_input: "a", seed: 1, parameters: { seed: 1 } }, /'seed' is given twice/],
  [{ text_input: "a", max_tokens: 0 }, /'max_tokens' is 0, expected a whole number, 1 or more/],
  [{ text_input: "a", max_tokens: 1.5 }, /'max_tokens' is 1.5/],
  [{ text_input: "a", max_tokens: null }, /'max_tokens' is null/],
  [
    { text_input: "abc", max_tokens: 297 },
    /'max_tokens' is 297 and the prompt has 4 tokens, expected at most 300 together/,
  ],
  [{ text_input: "p".repeat(299) }, /The prompt has 300 tokens, expected less than 300/],
  [{ text_input: "a", temperature: -1 }, /'temperature' is -1, expected a number, 0 or more/],
  [{ text_input: "a", temperature: "hot" }, /'temperature' is the string "hot"/],
  [{ text_input: "a", top_k: -1 }, /'top_k' is -1/],
  [{ text_input: "a", top_p: 0 }, /'top_p' is 0, expected a number above 0, at most 1/],
  [{ text_input: "a", top_p: 1.1 }, /'top_p' is 1.1/],
  [{ text_input: "a", seed: 2 ** 32 }, /'seed' is 4294967296, expected .* below 2\^32/],
  [{ text_input: "a", seed: -1 }, /'seed' is -1/],
  [{ text_input: "a", stop: 7 }, /'stop' is 7, expected a string or an array of strings/],
  [{ text_input: "a", stop: ["a", 7] }, /'stop' has an entry that is 7/],
  [{ text_input: "a", stop: "" }, /'stop' has a string of 0 bytes, expected 1 to 256/],
  [{ text_input: "a", stop: "€".repeat(86) }, /'stop' has a string of 258 bytes/],
  [{ text_input: "a", stop: Array(9).fill("x") }, /'stop' has 9 strings, expected at most 8/],
  [{ text_input: "a", stop: "\udc00" }, /'stop' has half of a surrogate pair/],
  [{ text_input: "a", stream: 1 }, /'stream' is 1, expected true or false/],
  [{ text_input: "a", priority: -1 }, /'priority' is -1/],
  [{ text_input: "a", timeout: "soon" }, /'timeout' is the string "soon"/],
  [{ text_input: "a", tenant: 7 }, /'tenant' is 7/],
  [{ text_input: "a", id: 7 }, /'id' is 7/],
];

for (const [body, message] of BAD) {
  Deno.test(`generate and generate_stream refuse ${JSON.stringify(body).slice(0, 60)}`, async () => {
    const { app, opened } = scripted(saying("a", "b"));
    for (const path of [PATH, STREAM]) {
      const answer = await ask(app, "POST", path, body);
      assert.equal(answer.status, 400);
      assert.match(errorOf(answer), message);
    }
    assert.equal(opened.length, 0);
  });
}

Deno.test("generate refuses max_tokens only beyond the last place of the cache", async () => {
  const { app } = scripted(saying("abc", "x".repeat(500)));
  const answer = await ask(app, "POST", PATH, { text_input: "abc", max_tokens: 296 });
  assert.equal(JSON.parse(answer.text).usage.completion_tokens, 296);
});

Deno.test("generate and generate_stream take 'stream' where it says what the path says", async () => {
  const { app } = scripted(saying("a", "b"));
  const status = async (path: string, stream: boolean) =>
    (await ask(app, "POST", path, { text_input: "a", stream })).status;
  assert.deepEqual([await status(PATH, false), await status(STREAM, true)], [200, 200]);
  assert.deepEqual([await status(PATH, true), await status(STREAM, false)], [400, 400]);
});

Deno.test("generate refuses unknown models, and those that generate no text", async () => {
  const { app } = scripted(saying("a", "b"));
  for (const route of ["generate", "generate_stream"]) {
    const plain = await ask(app, "POST", `/v2/models/plain/${route}`, { text_input: "a" });
    assert.equal(plain.status, 400);
    assert.match(
      errorOf(plain),
      /'plain' generates no text: its manifest.json has no 'generation'/,
    );
    const unknown = await ask(app, "POST", `/v2/models/nobody/${route}`, { text_input: "a" });
    assert.equal(unknown.status, 404);
    errorOf(unknown);
  }
});

Deno.test("generate and generate_stream answer what fails before the text with its status", async () => {
  const refusing = testApp({ engine: fakeEngine([writer()]) });
  const late = scripted(saying("a", "b"), { run: false });
  const nan = scripted(() => new Float32Array(VOCABULARY).fill(NaN));
  for (const path of [PATH, STREAM]) {
    const full = await ask(refusing, "POST", path, { text_input: "a" });
    assert.equal(full.status, 429);
    assert.ok(full.headers.has("retry-after"));
    const failed = await ask(nan.app, "POST", path, { text_input: "a" });
    assert.equal(failed.status, 500);
    assert.match(errorOf(failed), /NaN as the logit/);
    const waiting = ask(late.app, "POST", path, { text_input: "a" });
    while (late.opened.length === 0) await Promise.resolve();
    late.opened.pop()?.request.fail(new SluiceError("deadline_exceeded", "Too late"));
    assert.equal((await waiting).status, 504);
  }
});

/** A stream that was begun, read by the test itself. */
async function begun(script: Script) {
  const { app, opened } = scripted(script, { run: false });
  const body = JSON.stringify({ text_input: "a", max_tokens: 290 });
  const answered = app(new Request(`http://127.0.0.1${STREAM}`, { method: "POST", body }), LOCAL);
  while (opened.length === 0) await Promise.resolve();
  const [sequence] = opened;
  return { sequence, response: Promise.resolve(answered) };
}

Deno.test("generate_stream ends with an error event when the text fails after its first piece", async () => {
  const { sequence, response } = await begun(saying("a", "bcd"));
  sequence.step();
  sequence.step();
  const { body } = await response;
  sequence.request.fail(new SluiceError("execution_failed", 'Broken "here"'));
  const events = eventsOf(await new Response(body).text());
  assert.deepEqual(events, [
    { ...HEAD, text_output: "b", done: false },
    { ...HEAD, text_output: "c", done: false },
    { error: 'Broken "here"', code: "execution_failed" },
  ]);
});

Deno.test("generate_stream makes no more than 16 KiB that nobody reads, and goes on when it is read", async () => {
  const answer = "x".repeat(290);
  const { sequence, response } = await begun(saying("a", answer));
  sequence.run();
  assert.ok(sequence.waiting, "the sequence waits for its reader");
  const made = sequence.iterationsDone;
  let text = "";
  for await (const piece of (await response).body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    sequence.run();
  }
  const events = eventsOf(text);
  const eventBytes = JSON.stringify(events[0]).length + "data: \n\n".length;
  assert.ok(made * eventBytes < 16 * 1024 + 2 * eventBytes, `${made} events`);
  assert.equal(events.map(({ text_output }) => text_output).join(""), answer);
});

Deno.test("generate_stream sends the events of one turn in one write, those of two in two", async () => {
  const { sequence, response } = await begun(saying("a", "bcde"));
  for (let step = 0; step < 3; step++) sequence.step();
  const body = (await response).body!.pipeThrough(new TextDecoderStream()).getReader();
  const first = await body.read();
  sequence.run();
  const second = await body.read();
  const written = [first, second].map(({ value }) =>
    eventsOf(value!).map(({ text_output }) => text_output).join("")
  );
  assert.deepEqual(written, ["bcd", "e"]);
  assert.ok((await body.read()).done);
});

Deno.test("generate_stream ends the sequence of a reader that leaves", async () => {
  const { sequence, response } = await begun(saying("a", "bcd"));
  sequence.step();
  await (await response).body!.cancel();
  assert.ok(sequence.ended);
});

Deno.test("generate_stream does no harm when its text fails as the connection breaks", async () => {
  const { app, opened } = scripted(saying("a", "x".repeat(290)));
  const failed = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request, info) => {
    request.signal.addEventListener("abort", () => {
      const error = new SluiceError("cancelled", "The client left");
      failed.resolve(Promise.try(() => opened[0].request.fail(error)));
    });
    return app(request, info);
  });
  const body = JSON.stringify({ text_input: "a", max_tokens: 290 });
  const client = await Deno.connect({ port: server.addr.port });
  await client.write(new TextEncoder().encode(
    `POST ${STREAM} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  ));
  await client.read(new Uint8Array(1 << 16));
  client.close();
  await failed.promise;
  assert.ok(opened[0].ended);
  await server.shutdown();
});

Deno.test("generate hands the client's signal to the engine", async () => {
  const { app, opened } = scripted(saying("a", "b"), { run: false });
  const client = new AbortController();
  const request = new Request(`http://127.0.0.1${PATH}`, {
    method: "POST",
    body: JSON.stringify({ text_input: "a" }),
    signal: client.signal,
  });
  const answered = Promise.resolve(app(request, LOCAL));
  while (opened.length === 0) await Promise.resolve();
  client.abort();
  assert.ok(opened[0].request.signal?.aborted);
  opened[0].request.fail(new SluiceError("cancelled", "The client left"));
  assert.equal((await answered).status, 499);
});
